package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"example.org/parley"
	"example.org/parley/event"
)

// LoopInput is a loop to start: only Prompt is needed.
type LoopInput struct {
	Prompt      string             `json:"prompt"`
	Max         int                `json:"max,omitempty"`
	Until       *parley.LoopUntil  `json:"until,omitempty"`
	Context     parley.LoopContext `json:"context,omitzero"`
	ArchiveDone bool               `json:"archive_when_done,omitempty"`
}

// StartLoop starts a loop in a session. A non-empty key makes it safe to repeat.
func (c *Client) StartLoop(ctx context.Context, session parley.ID, input LoopInput, key string) (parley.Loop, error) {
	return call[LoopInput, parley.Loop](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/loops",
		nil,
		&input,
		keyHeader(key),
	)
}

// Loop finds a loop.
func (c *Client) Loop(ctx context.Context, id parley.ID) (parley.Loop, error) {
	return read[parley.Loop](ctx, c, "/v1/loops/"+id.String(), nil)
}

// Loops lists a session's loops, newest first.
func (c *Client) Loops(ctx context.Context, session parley.ID, query url.Values) (Page[parley.Loop], error) {
	return read[Page[parley.Loop]](ctx, c, "/v1/sessions/"+session.String()+"/loops", query)
}

// StopLoop ends a running loop; with now its running iteration is cancelled too.
func (c *Client) StopLoop(ctx context.Context, id parley.ID, now bool) (parley.Loop, error) {
	type stop struct {
		Now bool `json:"now"`
	}
	return call[stop, parley.Loop](ctx, c, http.MethodPost, "/v1/loops/"+id.String()+"/stop", nil, &stop{now}, nil)
}

// LoopProgress reads a loop.progress frame's data.
func (f Frame) LoopProgress() (event.LoopProgress, error) {
	var progress event.LoopProgress
	err := json.Unmarshal(f.Data, &progress)
	return progress, err
}
