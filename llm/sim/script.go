package sim

import (
	"bytes"
	_ "embed" // for the schema
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

//go:embed script.schema.json
var scriptSchema string // read only

// ScriptSchema returns the JSON Schema of the scripts that sim/script plays.
func ScriptSchema() string { return scriptSchema }

// The bounds of scripts.
const (
	maxSteps   = 100
	maxActions = 1000
	maxRepeat  = 1_000_000
	maxWaitMS  = 600_000
)

// scripted plays the script in the user's text.
type scripted struct{}

// action is one action of a step. Exactly one of the members up to Finish is set; the others modify it.
type action struct {
	Text         *string         `json:"text,omitempty"`
	Reasoning    *string         `json:"reasoning,omitempty"`
	Refusal      *string         `json:"refusal,omitempty"`
	ToolCall     *scriptCall     `json:"tool_call,omitempty"`
	ProviderData *string         `json:"provider_data,omitempty"`
	WaitMS       *int            `json:"wait_ms,omitempty"`
	Error        *scriptError    `json:"error,omitempty"`
	Usage        *scriptUsage    `json:"usage,omitempty"`
	Finish       *scriptFinish   `json:"finish,omitempty"`
	Split        int             `json:"split,omitempty"`
	Repeat       int             `json:"repeat,omitempty"`
	TokenMS      int             `json:"token_ms,omitempty"`
	kind         model.ChunkKind // for text, reasoning and refusal
	said         string          // their text
	finish       parley.FinishReason
}

type scriptCall struct {
	ID            string          `json:"id,omitempty"`
	Name          string          `json:"name"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsText *string         `json:"arguments_text,omitempty"`
}

type scriptError struct {
	Class        parley.ErrorClass `json:"class"`
	Retryable    *bool             `json:"retryable,omitempty"`
	RetryAfterMS int               `json:"retry_after_ms,omitempty"`
	Message      string            `json:"message,omitempty"`
	Attempts     int               `json:"attempts,omitempty"`
}

// scriptUsage replaces the simulator's numbers; None sends no usage at all.
type scriptUsage struct {
	None             bool   `json:"none,omitempty"`
	InputTokens      *int64 `json:"input_tokens,omitempty"`
	OutputTokens     *int64 `json:"output_tokens,omitempty"`
	CachedTokens     *int64 `json:"cached_tokens,omitempty"`
	CacheWriteTokens *int64 `json:"cache_write_tokens,omitempty"`
	ReasoningTokens  *int64 `json:"reasoning_tokens,omitempty"`
}

type scriptFinish string

func (scripted) play(a *answer) {
	text, step := a.request.script()
	steps, err := parseScript(text)
	if err != nil {
		a.fail(model.NewError(parley.ClassModel, false, "sim/script: "+err.Error(), nil))
		return
	}
	if step >= len(steps) {
		a.fail(model.NewError(
			parley.ClassModel,
			false,
			fmt.Sprintf(
				"sim/script: the script has %d steps, and this is model call %d behind it; send a new script",
				len(steps),
				step+1,
			),
			nil,
		))
		return
	}
	playStep(a, steps[step], step)
}

// script finds the last user text that looks like a script, and the number of answers after it. Steers and notes in
// between may say anything else.
func (r *request) script() (text string, step int) {
	answers := 0
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		switch m.Role {
		case model.RoleAssistant:
			answers++
		case model.RoleUser:
			for _, p := range m.Parts {
				if isScript(p.Text) {
					return p.Text, answers
				}
			}
		}
	}
	return r.userText(), 0
}

// isScript reports whether a text begins like a script, a list of lists: other texts may be in brackets too.
func isScript(text string) bool {
	inside, list := strings.CutPrefix(strings.TrimSpace(text), "[")
	inside = strings.TrimSpace(inside)
	return list && (inside == "" || inside[0] == '[' || inside[0] == ']')
}

func playStep(a *answer, actions []action, step int) {
	usage := a.usage
	finish := parley.FinishStop
	for i := range actions {
		act := &actions[i]
		a.pace = time.Duration(act.TokenMS) * time.Millisecond
		a.next = time.Time{}
		ok := true
		switch {
		case act.kind != 0:
			for range max(1, act.Repeat) {
				if ok = act.say(a); !ok {
					return
				}
			}
		case act.ToolCall != nil:
			finish = parley.FinishToolCalls
			ok = a.call(act.ToolCall.id(step, i), act.ToolCall.Name, act.ToolCall.text(), act.Split)
		case act.ProviderData != nil:
			ok = a.send(
				model.Chunk{Kind: model.ChunkProviderData, Block: max(a.block, 0), Data: []byte(*act.ProviderData)},
			)
		case act.WaitMS != nil:
			ok = a.wait(time.Duration(*act.WaitMS) * time.Millisecond)
		case act.Error != nil:
			if act.Error.Attempts == 0 || model.AttemptFrom(a.ctx) <= act.Error.Attempts {
				a.fail(act.Error.model())
				return
			}
		case act.Usage != nil:
			given := *act.Usage
			usage = func() parley.Usage { return given.usage() }
		case act.Finish != nil:
			a.finishWith(usage(), act.finish)
			return
		}
		if !ok {
			return
		}
	}
	a.finishWith(usage(), finish)
}

// say sends the text in pieces of Split bytes, or in words.
func (act *action) say(a *answer) bool {
	if act.Split == 0 {
		return a.say(act.kind, act.said)
	}
	for text := act.said; len(text) > 0; {
		n := cut(text, act.Split)
		if !a.piece(act.kind, text[:n]) {
			return false
		}
		text = text[n:]
	}
	return true
}

func (c *scriptCall) id(step, index int) string {
	if c.ID != "" {
		return c.ID
	}
	return "call_" + strconv.Itoa(step+1) + "_" + strconv.Itoa(index+1)
}

func (c *scriptCall) text() string {
	switch {
	case c.ArgumentsText != nil:
		return *c.ArgumentsText
	case len(c.Arguments) > 0:
		return string(c.Arguments)
	}
	return "{}"
}

func (e *scriptError) model() *model.Error {
	can := retryable(e.Class)
	if e.Retryable != nil {
		can = *e.Retryable
	}
	text := e.Message
	if text == "" {
		text = "simulated " + string(e.Class) + " failure"
	}
	err := model.NewError(e.Class, can, text, nil)
	err.RetryAfter = time.Duration(e.RetryAfterMS) * time.Millisecond
	return err
}

func (u *scriptUsage) usage() parley.Usage {
	if u.None {
		return parley.Usage{}
	}
	return parley.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CachedTokens: u.CachedTokens,
		CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens}
}

// parseScript reads a script: a list of steps, each a list of actions. Its error says what is wrong and where.
func parseScript(text string) ([][]action, error) {
	var raw [][]json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&raw); err != nil {
		return nil, fmt.Errorf(
			`the user's text is not a script: it must be a JSON list of steps, each a list of actions, such as `+
				`[[{"text":"Hello"}]] (%w)`,
			err,
		)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is text after the script's closing bracket")
	}
	if len(raw) == 0 || len(raw) > maxSteps {
		return nil, fmt.Errorf("a script has 1 to %d steps", maxSteps)
	}
	steps := make([][]action, len(raw))
	for i, list := range raw {
		if len(list) > maxActions {
			return nil, fmt.Errorf("step %d: a step has at most %d actions", i+1, maxActions)
		}
		steps[i] = make([]action, len(list))
		for j, one := range list {
			decoder := json.NewDecoder(bytes.NewReader(one))
			decoder.DisallowUnknownFields()
			err := decoder.Decode(&steps[i][j])
			if err == nil {
				err = steps[i][j].check()
			}
			if err != nil {
				return nil, fmt.Errorf("step %d, action %d: %w", i+1, j+1, err)
			}
		}
	}
	return steps, nil
}

// check validates one action and prepares its text.
func (act *action) check() error {
	kinds := 0
	for kind, text := range map[model.ChunkKind]*string{
		model.ChunkText: act.Text, model.ChunkReasoning: act.Reasoning, model.ChunkRefusal: act.Refusal,
	} {
		if text != nil {
			act.kind, act.said = kind, *text
			kinds++
		}
	}
	for _, there := range []bool{act.ToolCall != nil, act.ProviderData != nil, act.WaitMS != nil, act.Error != nil,
		act.Usage != nil, act.Finish != nil} {
		if there {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf(
			"an action has exactly one of text, reasoning, refusal, tool_call, provider_data, wait_ms, error, usage, "+
				"finish; this one has %d",
			kinds,
		)
	case act.Split < 0 || act.Repeat < 0 || act.Repeat > maxRepeat || act.TokenMS < 0 || act.TokenMS > maxTokenMS:
		return fmt.Errorf("split, repeat (to %d) and token_ms (to %d) are numbers from 0", maxRepeat, maxTokenMS)
	case act.WaitMS != nil && (*act.WaitMS < 0 || *act.WaitMS > maxWaitMS):
		return fmt.Errorf("wait_ms lies between 0 and %d", maxWaitMS)
	case act.ToolCall != nil && act.ToolCall.Name == "":
		return fmt.Errorf("tool_call needs a name")
	case act.ToolCall != nil && act.ToolCall.Arguments != nil && act.ToolCall.ArgumentsText != nil:
		return fmt.Errorf("tool_call has arguments or arguments_text, not both")
	}
	if act.Error != nil {
		if _, known := failureClass(string(act.Error.Class)); !known {
			return fmt.Errorf("error.class is one of %s", strings.Join(failureClasses(), ", "))
		}
		if act.Error.RetryAfterMS < 0 || act.Error.Attempts < 0 {
			return fmt.Errorf("error.retry_after_ms and error.attempts are numbers from 0")
		}
	}
	if act.Finish != nil {
		switch act.finish = parley.FinishReason(*act.Finish); act.finish {
		case parley.FinishStop, parley.FinishToolCalls, parley.FinishLength, parley.FinishRefusal:
		default:
			return fmt.Errorf("finish is one of stop, tool_calls, length, refusal")
		}
	}
	return nil
}
