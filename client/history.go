package client

import (
	"context"
	"net/http"
	"net/url"

	"example.org/parley"
)

// BranchInput is what a fork has other than the session that it comes from.
type BranchInput struct {
	Agent        string  `json:"agent_id,omitempty"` // id or slug
	Title        string  `json:"title,omitempty"`
	Instructions *string `json:"instructions,omitempty"`
	parley.Settings
}

// ForkInput says where a session is forked: behind At, or behind the message with
// Sequence, or behind its last one.
type ForkInput struct {
	At       parley.ID `json:"at,omitzero"`
	Sequence int64     `json:"sequence,omitempty"`
	BranchInput
	Message *MessageInput `json:"message,omitempty"` // the fork's first own message
}

// Fork makes a session that shares another one's history up to a message. A
// non-empty key makes it safe to repeat.
func (c *Client) Fork(ctx context.Context, session parley.ID, input ForkInput, key string) (parley.Session, error) {
	return call[ForkInput, parley.Session](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/fork",
		nil,
		&input,
		keyHeader(key),
	)
}

// Rephrase asks a user's message of the record in other words, in a fork that
// begins before it; its turn runs when this returns. EditMessage changes one that
// is queued.
func (c *Client) Rephrase(
	ctx context.Context,
	message parley.ID,
	content parley.UserContent,
	input BranchInput,
	key string,
) (parley.Session, error) {
	type edit struct {
		Content parley.UserContent `json:"content"`
		BranchInput
	}
	return call[edit, parley.Session](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/edit",
		nil,
		&edit{content, input},
		keyHeader(key),
	)
}

// Regenerate asks a user's message, or the one that an answer is to, again, in a
// fork that begins before it.
func (c *Client) Regenerate(
	ctx context.Context,
	message parley.ID,
	input BranchInput,
	key string,
) (parley.Session, error) {
	return call[BranchInput, parley.Session](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/regenerate",
		nil,
		&input,
		keyHeader(key),
	)
}

// Branches lists the sessions that were forked at a message or ask it anew.
func (c *Client) Branches(ctx context.Context, message parley.ID, query url.Values) (Page[parley.Session], error) {
	return read[Page[parley.Session]](ctx, c, "/v1/messages/"+message.String()+"/branches", query)
}

// Versions lists the pieces in which a message was streamed.
func (c *Client) Versions(ctx context.Context, message parley.ID) (Page[parley.Version], error) {
	return read[Page[parley.Version]](ctx, c, "/v1/messages/"+message.String()+"/versions", nil)
}
