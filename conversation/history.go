package conversation

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/model"
	"example.org/parley/store"
)

// Fork opens a conversation that shares this one's history up to a message (zero: all of it) and continues separately.
// CodeConflict while the message's step is not done.
func (c *Conversation) Fork(ctx context.Context, at parley.ID) (*Conversation, error) {
	opened, err := c.home.Engine.Fork(ctx, c.home.Owner, c.ID, engine.ForkInput{At: at}, store.Idempotency{})
	if err != nil {
		return nil, err
	}
	return &Conversation{ID: opened.Session.ID, home: c.home}, nil
}

// Rephrase asks a message of the record in other words, in a fork that begins before it. Use Edit for a queued message.
// The turn's ID is that of the fork.
func (c *Conversation) Rephrase(ctx context.Context, message parley.ID, text string) (*Conversation, *Turn, error) {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return nil, nil, err
	}
	return c.branched(
		c.home.Engine.EditMessage(
			ctx,
			c.home.Owner,
			message,
			engine.EditInput{Content: content, SessionID: c.ID},
			store.Idempotency{},
		),
	)
}

// Regenerate asks a message again, or the message that an answer belongs to, in a fork that begins before it.
func (c *Conversation) Regenerate(ctx context.Context, message parley.ID) (*Conversation, *Turn, error) {
	return c.branched(
		c.home.Engine.Regenerate(
			ctx,
			c.home.Owner,
			message,
			engine.RegenerateInput{SessionID: c.ID},
			store.Idempotency{},
		),
	)
}

func (c *Conversation) branched(opened store.Opened, err error) (*Conversation, *Turn, error) {
	if err != nil {
		return nil, nil, err
	}
	fork := &Conversation{ID: opened.Session.ID, home: c.home}
	turn := &Turn{Message: opened.Posted.Message, conversation: fork, after: opened.Posted.EventSequence}
	if opened.Posted.Turn != nil {
		turn.ID = opened.Posted.Turn.ID
	}
	return fork, turn, nil
}

// Add records a user message that starts no turn: the agent sees it with the next one.
func (c *Conversation) Add(ctx context.Context, text string) (parley.Message, error) {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return parley.Message{}, err
	}
	alone := false
	turn, err := c.Post(ctx, engine.MessageInput{Role: parley.RoleUser, Content: content, Respond: &alone})
	if err != nil {
		return parley.Message{}, err
	}
	return turn.Message, nil
}

// SetModel makes later turns use another model; "" restores the agent's.
func (c *Conversation) SetModel(ctx context.Context, model parley.ModelID) error {
	_, err := c.home.Engine.UpdateSession(
		ctx,
		c.home.Owner,
		c.ID,
		engine.SessionPatch{
			SettingsPatch: parley.SettingsPatch{Model: parley.Change[parley.ModelID]{Set: true, Value: model}},
		},
	)
	return err
}

// Capabilities returns what is known about the next turn's model: whether it reasons, calls tools and sees images, its
// context, its price.
func (c *Conversation) Capabilities(ctx context.Context) (model.Info, error) {
	return c.home.Engine.Capabilities(ctx, c.home.Owner, c.ID)
}
