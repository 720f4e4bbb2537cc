package client

import (
	"context"
	"net/http"
	"net/url"

	"example.org/parley"
)

// Compact has a summary written of all but a session's newest turn, without
// waiting for it. The error is a conflict, with the reason, when there is nothing to
// sum up or a summary is being written.
func (c *Client) Compact(ctx context.Context, session parley.ID) (parley.Compaction, error) {
	return call[struct{}, parley.Compaction](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/compact",
		nil,
		&struct{}{},
		nil,
	)
}

// Compaction finds a session's compaction: the one that is under way, or the last.
func (c *Client) Compaction(ctx context.Context, session parley.ID) (parley.Compaction, error) {
	return read[parley.Compaction](ctx, c, "/v1/sessions/"+session.String()+"/compaction", nil)
}

// Covered lists the messages that a summary stands for, oldest first.
func (c *Client) Covered(ctx context.Context, summary parley.ID, query url.Values) (Page[parley.Message], error) {
	return read[Page[parley.Message]](ctx, c, "/v1/messages/"+summary.String()+"/covered", query)
}
