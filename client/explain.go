package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"example.org/parley"
	"example.org/parley/model"
)

// Span is a run of bytes of a request.
type Span struct {
	Offset int `json:"offset"`
	Length int `json:"length"`
}

// Part is a piece of a request: why it is there and what it weighs.
type Part struct {
	Kind     string  `json:"kind"` // tool, system, summary, context_note, message or parameters
	Name     *string `json:"name"` // of a tool, or of the one that a call or result belongs to
	Sequence *int64  `json:"sequence"`
	// MessageID is of the message of the record that it shows, zero without one.
	MessageID parley.ID `json:"message_id"`
	Pinned    bool      `json:"pinned"` // the message is pinned now
	Role      *string   `json:"role"`
	Reason    string    `json:"reason"`
	Bytes     int       `json:"bytes"`
	Tokens    int       `json:"tokens"` // an estimate
	Span      *Span     `json:"span"`   // nil where its place cannot be told
	Cached    *int      `json:"cached_tokens"`
}

// PartTotal sums the parts of a kind.
type PartTotal struct {
	Kind   string `json:"kind"`
	Parts  int    `json:"parts"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
}

// LeftOut is a run of messages that a call was not shown.
type LeftOut struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Count  int64  `json:"count"`
	Reason string `json:"reason"`
	Tokens *int   `json:"tokens"`
}

// Window is how full a model's context is.
type Window struct {
	ContextLength *int     `json:"context_length"`
	MaxOutput     *int     `json:"max_output"`
	Used          int      `json:"used"`
	Share         *float64 `json:"share"`
}

// Explanation is a request taken apart.
type Explanation struct {
	Parts           []Part      `json:"parts"`
	Totals          []PartTotal `json:"totals"`
	EstimatedTokens int         `json:"estimated_tokens"`
	LeftOut         []LeftOut   `json:"left_out"`
	Window          Window      `json:"window"`
}

// Attempt is another attempt at the request of a call.
type Attempt struct {
	CallID    parley.ID          `json:"call_id"`
	Attempt   int                `json:"attempt"`
	Outcome   parley.CallOutcome `json:"outcome"`
	Error     *parley.Failure    `json:"error"`
	Cost      *parley.Money      `json:"cost"`
	CreatedAt parley.Time        `json:"created_at"`
	TotalMS   *int64             `json:"total_ms"`
}

// Costs is what a call's tokens cost, by today's prices.
type Costs struct {
	Price      model.Price  `json:"price"`
	Input      parley.Money `json:"input"`
	Cached     parley.Money `json:"cached"`
	CacheWrite parley.Money `json:"cache_write"`
	Output     parley.Money `json:"output"`
	Saved      parley.Money `json:"saved"`
	Current    bool         `json:"current"` // the sum is what was recorded
}

// CallDetail is a call with its request, rebuilt and explained.
type CallDetail struct {
	parley.Call
	Explained
}

// Explained is what a CallDetail has beside the call.
type Explained struct {
	System  string          `json:"system_prompt"`
	Tools   json.RawMessage `json:"tools"`
	Request json.RawMessage `json:"request"` // null when it cannot be rebuilt
	Exact   bool            `json:"exact"`
	Reason  string          `json:"reason"`
	Explanation
	Attempts []Attempt     `json:"other_attempts"`
	Costs    *Costs        `json:"costs"`
	Limits   parley.Limits `json:"limits"`
}

// MarshalJSON writes the call and the rest as one object.
func (d CallDetail) MarshalJSON() ([]byte, error) {
	call, err := d.Call.MarshalJSON()
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(d.Explained)
	if err != nil {
		return nil, err
	}
	return append(append(call[:len(call)-1], ','), rest[1:]...), nil
}

// LineChange is a line that one of two system prompts has.
type LineChange struct {
	Line int    `json:"line"`
	Sign string `json:"sign"` // + or -
	Text string `json:"text"`
}

// Change is one thing in which two requests differ.
type Change struct {
	Cause  string       `json:"cause"`
	Says   string       `json:"says"`
	Breaks bool         `json:"breaks_prefix"`
	Lines  []LineChange `json:"lines"`
	Names  []string     `json:"names"`
}

// CallDiff is how a call's request differs from an earlier one's.
type CallDiff struct {
	CallID      parley.ID `json:"call_id"`
	SessionID   parley.ID `json:"session_id"`
	WithID      parley.ID `json:"with_id"` // zero: there is none before
	Exact       bool      `json:"exact"`
	SecondsPast *float64  `json:"seconds_past"`
	Identical   bool      `json:"identical"`
	First       *struct {
		Offset   int     `json:"offset"`
		Kind     string  `json:"kind"`
		Name     *string `json:"name"`
		Sequence *int64  `json:"sequence"`
		Was      string  `json:"was"`
		Is       string  `json:"is"`
	} `json:"first_difference"`
	Shared struct {
		Bytes    int `json:"bytes"`
		OfBytes  int `json:"of_bytes"`
		Tokens   int `json:"tokens"`
		OfTokens int `json:"of_tokens"`
		Messages int `json:"messages"`
	} `json:"shared"`
	Changes []Change `json:"changes"`
	Cache   struct {
		Reason         *string `json:"reason"`
		Says           string  `json:"says"`
		CachedTokens   *int64  `json:"cached_tokens"`
		PossibleTokens int     `json:"possible_tokens"`
	} `json:"cache"`
}

// Preview is the request that would be sent next.
type Preview struct {
	SessionID parley.ID       `json:"session_id"`
	Model     parley.ModelID  `json:"model"`
	Policy    string          `json:"policy"`
	Request   json.RawMessage `json:"request"`
	Explanation
	Refused *string `json:"refused"` // why it would not be sent now
	Cache   struct {
		WithID parley.ID `json:"with_id"`
		Tokens int       `json:"tokens"`
		Share  float64   `json:"share"`
		Likely bool      `json:"likely"`
		Says   string    `json:"says"`
	} `json:"cache"`
	Cost struct {
		Input  *parley.Money `json:"input"`
		Cached *parley.Money `json:"input_cached"`
		Output *parley.Money `json:"output_most"`
		Tokens int           `json:"output_tokens_most"`
	} `json:"cost"`
}

// DryRun is a turn that was run without a trace.
type DryRun struct {
	Message  parley.Message   `json:"message"`
	Turn     parley.Turn      `json:"turn"`
	Messages []parley.Message `json:"messages"`
	Calls    []parley.Call    `json:"calls"`
}

// ReplayInput says how a recorded request is sent again.
type ReplayInput struct {
	Model parley.ModelID `json:"model,omitempty"`
	parley.Parameters
}

// Replayed is what came of a replay, beside the call that it repeats.
type Replayed struct {
	Call       parley.Call         `json:"call"`
	Answer     parley.ReplayAnswer `json:"answer"`
	Original   parley.Call         `json:"original"`
	SameBytes  bool                `json:"same_bytes"`
	OldAnswer  parley.ReplayAnswer `json:"original_answer"`
	SameAnswer bool                `json:"same_answer"`
}

// Context reads what a session's window holds now.
func (c *Client) Context(ctx context.Context, session parley.ID) (Preview, error) {
	return read[Preview](ctx, c, "/v1/sessions/"+session.String()+"/context", nil)
}

// Preview asks what would be sent for a message; nothing is written.
func (c *Client) Preview(ctx context.Context, session parley.ID, input MessageInput) (Preview, error) {
	return call[MessageInput, Preview](
		ctx,
		c,
		http.MethodPost,
		"/v1/sessions/"+session.String()+"/preview",
		nil,
		&input,
		nil,
	)
}

// DryRun has a message answered without anything being written; input.ToolResults
// answer for its tools. It returns when the turn has ended, so its time is ctx's.
func (c *Client) DryRun(ctx context.Context, session parley.ID, input MessageInput) (DryRun, error) {
	input.DryRun = true
	return lasting[MessageInput, DryRun](ctx, c, "/v1/sessions/"+session.String()+"/messages", &input)
}

// Replay sends a call's request again, to compare. Its time is ctx's.
func (c *Client) Replay(ctx context.Context, id parley.ID, input ReplayInput) (Replayed, error) {
	return lasting[ReplayInput, Replayed](ctx, c, "/v1/calls/"+id.String()+"/replay", &input)
}

// Call reads a call with its request, explained.
func (c *Client) Call(ctx context.Context, id parley.ID) (CallDetail, error) {
	return read[CallDetail](ctx, c, "/v1/calls/"+id.String(), nil)
}

// DiffCall compares a call's request with that of another one, or with the step
// before when with is zero.
func (c *Client) DiffCall(ctx context.Context, id, with parley.ID) (CallDiff, error) {
	query := url.Values{}
	if !with.IsZero() {
		query.Set("with", with.String())
	}
	return read[CallDiff](ctx, c, "/v1/calls/"+id.String()+"/diff", query)
}
