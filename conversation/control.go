package conversation

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// Queue reads the messages that wait behind the unfinished turn, in the order in which they will run.
func (c *Conversation) Queue(ctx context.Context) ([]parley.Message, error) {
	page, err := c.home.Engine.Messages(
		ctx,
		c.home.Owner,
		c.ID,
		engine.MessageList{
			Paging:   engine.Paging{Limit: parley.MaxPage},
			Statuses: []parley.MessageStatus{parley.MessageQueued},
		},
	)
	return page.Data, err
}

// Clear empties the model's context, which then starts with the next message. The record stays.
func (c *Conversation) Clear(ctx context.Context) error {
	_, err := c.home.Engine.ClearContext(ctx, c.home.Owner, c.ID)
	return err
}

// Edit replaces the text of a queued message. CodeConflict if it has entered the record.
func (c *Conversation) Edit(ctx context.Context, message parley.ID, text string) (parley.Message, error) {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return parley.Message{}, err
	}
	return c.home.Engine.UpdateMessage(ctx, c.home.Owner, message, engine.MessagePatch{Content: content})
}

// Remove removes a message from the queue. CodeConflict if it has entered the record.
func (c *Conversation) Remove(ctx context.Context, message parley.ID) error {
	_, err := c.home.Engine.RemoveMessage(ctx, c.home.Owner, message)
	return err
}

// Send delivers a queued message now: parley.DuringSteer shows it to the unfinished turn, parley.DuringInterrupt
// cancels that turn and runs it.
func (c *Conversation) Send(ctx context.Context, message parley.ID, how parley.During) (parley.Message, error) {
	posted, err := c.home.Engine.SendMessage(ctx, c.home.Owner, message, engine.SendInput{How: how})
	return posted.Message, err
}

// Move moves a queued message before another one, or to the end if before is zero.
func (c *Conversation) Move(ctx context.Context, message, before parley.ID) (parley.Message, error) {
	return c.home.Engine.MoveMessage(ctx, c.home.Owner, message, engine.MoveInput{Before: before})
}

// Retry resumes a failed or cancelled turn; the returned turn answers the same message. CodeConflict, with the state,
// if that is not possible.
func (c *Conversation) Retry(ctx context.Context, turn parley.ID) (*Turn, error) {
	return c.resumed(c.home.Engine.RetryTurn(ctx, c.home.Owner, turn, store.Idempotency{}))
}

// Continue resumes a turn that stopped at a limit. CodeConflict, with the state, for any other turn.
func (c *Conversation) Continue(ctx context.Context, turn parley.ID) (*Turn, error) {
	return c.resumed(c.home.Engine.ContinueTurn(ctx, c.home.Owner, turn, store.Idempotency{}))
}

func (c *Conversation) resumed(resumed store.TurnResumed, err error) (*Turn, error) {
	if err != nil {
		return nil, err
	}
	return &Turn{ID: resumed.Turn.ID, conversation: c, after: resumed.EventSequence}, nil
}

// Loop repeats a task until its condition is met or its maximum reached. It is durable and continues on its own;
// Home.Engine reads and stops it.
func (c *Conversation) Loop(ctx context.Context, input engine.LoopInput) (parley.Loop, error) {
	started, err := c.home.Engine.StartLoop(ctx, c.home.Owner, c.ID, input, store.Idempotency{})
	return started.Loop, err
}

// Compact requests a summary of the conversation's older messages, without waiting for it
// (parley.EventCompactionCompleted announces it); with input.Preview it starts nothing. CodeConflict, with the reason,
// if there is nothing to sum up or a summary is being written.
func (c *Conversation) Compact(ctx context.Context, input engine.CompactInput) (parley.Compaction, error) {
	return c.home.Engine.CompactSession(ctx, c.home.Owner, c.ID, input)
}

// ReviseSummary replaces the summary that the model sees by another version of it. CodeConflict, with the reason, if
// the model sees another one, and while a turn or a compaction is unfinished.
func (c *Conversation) ReviseSummary(ctx context.Context, input engine.SummaryInput) (parley.Message, error) {
	return c.home.Engine.ReviseSummary(ctx, c.home.Owner, c.ID, input)
}

// Compaction reads the conversation's running compaction, or the last one.
func (c *Conversation) Compaction(ctx context.Context) (parley.Compaction, error) {
	return c.home.Engine.Compaction(ctx, c.home.Owner, c.ID)
}
