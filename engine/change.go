package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// MaxChangedMarks bounds the messages whose marks a previewed change changes.
const MaxChangedMarks = 32

// PreviewInput asks what would be sent: for a message, after a change, or both.
type PreviewInput struct {
	MessageInput
	Change *ChangeInput `json:"change,omitempty" doc:"Show the request as it would be after this change, and what the change costs. Without content, the request is the window before any further message."`
}

// ChangeInput is a change of a session that a preview shows as made.
type ChangeInput struct {
	Edit    *ChangedTextInput     `json:"edit,omitempty" doc:"A user message in other words, as in the fork that an edit makes. It replaces content."`
	Marks   []ChangedMarksInput   `json:"marks,omitempty" maxItems:"32" doc:"Marks of messages."`
	Summary *SummaryInput         `json:"summary,omitempty" doc:"The summary that the model sees now, in other words."`
	Session *parley.SettingsPatch `json:"session,omitempty" doc:"Settings of the session."`
	Agent   *parley.SettingsPatch `json:"agent,omitempty" doc:"Settings of its agent."`
}

// ChangedTextInput is a user's message in other words.
type ChangedTextInput struct {
	MessageID parley.ID       `json:"message_id" required:"true"`
	Content   json.RawMessage `json:"content" required:"true" doc:"The user's message as it should have been."`
}

// ChangedMarksInput are marks that a message would have; a mark that is left out stays.
type ChangedMarksInput struct {
	MessageID parley.ID `json:"message_id"`
	Pinned    *bool     `json:"pinned,omitempty"`
	SetAside  *bool     `json:"set_aside,omitempty"`
}

// ChangeCost compares the request after a change with the one without it.
type ChangeCost struct {
	EstimatedTokens int            `json:"estimated_tokens" doc:"Of the request without the change."`
	Cache           PredictedCache `json:"cache" doc:"Without the change."`
	Cost            PredictedCost  `json:"cost" doc:"Without the change."`
	LostTokens      int            `json:"lost_tokens" doc:"How much less of the provider's cache the next request can use."`
	Extra           *parley.Money  `json:"extra" doc:"What the next request's input costs more than without the change, with the cache as far as it is likely; negative if less, null if the price is unknown."`
	Says            string         `json:"says" doc:"For people."`
}

// previewChange shows a session's next request after a change, and compares it with the one without the change.
func (e *Engine) previewChange(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	of *runner.DryTurn,
	input PreviewInput,
) (Preview, error) {
	if input.Change.empty() {
		return Preview{}, parley.InvalidField("change", "is empty; give edit, marks, summary, session or agent")
	}
	edit := input.Change.Edit
	var edited parley.Message
	if edit != nil {
		var err error
		if edited, err = e.editedMessage(ctx, scope, of, &input); err != nil {
			return Preview{}, inside("change.edit", err)
		}
	}
	if err := e.changeable(ctx, scope, principal, of, input.MessageInput); err != nil {
		if edit != nil {
			err = inside("change.edit", err)
		}
		return Preview{}, err
	}
	changed := *of
	if edit != nil {
		changed.Session.Context = of.Session.ContextAt(edited.Sequence - 1)
		changed.Session.LastSequence = edited.Sequence - 1
	}
	if err := e.changeMarks(ctx, scope, &changed, input.Change.Marks); err != nil {
		return Preview{}, inside("change", err)
	}
	if err := e.changeSummary(ctx, scope, &changed, input.Change.Summary); err != nil {
		return Preview{}, inside("change.summary", err)
	}
	if err := e.changeSettings(ctx, scope, &changed, input.Change); err != nil {
		return Preview{}, inside("change", err)
	}
	without, err := e.preview(ctx, scope, *of)
	if err != nil {
		return Preview{}, err
	}
	shown, err := e.preview(ctx, scope, changed)
	if err == nil {
		shown.Change = compareCosts(&without, &shown)
	}
	return shown, err
}

func (c *ChangeInput) empty() bool {
	return c.Edit == nil && len(c.Marks) == 0 && c.Summary == nil && c.Session == nil && c.Agent == nil
}

// editedMessage finds the message of an edit and makes its new text the message to preview, with its own settings: the
// request without the change asks the same at the conversation's end.
func (e *Engine) editedMessage(
	ctx context.Context,
	scope store.Scope,
	of *runner.DryTurn,
	input *PreviewInput,
) (parley.Message, error) {
	if len(input.Content) > 0 {
		return parley.Message{}, parley.InvalidField("content", "does not belong beside an edit")
	}
	edited, err := e.messageOf(ctx, scope, of.Session.ID, input.Change.Edit.MessageID)
	if err != nil {
		return edited, err
	}
	if edited.Role != parley.RoleUser {
		return edited, parley.InvalidField("message_id", "is not a user's message; only those are edited")
	}
	if len(input.Change.Edit.Content) == 0 {
		return edited, parley.InvalidField("content", "is missing: give the message as it should have been")
	}
	input.MessageInput = MessageInput{
		Content: input.Change.Edit.Content, Metadata: edited.Metadata, AgentType: edited.AgentType,
		Settings: edited.Settings,
	}
	return edited, nil
}

// changeable completes the turn to preview: with the message of the input, or without any if it has no content.
func (e *Engine) changeable(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	of *runner.DryTurn,
	input MessageInput,
) error {
	if len(input.Content) > 0 {
		return e.dryTurn(ctx, scope, principal, of, input)
	}
	return e.emptyTurn(ctx, scope, of)
}

// messageOf finds a message of a session's record, with the session's marks.
func (e *Engine) messageOf(
	ctx context.Context,
	scope store.Scope,
	sessionID, id parley.ID,
) (parley.Message, error) {
	found, err := e.store.Message(ctx, scope, id)
	if err != nil {
		return found, err
	}
	if found.Sequence > 0 {
		page, err := e.store.Messages(ctx, scope, sessionID, store.MessageQuery{
			AfterSequence: found.Sequence - 1, RecordOnly: true, Limit: 1,
		})
		if err != nil {
			return found, err
		}
		if len(page) > 0 && page[0].ID == id {
			return page[0], nil
		}
	}
	return found, parley.InvalidField("message_id", "is not in the record of this session")
}

// changeMarks makes a turn show messages with other marks.
func (e *Engine) changeMarks(
	ctx context.Context,
	scope store.Scope,
	of *runner.DryTurn,
	marks []ChangedMarksInput,
) error {
	if len(marks) > MaxChangedMarks {
		return parley.InvalidField("marks", "are %d; at most %d", len(marks), MaxChangedMarks)
	}
	for _, one := range marks {
		message, err := e.messageOf(ctx, scope, of.Session.ID, one.MessageID)
		if err != nil {
			return inside("marks", err)
		}
		change := parley.MarksChange{Pinned: one.Pinned, SetAside: one.SetAside}
		if message.Marks, err = message.Marked(change); err != nil {
			return inside("marks", err)
		}
		of.Session.Context.Held = of.Session.Context.Held || message.Marks.Pinned
		of.Changed = append(of.Changed, message)
	}
	return nil
}

// changeSummary makes a turn show the summary that its session's model sees now with another text.
func (e *Engine) changeSummary(
	ctx context.Context,
	scope store.Scope,
	of *runner.DryTurn,
	change *SummaryInput,
) error {
	if change == nil {
		return nil
	}
	if err := change.check(); err != nil {
		return err
	}
	head, err := e.store.ContextHead(ctx, scope.WorkspaceID, of.Session.ID)
	if err != nil {
		return err
	}
	if head.Summary == nil || head.Summary.ID != change.MessageID {
		if _, err := e.store.Message(ctx, scope, change.MessageID); err != nil {
			return err
		}
		return parley.InvalidField("message_id", "is not the summary that the model sees now")
	}
	summary := *head.Summary
	if summary.Content, err = parley.EncodeContent(parley.TextContent{Text: change.Text}); err != nil {
		return err
	}
	summary.TokenEstimate = prompt.EstimateTokens(change.Text)
	for i := range of.Changed {
		if of.Changed[i].ID == summary.ID {
			summary.Marks = of.Changed[i].Marks
		}
	}
	of.Changed = append(of.Changed, summary)
	return nil
}

// changeSettings makes a turn run under other settings of its session and agent.
func (e *Engine) changeSettings(
	ctx context.Context,
	scope store.Scope,
	of *runner.DryTurn,
	change *ChangeInput,
) error {
	for _, one := range []struct {
		name  string
		patch *parley.SettingsPatch
		scope setting.Scope
		to    *parley.Settings
	}{
		{"session", change.Session, setting.Session, &of.Session.Settings},
		{"agent", change.Agent, setting.Agent, &of.Agent.Settings},
	} {
		if one.patch == nil {
			continue
		}
		alone := setting.Patched(parley.Settings{}, one.patch)
		if err := e.checkSettings(one.scope, &alone); err != nil {
			return inside(one.name, err)
		}
		if err := e.findAgents(ctx, scope, parley.ValueOf(alone.Tools)); err != nil {
			return inside(one.name, err)
		}
		*one.to = setting.Patched(*one.to, one.patch)
	}
	setting.Complete(&of.Agent.Settings)
	return nil
}

// compareCosts says what a change costs the next request.
func compareCosts(without, with *Preview) *ChangeCost {
	c := &ChangeCost{
		EstimatedTokens: without.EstimatedTokens,
		Cache:           without.Cache,
		Cost:            without.Cost,
		LostTokens:      max(0, without.Cache.Tokens-with.Cache.Tokens),
	}
	if before, after := without.expected(), with.expected(); before != nil && after != nil {
		extra := *after - *before
		c.Extra = &extra
	}
	switch {
	case without.Cache.Tokens == 0:
		c.Says = "No cache holds the beginning of the next request, so the change loses none of it."
	case c.LostTokens == 0:
		c.Says = "The next request begins as it would without the change, so a cache holds as much of it."
	default:
		c.Says = fmt.Sprintf(
			"A cache can hold about %d of the next request's %d tokens; without the change, %d of %d.",
			with.Cache.Tokens, with.EstimatedTokens, without.Cache.Tokens, without.EstimatedTokens,
		)
		if !without.Cache.Likely {
			c.Says += " But it has probably forgotten them already."
		}
	}
	return c
}

// expected is what a request's input is likely to cost; nil if the price is unknown.
func (p *Preview) expected() *parley.Money {
	if p.Cache.Likely {
		return p.Cost.Cached
	}
	return p.Cost.Input
}
