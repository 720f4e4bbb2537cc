package client

import (
	"context"
	"net/http"
	"net/url"

	"parley"
)

// Queue lists a session's queued messages in the order in which they will run.
func (c *Client) Queue(ctx context.Context, session parley.ID) (Page[parley.Message], error) {
	return c.Messages(ctx, session, url.Values{"status": {string(parley.MessageQueued)}})
}

// EditMessage replaces the content of a queued message.
func (c *Client) EditMessage(ctx context.Context, message parley.ID, content parley.UserContent) (parley.Message, error) {
	type edit struct {
		Content parley.UserContent `json:"content"`
	}
	return call[edit, parley.Message](ctx, c, http.MethodPatch, "/v1/messages/"+message.String(), nil, &edit{content}, nil)
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
	return call[send, parley.Message](ctx, c, http.MethodPost, "/v1/messages/"+message.String()+"/send", nil, &send{how}, nil)
}

// MoveMessage puts a queued message before another one, or last when before is zero.
func (c *Client) MoveMessage(ctx context.Context, message, before parley.ID) (parley.Message, error) {
	type move struct {
		Before parley.ID `json:"before,omitzero"`
	}
	return call[move, parley.Message](ctx, c, http.MethodPost, "/v1/messages/"+message.String()+"/move", nil, &move{before}, nil)
}
