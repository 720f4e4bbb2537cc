package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"example.org/parley"
)

// ToolNames are tools of the server by their names.
func ToolNames(names ...string) []parley.ToolRef {
	refs := make([]parley.ToolRef, len(names))
	for i, name := range names {
		refs[i].Name = name
	}
	return refs
}

// UserMessage is a message of plain text.
func UserMessage(text string) MessageInput {
	content := append(parley.AppendJSONString([]byte(`{"text":`), text), '}')
	return MessageInput{Role: parley.RoleUser, Content: content}
}

// ToolResult is the message that answers a tool call of a waiting turn: of a tool that is the client's, or a question
// of ask_user. content is an encoded parley.ToolResultContent.
func ToolResult(toolCallID string, content json.RawMessage) MessageInput {
	return MessageInput{Role: parley.RoleToolResult, ToolCallID: toolCallID, Content: content}
}

// DryRun has a message answered without anything being written; input.ToolResults answer for its tools. It returns when
// the turn has ended, so its time is ctx's.
func (c *Client) DryRun(
	ctx context.Context,
	session parley.ID,
	input MessageInput,
	options ...Option,
) (DryRun, error) {
	input.DryRun = true
	return send[DryRun](ctx, c, request{
		method:  http.MethodPost,
		path:    "/v1/sessions/" + session.String() + "/messages",
		input:   input,
		lasting: true,
		options: options,
	})
}

// Transcript is Messages in the view transcript: an agent's output is folded into blocks per turn.
func (c *Client) Transcript(
	ctx context.Context,
	session parley.ID,
	query MessagesQuery,
	options ...Option,
) iter.Seq2[Entry, error] {
	return view[Entry](ctx, c, session, query, "transcript", options)
}

// Chat is Messages in the view chat: one assistant message per step, with its calls.
func (c *Client) Chat(
	ctx context.Context,
	session parley.ID,
	query MessagesQuery,
	options ...Option,
) iter.Seq2[ChatMessage, error] {
	return view[ChatMessage](ctx, c, session, query, "chat", options)
}

// MessageIDs is Messages in the view ids.
func (c *Client) MessageIDs(
	ctx context.Context,
	session parley.ID,
	query MessagesQuery,
	options ...Option,
) iter.Seq2[MessageID, error] {
	return view[MessageID](ctx, c, session, query, "ids", options)
}

// view ranges over the rows of a view of messages that has rows of its own.
func view[Row any](
	ctx context.Context,
	c *Client,
	session parley.ID,
	query MessagesQuery,
	name string,
	options []Option,
) iter.Seq2[Row, error] {
	query.View = name
	return pages(query.Cursor, func(cursor string) (Page[Row], error) {
		query.Cursor = cursor
		return send[Page[Row]](ctx, c, request{
			method:  http.MethodGet,
			path:    "/v1/sessions/" + session.String() + "/messages",
			query:   query.values(),
			options: options,
		})
	})
}

// Posted is a recorded message, and where its events begin.
type Posted struct {
	Message       parley.Message
	EventSequence int64 // watch the session after it and miss nothing
}

// Post is PostMessage, and tells where to watch from.
func (c *Client) Post(
	ctx context.Context,
	session parley.ID,
	input MessageInput,
	options ...Option,
) (posted Posted, err error) {
	posted.Message, err = c.PostMessage(ctx, session, input, append(options, EventSequence(&posted.EventSequence))...)
	return posted, err
}
