package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// outputs asks a turn's model for an object of a schema, and checks its answers. Without a schema it does nothing.
type outputs struct {
	*claimed

	schema   schema.Schema
	tool     string           // the tool whose arguments are the answer; "" where the provider has a format
	rejected *parley.Rejected // why the answer before was rejected; nil if it was not
	step     int              // the step whose answers were rejected
	asked    int              // how often that step was asked again
}

// wanted reports whether the turn's answer must be an object.
func (o *outputs) wanted() bool { return o.speaker == nil && o.settings.Output.Wanted() }

// choose decides how the model is asked for the object. It returns CodeInvalid for a schema that cannot be read.
func (o *outputs) choose() (err error) {
	output := o.settings.Output
	if output != nil {
		o.settings.Parameters.ResponseFormat = nil
	}
	if !output.Wanted() {
		return nil
	}
	if o.schema, err = schema.Read(*output.Schema); err != nil { // an earlier version accepted it
		return parley.InvalidField(
			"output.schema",
			"this JSON Schema cannot be used: %s",
			parley.Clip(err.Error(), 300),
		)
	}
	format := &parley.ResponseFormat{
		Type: parley.FormatJSONSchema, Name: output.SchemaName(), Schema: output.Schema, Strict: output.Strict,
	}
	tools := o.info.Tools || !o.info.Known
	switch {
	case o.info.Output == model.OutputTool && tools:
		format, o.tool = nil, output.SchemaName()
	case o.info.Output == model.OutputSubset:
		narrowed, ok := schema.Narrow(*output.Schema, false)
		if ok {
			format.Schema = &narrowed
		} else if tools {
			format, o.tool = nil, output.SchemaName()
		}
	case format.Strict:
		narrowed, ok := schema.Narrow(*output.Schema, true)
		if format.Strict = ok; ok {
			format.Schema = &narrowed
		}
	}
	o.settings.Parameters.ResponseFormat = format
	return nil
}

// offer adds the tool whose arguments are the answer to the agent's tools, under a name that none of them has.
func (o *outputs) offer(own []parley.ToolDefinition) []parley.ToolDefinition {
	if o.tool == "" {
		return own
	}
	for slices.ContainsFunc(own, func(t parley.ToolDefinition) bool { return t.Name == o.tool }) {
		o.tool = parley.Clip(o.tool, parley.MaxToolNameLength-1) + "_"
	}
	return append(slices.Clip(own[:min(len(own), parley.MaxTools-1)]),
		prompt.OutputTool(o.tool, *o.settings.Output.Schema))
}

// force makes the model call the tool in a step, or any tool if it has others. Providers refuse to force a model that
// reasons: it is told what the tool is for, and its answer is checked.
func (o *outputs) force(p *parley.Parameters, others bool) {
	given := parley.ValueOf(p.ToolChoice)
	reasons := o.settings.Think || p.ReasoningEffort != nil && *p.ReasoningEffort != "none"
	switch {
	case o.tool == "" || given != "" && parley.Forces(given) && given != parley.ToolChoiceRequired:
	case reasons:
		p.ToolChoice = nil
	case others && given != parley.ToolChoiceNone:
		p.ToolChoice = new(parley.ToolChoiceRequired)
	default:
		p.ToolChoice = &o.tool
	}
}

// filter reads the call of the tool as the answer's text, before the turn's middleware does.
func (o *outputs) filter(next model.AnswerFilter) model.AnswerFilter {
	return prompt.AnswersByTool(o.tool, next)
}

// What is wrong with an answer, besides what its schema says.
const (
	wrongCut   = "the answer was cut at its token limit; raise max_tokens"
	wrongEmpty = "there is no text"
)

// check keeps the object of a final answer. It says what is wrong if the answer is none, or does not satisfy the
// schema; an error is that of the turn's context.
func (o *outputs) check(a *answer) (wrong string, err error) {
	if a.finish == parley.FinishLength {
		return wrongCut, nil
	}
	var from *row
	for _, r := range a.rows {
		if r.role == parley.RoleAssistant && strings.TrimSpace(r.stream.Text(parley.KindText)) != "" {
			from = r
		}
	}
	if from == nil {
		return wrongEmpty, nil
	}
	raw := bytes.TrimSpace([]byte(parley.JSONIn(from.stream.Text(parley.KindText))))
	if wrong, err = o.violation(raw); wrong != "" || err != nil {
		return wrong, err
	}
	object, broken := storable(raw)
	if broken != nil {
		return broken.Error(), nil //nolint:nilerr // the model is told
	}
	from.object = object
	return "", nil
}

// violation says why a text is not an object of the schema; an error is that of the turn's context.
func (o *outputs) violation(raw []byte) (wrong string, err error) {
	if broken := parley.CheckJSON(raw); broken != nil { // names twice, too
		return broken.Error(), nil //nolint:nilerr // the model is told
	}
	wrong, unfinished := o.schema.Violation(o.ctx, raw)
	switch {
	case o.ctx.Err() != nil:
		return "", context.Cause(o.ctx)
	case unfinished != nil:
		return unfinished.Error(), nil //nolint:nilerr // the model is told
	}
	return wrong, nil
}

// storable returns an object as canonical JSON. It is an error if a content with it would nest too deep.
func storable(raw []byte) (json.RawMessage, error) {
	object, err := parley.CanonicalJSON(raw)
	if err != nil {
		return nil, err
	}
	kept, err := parley.EncodeContent(parley.AssistantContent{Object: object})
	if err == nil {
		err = parley.CheckJSON(kept)
	}
	return object, err
}

// recall reads how often an earlier run of the turn has asked a step again, and why.
func (o *outputs) recall(step int) error {
	if !o.wanted() {
		return nil
	}
	calls, err := o.w.store.Calls(
		o.writes,
		store.Scope{WorkspaceID: o.fence.WorkspaceID},
		o.fence.SessionID,
		store.CallQuery{TurnID: o.fence.TurnID, Limit: recalledCalls},
	)
	if err != nil {
		return err
	}
	for i := len(calls) - 1; i >= 0; i-- { // the newest comes first
		if e := calls[i].Error; calls[i].Step == step && e != nil && e.Class == parley.ClassSchema {
			o.note(step, e.Detail)
		}
	}
	return nil
}

// recalledCalls is how many calls of a turn are read to find those whose answers were rejected.
const recalledCalls = 32

// note notes a rejected answer.
func (o *outputs) note(step int, wrong string) {
	if o.step != step {
		o.step, o.asked = step, 0
	}
	o.asked++
	o.rejected = &parley.Rejected{Reason: wrong}
}

// rejection returns what the request of a step says about the answer before; nil for nothing.
func (o *outputs) rejection(step int) *parley.Rejected {
	if o.step != step {
		return nil
	}
	return o.rejected
}

// shownWrong is what people and models are told is wrong, in one line.
func shownWrong(wrong string) string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(wrong, "\uFFFD"))
	return parley.Clip(line, parley.MaxRejectedBytes-len("…"))
}

// reject settles an answer that is not the object asked for, and asks the step again, or fails the turn.
func (t *turn) reject(a *answer, wrong string) (runner.Next, error) {
	failure := &parley.Failure{
		Class:    parley.ClassSchema,
		Sentence: t.settings.Retry.Sentence(parley.ClassSchema),
		Detail:   shownWrong(wrong),
		Attempts: a.attempt,
	}
	a.failure, a.call.Error, a.call.Outcome = failure, failure, parley.CallFailed
	t.outputs.note(a.step, failure.Detail)
	if wrong == wrongCut || t.outputs.asked > t.settings.Output.Again() {
		end := store.TurnEnd{Status: parley.TurnFailed, Failure: failure}
		_, err := t.asking.settleAs(a, parley.MessageFailed, &end)
		return runner.Over, err
	}
	if _, err := t.asking.settleAs(a, parley.MessageFailed, nil); err != nil {
		return runner.Over, err
	}
	t.position = position{step: a.step, attempt: a.attempt + 1, steers: true}
	return runner.AskNext, nil
}

// tokens returns the size of what a step's request says about the answer before, in stored estimates.
func (o *outputs) tokens(step int) int {
	return prompt.RejectedTokens(o.settings.Model, o.rejection(step))
}

// objectOf returns an object to be stored beside a text, nil for none.
func (r *row) objectOf(status parley.MessageStatus) json.RawMessage {
	if status != parley.MessageCompleted {
		return nil
	}
	return r.object
}
