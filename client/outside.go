package client

import (
	"context"
	"net/http"
	"net/url"

	"example.org/parley"
)

// OutsideInput opens a message that an agent outside streams.
type OutsideInput struct {
	Model     parley.ModelID `json:"model,omitempty"`
	AgentType string         `json:"agent_type,omitempty"`
	Timeout   int            `json:"timeout,omitempty"` // seconds without an append; 0: the server's default
}

// SettleInput ends an open message: with what was appended.
type SettleInput struct {
	Status parley.MessageStatus `json:"status"`
	Model  parley.ModelID       `json:"model,omitempty"`
	Usage  *parley.Usage        `json:"usage,omitempty"`
	Error  *FailureInput        `json:"error,omitempty"` // of failed
}

// FailureInput is why an answer failed.
type FailureInput struct {
	Class    parley.ErrorClass `json:"class,omitempty"`
	Sentence string            `json:"sentence,omitempty"`
}

// SettledMessage is the answer to a settle.
type SettledMessage struct {
	Message   parley.Message   `json:"message"`
	Turn      parley.Turn      `json:"turn"`
	ToolCalls []parley.Message `json:"tool_calls"`
}

// OpenMessage opens an assistant message in a session, to be appended to and
// settled. A non-empty key makes it safe to repeat.
func (c *Client) OpenMessage(
	ctx context.Context,
	session parley.ID,
	input OutsideInput,
	key string,
) (parley.Message, error) {
	type open struct {
		Role   parley.Role          `json:"role"`
		Status parley.MessageStatus `json:"status"`
		OutsideInput
	}
	return call[open, parley.Message](ctx, c, http.MethodPost, "/v1/sessions/"+session.String()+"/messages", nil,
		&open{parley.RoleAssistant, parley.MessageStreaming, input}, keyHeader(key))
}

// AppendMessage adds a piece to an open message: kind is parley.KindText or
// parley.KindReasoning, offset where it begins in bytes. A conflict's End is where
// to go on.
func (c *Client) AppendMessage(
	ctx context.Context,
	message parley.ID,
	kind parley.ContentKind,
	offset int,
	piece string,
) (parley.OutsideGrown, error) {
	type grow struct {
		Offset    int     `json:"offset"`
		Text      *string `json:"text,omitempty"`
		Reasoning *string `json:"reasoning,omitempty"`
	}
	input := grow{Offset: offset, Text: &piece}
	if kind == parley.KindReasoning {
		input.Text, input.Reasoning = nil, &piece
	}
	return call[grow, parley.OutsideGrown](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/append",
		nil,
		&input,
		nil,
	)
}

// SettleMessage ends an open message and its turn.
func (c *Client) SettleMessage(ctx context.Context, message parley.ID, input SettleInput) (SettledMessage, error) {
	return call[SettleInput, SettledMessage](
		ctx,
		c,
		http.MethodPost,
		"/v1/messages/"+message.String()+"/settle",
		nil,
		&input,
		nil,
	)
}

// Share lets the session reader read a session.
func (c *Client) Share(ctx context.Context, session, reader parley.ID) (parley.Share, error) {
	return call[none, parley.Share](ctx, c, http.MethodPut, sharePath(session, reader), nil, nil, nil)
}

// Unshare ends a share.
func (c *Client) Unshare(ctx context.Context, session, reader parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, sharePath(session, reader), nil, nil, nil)
	return err
}

// Shares lists who reads a session or, in, what the session reads.
func (c *Client) Shares(ctx context.Context, session parley.ID, in bool) (Page[parley.Share], error) {
	query := url.Values{}
	if in {
		query.Set("direction", "in")
	}
	return read[Page[parley.Share]](ctx, c, "/v1/sessions/"+session.String()+"/shares", query)
}

func sharePath(session, reader parley.ID) string {
	return "/v1/sessions/" + session.String() + "/shares/" + reader.String()
}
