package client

import (
	"context"
	"net/http"
	"net/url"

	"example.org/parley"
)

// DecisionInput answers an approval.
type DecisionInput struct {
	Decision parley.ApprovalDecision `json:"decision"`
	// of a yes; once when not given; change is the session's owner's
	Scope   parley.ApprovalScope  `json:"scope,omitempty"`
	Covers  parley.ApprovalCovers `json:"covers,omitempty"` // of a yes for the session; call when not given
	Comment string                `json:"comment,omitempty"`
}

// Approval finds an approval.
func (c *Client) Approval(ctx context.Context, id parley.ID) (parley.Approval, error) {
	return read[parley.Approval](ctx, c, "/v1/approvals/"+id.String(), nil)
}

// Approvals lists approvals; query holds the list parameters of the API.
func (c *Client) Approvals(ctx context.Context, query url.Values) (Page[parley.Approval], error) {
	return read[Page[parley.Approval]](ctx, c, "/v1/approvals", query)
}

// Decide answers an approval. CodeConflict with the state when it is not pending.
func (c *Client) Decide(ctx context.Context, id parley.ID, input DecisionInput) (parley.Approval, error) {
	return call[DecisionInput, parley.Approval](ctx, c, http.MethodPost, "/v1/approvals/"+id.String(), nil, &input, nil)
}

// ResultInput is the result of a tool call that a client answers.
type ResultInput struct {
	Role       parley.Role              `json:"role"`
	ToolCallID string                   `json:"tool_call_id"`
	Content    parley.ToolResultContent `json:"content"`
}

// PostResult answers a tool call of a waiting turn: of a tool that is the
// client's, or a question of ask_user. CodeConflict when it has its result.
func (c *Client) PostResult(ctx context.Context, sessionID parley.ID, input ResultInput) (parley.Message, error) {
	input.Role = parley.RoleToolResult
	return call[ResultInput, parley.Message](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+sessionID.String()+"/messages",
		nil,
		&input,
		nil,
	)
}
