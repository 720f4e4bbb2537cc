package engine

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// AppendInput is a piece of an open message: either text or reasoning.
type AppendInput struct {
	Offset    int     `json:"offset" required:"true" minimum:"0" doc:"Where the piece begins, in UTF-8 bytes: at the present end of this text, or before it to repeat what was sent."`
	Text      *string `json:"text,omitempty" doc:"A piece of the text; empty is a sign of life."`
	Reasoning *string `json:"reasoning,omitempty" doc:"A piece of the reasoning, which comes before the text."`
}

// SettleInput ends an open message.
type SettleInput struct {
	Status    parley.MessageStatus `json:"status" required:"true" enum:"completed,failed,cancelled"`
	Content   json.RawMessage      `json:"content,omitempty" doc:"The whole {parts}, or {text, reasoning, refusal}; text and reasoning begin with what was appended. By default exactly that."`
	Model     parley.ModelID       `json:"model,omitempty" doc:"What wrote it, if not given when it was opened."`
	Usage     *UsageInput          `json:"usage,omitempty" doc:"The tokens it used, for the statistics."`
	Error     *FailureInput        `json:"error,omitempty" doc:"For failed: the reason."`
	ToolCalls []json.RawMessage    `json:"tool_calls,omitempty" maxItems:"128" doc:"For completed: {id, name, arguments} each, recorded after the message."`
}

// UsageInput is an outside agent's report of an answer's tokens; null is unknown.
type UsageInput struct {
	InputTokens      *int64 `json:"input_tokens,omitempty" minimum:"0" maximum:"10000000000"`
	OutputTokens     *int64 `json:"output_tokens,omitempty" minimum:"0" maximum:"10000000000"`
	CachedTokens     *int64 `json:"cached_tokens,omitempty" minimum:"0" maximum:"10000000000"`
	CacheWriteTokens *int64 `json:"cache_write_tokens,omitempty" minimum:"0" maximum:"10000000000"`
	ReasoningTokens  *int64 `json:"reasoning_tokens,omitempty" minimum:"0" maximum:"10000000000"`
}

// FailureInput says why an answer failed.
type FailureInput struct {
	Class    parley.ErrorClass `json:"class,omitempty" doc:"model by default."`
	Sentence string            `json:"sentence,omitempty" doc:"For people."`
	Detail   string            `json:"detail,omitempty"`
}

// OutsideResult is the settled message, its turn and the tool calls after it.
type OutsideResult struct {
	Message   parley.Message   `json:"message"`
	Turn      parley.Turn      `json:"turn"`
	ToolCalls []parley.Message `json:"tool_calls"`
}

// openOutside returns the store's form of a message opened as streaming.
func openOutside(principal parley.Principal, input MessageInput) (store.NewMessage, error) {
	others := input.Settings
	others.Model = ""
	switch {
	case input.Status != parley.MessageStreaming:
		return store.NewMessage{}, parley.InvalidField("status", "is streaming, or left out")
	case input.Role != parley.RoleAssistant:
		return store.NewMessage{}, parley.InvalidField("status", "only an assistant message can be opened as streaming")
	case len(input.Content) > 0 && string(input.Content) != "null":
		return store.NewMessage{}, parley.InvalidField(
			"content",
			"a message opened as streaming starts empty: append to it",
		)
	case input.Internal:
		return store.NewMessage{}, parley.InvalidField(
			"internal",
			"an internal message is streamed to nobody; post it whole",
		)
	case !setting.IsZero(&others):
		return store.NewMessage{}, parley.InvalidField(
			"system_prompt",
			"of these fields only model belongs to a message written outside",
		)
	}
	model := input.Model
	input.Settings = parley.Settings{}
	if err := checkRecordedInput(input); err != nil {
		return store.NewMessage{}, err
	}
	if err := checkOutsideModel(model); err != nil {
		return store.NewMessage{}, err
	}
	if err := checkTexts(textBound{"agent_type", input.AgentType, parley.MaxNameBytes}); err != nil {
		return store.NewMessage{}, err
	}
	if input.Iteration < 0 {
		return store.NewMessage{}, parley.InvalidField("iteration", "must not be negative")
	}
	metadata, err := checkMetadata(input.Metadata)
	if err != nil {
		return store.NewMessage{}, err
	}
	timeout := parley.DefaultOutsideTimeout
	if input.Timeout != 0 {
		timeout = time.Duration(input.Timeout) * time.Second
	}
	if timeout <= 0 || timeout > parley.MaxOutsideTimeout {
		return store.NewMessage{}, parley.InvalidField(
			"timeout",
			"must lie between 1 and %d seconds",
			int(parley.MaxOutsideTimeout.Seconds()),
		)
	}
	return store.NewMessage{
		ID:        parley.NewID(),
		TurnID:    parley.NewID(),
		Role:      input.Role,
		Author:    principal.Author(),
		Content:   parley.EmptyContent(),
		AgentType: input.AgentType,
		Iteration: input.Iteration,
		Metadata:  metadata,
		Streaming: true,
		Model:     model,
		Timeout:   timeout,
	}, nil
}

// checkOutsideModel accepts any name: an outside agent knows its models.
func checkOutsideModel(model parley.ModelID) error {
	return parley.CheckText("model", string(model), parley.MaxNameBytes)
}

// AppendMessage adds to a message opened as streaming, as store.Outside.AppendOutside says.
func (e *Engine) AppendMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input AppendInput,
) (_ parley.OutsideGrown, err error) {
	ctx, call, err := e.enter(ctx, principal, "appendMessage", PostMessages, on(id))
	if err != nil {
		return parley.OutsideGrown{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	piece := store.OutsideAppend{Kind: parley.KindText, Offset: input.Offset}
	switch {
	case input.Offset < 0:
		return parley.OutsideGrown{}, parley.InvalidField("offset", "must not be negative")
	case (input.Text == nil) == (input.Reasoning == nil):
		return parley.OutsideGrown{}, parley.InvalidField("text", "give text or reasoning, one of the two")
	case input.Text != nil:
		piece.Text = *input.Text
	default:
		piece.Kind, piece.Text = parley.KindReasoning, *input.Reasoning
	}
	if err := parley.CheckText(string(piece.Kind), piece.Text, parley.MaxBodyBytes); err != nil {
		return parley.OutsideGrown{}, err
	}
	grown, err := e.store.AppendOutside(ctx, scope, id, piece)
	if err == nil {
		call.about(in(grown.SessionID, id))
	}
	return grown, err
}

// SettleMessage ends a message opened as streaming, and its turn, as store.Outside.SettleOutside says.
func (e *Engine) SettleMessage(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input SettleInput,
) (_ OutsideResult, err error) {
	ctx, call, err := e.enter(ctx, principal, "settleMessage", PostMessages, on(id))
	if err != nil {
		return OutsideResult{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	settle, err := settleOf(principal, input)
	if err != nil {
		return OutsideResult{}, err
	}
	if ids := parley.FilesOf(settle.Content); len(ids) > 0 {
		files, err := e.filesIn(ctx, scope, ids)
		if err != nil {
			return OutsideResult{}, err
		}
		if settle.Content, err = parley.FillParts(settle.Content, files); err != nil {
			return OutsideResult{}, err
		}
	}
	if settle.Usage != nil {
		message, err := e.store.Message(ctx, scope, id)
		if err != nil {
			return OutsideResult{}, err
		}
		settle.Cost = e.priced(settle.Model, message.Model, *settle.Usage)
	}
	settled, err := e.store.SettleOutside(ctx, scope, id, settle)
	if err != nil {
		return OutsideResult{}, err
	}
	call.about(in(settled.Message.SessionID, id))
	return OutsideResult{Message: settled.Message, Turn: settled.Turn, ToolCalls: orEmpty(settled.Calls)}, nil
}

// priced returns a usage's cost by the registry; nil if the model's price is unknown.
func (e *Engine) priced(told, opened parley.ModelID, usage parley.Usage) *parley.Money {
	if told == "" {
		told = opened
	}
	if told == "" {
		return nil
	}
	_, info, err := e.models.Resolve(told)
	if err != nil {
		return nil
	}
	return info.Price.Cost(usage)
}

// settleOf validates how a message is to settle.
func settleOf(principal parley.Principal, input SettleInput) (store.OutsideSettle, error) {
	settle := store.OutsideSettle{Status: input.Status, Model: input.Model, Estimate: prompt.EstimateTokens}
	if !input.Status.Settled() {
		return settle, parley.InvalidField(
			"status",
			"%q is not one of completed, failed, cancelled",
			parley.Clip(string(input.Status), 32),
		)
	}
	if err := checkOutsideModel(input.Model); err != nil {
		return settle, err
	}
	var err error
	if len(input.Content) > 0 && string(input.Content) != "null" {
		if settle.Content, err = parley.ValidateContent(parley.RoleAssistant, input.Content); err != nil {
			return settle, err
		}
	}
	if input.Usage != nil {
		usage := parley.Usage(*input.Usage)
		for _, n := range []*int64{usage.InputTokens, usage.OutputTokens, usage.CachedTokens, usage.CacheWriteTokens,
			usage.ReasoningTokens} {
			if n != nil && (*n < 0 || *n > parley.MaxCallTokens) {
				return settle, parley.InvalidField(
					"usage",
					"each number of tokens must lie between 0 and %d",
					int64(parley.MaxCallTokens),
				)
			}
		}
		settle.Usage = &usage
	}
	if settle.Failure, err = failureOf(input); err != nil {
		return settle, err
	}
	settle.Calls, err = callsOf(principal, input)
	return settle, err
}

func failureOf(input SettleInput) (*parley.Failure, error) {
	switch {
	case input.Status != parley.MessageFailed && input.Error != nil:
		return nil, parley.InvalidField("error", "belongs to a failed message")
	case input.Status != parley.MessageFailed:
		return nil, nil
	}
	failure := parley.Failure{Class: parley.ClassModel}
	if input.Error != nil {
		if err := checkTexts(
			textBound{"error.sentence", input.Error.Sentence, parley.MaxTextBytes},
			textBound{"error.detail", input.Error.Detail, parley.MaxTextBytes},
		); err != nil {
			return nil, err
		}
		failure.Sentence, failure.Detail = input.Error.Sentence, input.Error.Detail
		if input.Error.Class != "" {
			failure.Class = input.Error.Class
		}
	}
	if !knownClass(failure.Class) {
		return nil, parley.InvalidField("error.class", "is not a known error class")
	}
	if failure.Sentence == "" {
		failure.Sentence = failure.Class.Sentence()
	}
	return &failure, nil
}

func knownClass(class parley.ErrorClass) bool {
	for _, known := range parley.ErrorClasses() {
		if known == class {
			return true
		}
	}
	return false
}

// callsOf returns the tool calls that enter the record after the message.
func callsOf(principal parley.Principal, input SettleInput) ([]store.NewMessage, error) {
	switch {
	case len(input.ToolCalls) == 0:
		return nil, nil
	case input.Status != parley.MessageCompleted:
		return nil, parley.InvalidField("tool_calls", "belong to a completed message")
	case len(input.ToolCalls) > parley.MaxOutsideCalls:
		return nil, parley.InvalidField("tool_calls", "at most %d", parley.MaxOutsideCalls)
	}
	calls, ids := make([]store.NewMessage, len(input.ToolCalls)), map[string]bool{}
	for i, raw := range input.ToolCalls {
		content, err := parley.ValidateContent(parley.RoleToolCall, raw)
		if err != nil {
			return nil, inside("tool_calls", err)
		}
		var call parley.ToolCallContent
		if err := json.Unmarshal(content, &call); err != nil {
			return nil, parley.WrapError(parley.CodeInternal, err, "a tool_call's content cannot be read back")
		}
		if ids[call.ID] {
			return nil, parley.InvalidField("tool_calls", "two calls have the id %q", parley.Clip(call.ID, 64))
		}
		ids[call.ID] = true
		calls[i] = store.NewMessage{
			ID:         parley.NewID(),
			Role:       parley.RoleToolCall,
			Author:     principal.Author(),
			Content:    content,
			ToolCallID: call.ID,
			ToolName:   call.Name,
		}
	}
	return calls, nil
}
