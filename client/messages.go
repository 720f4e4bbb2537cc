package client

import (
	"context"
	"encoding/json"
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
