package conversation

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// Draft is a message that the program's own agent, not Parley's, streams into a conversation. It is not safe for
// concurrent use. It is part of the record: after a crash Redraft continues it. A draft without growth for a while is
// settled as failed (parley.DefaultOutsideTimeout).
type Draft struct {
	ID           parley.ID
	conversation *Conversation
	ends         parley.OutsideGrown
}

// Draft opens a message. model names the writer, for people; it may be "". CodeBusy while a turn of the conversation is
// unfinished.
func (c *Conversation) Draft(ctx context.Context, model parley.ModelID) (*Draft, error) {
	input := engine.MessageInput{
		Role:     parley.RoleAssistant,
		Status:   parley.MessageStreaming,
		Settings: parley.Settings{Model: model},
	}
	posted, err := c.home.Engine.PostMessage(ctx, c.home.Owner, c.ID, input, store.Idempotency{})
	if err != nil {
		return nil, err
	}
	return &Draft{ID: posted.Message.ID, conversation: c}, nil
}

// Redraft continues an open message. CodeConflict if it has settled.
func (c *Conversation) Redraft(ctx context.Context, message parley.ID) (*Draft, error) {
	d := &Draft{ID: message, conversation: c}
	return d, d.grow(ctx, engine.AppendInput{Text: new("")})
}

// Reason adds reasoning, which comes before the text.
func (d *Draft) Reason(ctx context.Context, reasoning string) error {
	return d.grow(ctx, engine.AppendInput{Offset: d.ends.Reasoning, Reasoning: &reasoning})
}

// Write adds text, which is durable and visible when Write returns.
func (d *Draft) Write(ctx context.Context, text string) error {
	return d.grow(ctx, engine.AppendInput{Offset: d.ends.Text, Text: &text})
}

func (d *Draft) grow(ctx context.Context, input engine.AppendInput) error {
	home := d.conversation.home
	grown, err := home.Engine.AppendMessage(ctx, home.Owner, d.ID, input)
	if err == nil {
		d.ends = grown
	}
	return err
}

// Settle ends the message and its turn.
func (d *Draft) Settle(ctx context.Context, input engine.SettleInput) (engine.OutsideResult, error) {
	home := d.conversation.home
	return home.Engine.SettleMessage(ctx, home.Owner, d.ID, input)
}

// ShareWith lets another conversation's agent read this one with the tool read_session.
func (c *Conversation) ShareWith(ctx context.Context, reader parley.ID) error {
	_, _, err := c.home.Engine.ShareSession(ctx, c.home.Owner, c.ID, reader)
	return err
}

// UnshareWith ends a share.
func (c *Conversation) UnshareWith(ctx context.Context, reader parley.ID) error {
	return c.home.Engine.UnshareSession(ctx, c.home.Owner, c.ID, reader)
}
