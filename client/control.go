package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"example.org/parley"
)

// Queue lists a session's queued messages in the order in which they will run.
func (c *Client) Queue(ctx context.Context, session parley.ID) (Page[parley.Message], error) {
	return c.Messages(ctx, session, url.Values{"status": {string(parley.MessageQueued)}})
}

// EditMessage replaces the content of a queued message.
func (c *Client) EditMessage(
	ctx context.Context,
	message parley.ID,
	content parley.UserContent,
) (parley.Message, error) {
	type edit struct {
		Content parley.UserContent `json:"content"`
	}
	return call[edit, parley.Message](
		ctx,
		c,
		http.MethodPatch,
		"/v1/messages/"+message.String(),
		nil,
		&edit{content},
		nil,
	)
}

// RemoveMessage takes a queued message out of the queue.
func (c *Client) RemoveMessage(ctx context.Context, message parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/messages/"+message.String(), nil, nil, nil)
	return err
}

// SendMessage has a queued message heard now: parley.DuringSteer shows it to the
// running turn, parley.DuringInterrupt cancels that one and runs it.
func (c *Client) SendMessage(ctx context.Context, message parley.ID, how parley.During) (parley.Message, error) {
	type send struct {
		How parley.During `json:"how"`
	}
	return call[send, parley.Message](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/send",
		nil,
		&send{how},
		nil,
	)
}

// MoveMessage puts a queued message before another one, or last when before is zero.
func (c *Client) MoveMessage(ctx context.Context, message, before parley.ID) (parley.Message, error) {
	type move struct {
		Before parley.ID `json:"before,omitzero"`
	}
	return call[move, parley.Message](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/move",
		nil,
		&move{before},
		nil,
	)
}

// Resume is a way to take a turn up again.
type Resume string

// The ways: a failed or cancelled turn is tried again, one that stopped at a
// limit goes on.
const (
	Retry    Resume = "retry"
	Continue Resume = "continue"
)

// ResumeTurn takes a turn up again and returns the one that runs now. A non-empty
// key makes it safe to repeat.
func (c *Client) ResumeTurn(ctx context.Context, turn parley.ID, how Resume, key string) (parley.Turn, error) {
	return call[none, parley.Turn](ctx, c, http.MethodPost, resumePath(turn, how), nil, &none{}, keyHeader(key))
}

// StreamResumed takes a turn up again and ranges over its frames up to the
// terminal one. Leaving the loop cancels nothing.
func (c *Client) StreamResumed(ctx context.Context, turn parley.ID, how Resume, key string) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		header := keyHeader(key)
		if header == nil {
			header = http.Header{}
		}
		header.Set("Accept", "text/event-stream")
		c.frames(ctx, http.MethodPost, resumePath(turn, how), nil, []byte("{}"), header, yield)
	}
}

func resumePath(turn parley.ID, how Resume) string {
	return "/v1/turns/" + turn.String() + "/" + string(how)
}

// Turn finds a turn.
func (c *Client) Turn(ctx context.Context, id parley.ID) (parley.Turn, error) {
	return read[parley.Turn](ctx, c, "/v1/turns/"+id.String(), nil)
}
