package conversation

import (
	"context"
	"iter"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// Conversation is one session.
type Conversation struct {
	ID   parley.ID
	home *Home
}

// Session reads the current state.
func (c *Conversation) Session(ctx context.Context) (parley.Session, error) {
	return c.home.Engine.Session(ctx, c.home.Owner, c.ID)
}

// Tree reads the conversation and the tool sessions that its agent's tools opened below it, with the usage of each and
// the sums. Home.Resume opens one.
func (c *Conversation) Tree(ctx context.Context) (parley.Tree, error) {
	return c.home.Engine.SessionTree(ctx, c.home.Owner, c.ID)
}

// Post stores a message and, for a user message, starts its turn or queues it. The message is durable when Post
// returns; the turn continues on its own.
func (c *Conversation) Post(ctx context.Context, input engine.MessageInput) (*Turn, error) {
	posted, err := c.home.Engine.PostMessage(ctx, c.home.Owner, c.ID, input, store.Idempotency{})
	if err != nil {
		return nil, err
	}
	turn := &Turn{Message: posted.Message, conversation: c, after: posted.EventSequence}
	if posted.Turn != nil {
		turn.ID = posted.Turn.ID
	}
	return turn, nil
}

// Say is Post for plain text.
func (c *Conversation) Say(ctx context.Context, text string) (*Turn, error) {
	input, err := userInput(text)
	if err != nil {
		return nil, err
	}
	return c.Post(ctx, input)
}

// StreamText says something and yields the answer's text piece by piece, like Turn.Text. It posts the message when the
// range begins. Post and stream count as one use of the engine, as they are one request over HTTP.
func (c *Conversation) StreamText(ctx context.Context, text string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ctx, call, err := c.home.Engine.Begin(ctx, engine.Caller{Principal: c.home.Owner, Action: "postMessage"})
		if err != nil {
			yield("", err)
			return
		}
		turn, err := c.Say(ctx, text)
		if err != nil {
			yield("", err)
			return
		}
		call.End(ctx)
		turn.Text(ctx)(yield)
	}
}

// Messages yields the record, oldest first, then the queued messages. It ends after the first error.
func (c *Conversation) Messages(ctx context.Context) iter.Seq2[parley.Message, error] {
	return func(yield func(parley.Message, error) bool) {
		var list engine.MessageList
		for {
			page, err := c.home.Engine.Messages(ctx, c.home.Owner, c.ID, list)
			if err != nil {
				yield(parley.Message{}, err)
				return
			}
			for _, message := range page.Data {
				if !yield(message, nil) {
					return
				}
			}
			if page.Next == nil {
				return
			}
			list.Cursor = *page.Next
		}
	}
}

// Cancel stops the first unfinished turn; its partial text stays. CodeNothingToCancel if nothing ever ran, CodeConflict
// if the turn has finished.
func (c *Conversation) Cancel(ctx context.Context) (engine.CancelResult, error) {
	return c.home.Engine.Cancel(ctx, c.home.Owner, c.ID, engine.CancelInput{})
}
