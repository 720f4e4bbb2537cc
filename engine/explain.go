package engine

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// CallDetail is a call with its request, rebuilt from the record and explained.
type CallDetail struct {
	parley.Call
	Explained
}

// Explained is the part of a CallDetail beside the call.
type Explained struct {
	System  string          `json:"system_prompt"`
	Tools   json.RawMessage `json:"tools" doc:"The definitions as they were sent."`
	Request json.RawMessage `json:"request" doc:"Null when it cannot be rebuilt."`
	Exact   bool            `json:"exact" doc:"Whether the rebuilt request has the hash of the one that was sent."`
	Reason  string          `json:"reason,omitempty" doc:"Why it is not exact."`
	Explanation
	// Knowledge names what the request was told from earlier work.
	Knowledge []parley.KnowledgeShown `json:"knowledge" doc:"What the system prompt tells from earlier work, with the messages that it comes from."`

	Attempts []Attempt       `json:"other_attempts" doc:"The other attempts at the same step, oldest first: retries, and what they cost."`
	Costs    *Costs          `json:"costs" doc:"Null while the model's price or the usage is unknown."`
	Limits   parley.Limits   `json:"limits" doc:"The session's limits, in effect now."`
	Replays  []parley.Replay `json:"replays" doc:"The replays of this call, newest first; for a replay, itself."`
}

// MarshalJSON is ExactJSON, for a detail inside another object.
func (d CallDetail) MarshalJSON() ([]byte, error) { return d.ExactJSON() }

// ExactJSON writes the call's fields and the rest in one object, null for absent fields, and the request byte for byte.
func (d CallDetail) ExactJSON() ([]byte, error) {
	call, err := d.Call.MarshalJSON()
	if err != nil {
		return nil, err
	}
	rest, err := parley.EncodeJSON(struct {
		*Explained
		Reason  *string      `json:"reason"`
		Request *writtenLast `json:"request,omitempty"`
	}{Explained: &d.Explained, Reason: parley.OrNull(d.Reason)})
	if err != nil {
		return nil, err
	}
	return withRequest(append(append(call[:len(call)-1], ','), rest[1:]...), d.Request), nil
}

// writtenLast holds, as nil, the place of a member that withRequest adds.
type writtenLast struct{}

// withRequest ends an object with a request as it was sent. encoding/json would remove the white space from a raw
// value, which some providers' tool calls contain and spans count.
func withRequest(object []byte, request json.RawMessage) []byte {
	if request == nil {
		request = json.RawMessage("null")
	}
	object = append(object[:len(object)-1], `,"request":`...)
	return append(append(object, request...), '}')
}

// Explanation is a request taken apart.
type Explanation struct {
	Parts           []prompt.Part    `json:"parts" doc:"What was sent, in the order in which providers read it; span says where in request."`
	Totals          []prompt.Total   `json:"totals" doc:"The parts by kind."`
	EstimatedTokens int              `json:"estimated_tokens" doc:"Of the whole request: the sum of its parts; the provider's own count once it is known."`
	LeftOut         []prompt.LeftOut `json:"left_out" doc:"The messages of the record up to this call that the model was not shown, and why."`
	Window          Window           `json:"window"`
}

// Window says how full a model's context is.
type Window struct {
	ContextLength *int     `json:"context_length" doc:"Tokens that the model can read; null when unknown."`
	MaxOutput     *int     `json:"max_output" doc:"Tokens of its longest answer; null when unknown."`
	Used          int      `json:"used" doc:"Tokens of the request: counted by the provider, else estimated."`
	Share         *float64 `json:"share" doc:"used divided by context_length."`
}

// Attempt is another attempt at the request of a call.
type Attempt struct {
	CallID       parley.ID          `json:"call_id"`
	Attempt      int                `json:"attempt"`
	Outcome      parley.CallOutcome `json:"outcome"`
	Error        *parley.Failure    `json:"error"`
	Cost         *parley.Money      `json:"cost"`
	CreatedAt    parley.Time        `json:"created_at"`
	FirstTokenMS *int64             `json:"first_token_ms"`
	TotalMS      *int64             `json:"total_ms"`
}

// Costs is the cost of a call's tokens, by today's prices.
type Costs struct {
	Price      model.Price  `json:"price" doc:"US dollars per million tokens, today's."`
	Input      parley.Money `json:"input" doc:"Input that was not in a cache."`
	Cached     parley.Money `json:"cached" doc:"Input from the provider's cache."`
	CacheWrite parley.Money `json:"cache_write" doc:"Input that the provider put into its cache."`
	Output     parley.Money `json:"output"`
	Saved      parley.Money `json:"saved" doc:"How much more the cached tokens would have cost."`
	Current    bool         `json:"current" doc:"Whether the sum is the recorded cost; false: prices have changed since."`
}

// explain fills in what is known of a call besides its request.
func (e *Engine) explain(ctx context.Context, scope store.Scope, detail *CallDetail, again *rebuilt) error {
	detail.Parts, detail.Totals, detail.EstimatedTokens = again.Parts, prompt.Sum(
		again.Parts,
	), prompt.Tokens(
		again.Parts,
	)
	var info model.Info
	if _, found, err := e.models.Resolve(detail.Model); err == nil { // a model that is gone has no window
		info = found
	}
	detail.Window = windowOf(info, detail.EstimatedTokens, detail.Usage)
	detail.Costs = costsOf(info.Price.Keeping(detail.Manifest.CacheTTL), detail.Usage, detail.Cost)
	if err := e.leftOut(ctx, scope, detail, again); err != nil {
		return err
	}
	if err := e.knowledgeOf(ctx, scope, detail); err != nil {
		return err
	}
	budget, err := e.limitsOf(ctx, scope, detail.SessionID)
	if err != nil {
		return err
	}
	detail.Limits = budget
	if detail.Replays, err = e.store.Replays(ctx, scope, detail.ID); err != nil {
		return err
	}
	return e.otherAttempts(ctx, scope, detail)
}

// knowledgeOf fills in the items of knowledge that a call was told.
func (e *Engine) knowledgeOf(ctx context.Context, scope store.Scope, detail *CallDetail) error {
	detail.Knowledge = []parley.KnowledgeShown{}
	if detail.Manifest.KnowledgeID.IsZero() {
		return nil
	}
	block, err := e.store.KnowledgeBlock(ctx, scope, detail.Manifest.KnowledgeID)
	switch {
	case err == nil:
		detail.Knowledge = block.Items
	case parley.ErrorCode(err) == parley.CodeNotFound: // of a dry run, which keeps none
		err = nil
	}
	return err
}

func windowOf(info model.Info, estimated int, usage parley.Usage) Window {
	w := Window{Used: estimated}
	if counted := usage.InputTokens; counted != nil && *counted > 0 { // 0: the response cache answered
		w.Used = int(*counted)
	}
	if info.ContextLength > 0 {
		share := math.Round(float64(w.Used)/float64(info.ContextLength)*10_000) / 10_000
		w.ContextLength, w.Share = &info.ContextLength, &share
	}
	if info.MaxOutput > 0 {
		w.MaxOutput = &info.MaxOutput
	}
	return w
}

// costsOf breaks a cost down; nil if price or usage is unknown.
func costsOf(price *model.Price, usage parley.Usage, recorded *parley.Money) *Costs {
	sum := price.Cost(usage)
	if sum == nil {
		return nil
	}
	tokens := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	cached := min(tokens(usage.CachedTokens), *usage.InputTokens)
	written := min(tokens(usage.CacheWriteTokens), *usage.InputTokens-cached)
	of := func(n int64, each float64) parley.Money { return parley.Money(1000*each*float64(n) + 0.5) }
	write := price.Input
	if price.CacheWrite != nil {
		write = *price.CacheWrite
	}
	return &Costs{
		Price: *price, Input: of(*usage.InputTokens-cached-written, price.Input), Cached: of(cached, price.CachedInput),
		CacheWrite: of(written, write), Output: of(*usage.OutputTokens, price.Output),
		Saved: of(cached, price.Input-price.CachedInput), Current: recorded != nil && *recorded == *sum,
	}
}

// leftOut lists the messages of the record before the call's own that the call was not shown.
func (e *Engine) leftOut(ctx context.Context, scope store.Scope, detail *CallDetail, again *rebuilt) error {
	upTo := int64(0)
	if n := len(again.read); n > 0 {
		upTo = again.read[n-1].Sequence
	}
	if !detail.MessageID.IsZero() {
		own, err := e.store.Message(ctx, scope, detail.MessageID)
		switch {
		case err == nil && own.Sequence > 0:
			upTo = max(upTo, own.Sequence-1)
		case err != nil && parley.ErrorCode(err) != parley.CodeNotFound:
			return err
		}
	}
	read, err := e.around(ctx, scope, detail.SessionID, detail.Manifest, again.read, upTo)
	detail.LeftOut = prompt.Omitted(detail.Manifest, read, upTo)
	return err
}

// widestGap is the longest run of messages between two that a manifest names for which the messages are read, to
// explain why each was left out. For longer runs, and for longer messages (skimmedMost), the reason is plain: the
// window does not reach them.
const widestGap = 256

// around adds to a manifest's messages, ascending, those that closely follow them, up to a sequence.
func (e *Engine) around(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	manifest parley.Manifest,
	read []parley.Message,
	upTo int64,
) ([]parley.Message, error) {
	read = slices.Clone(read)
	spans := prompt.Spans(manifest)
	for i := range spans {
		from, to := spans[i][1]+1, upTo
		if i+1 < len(spans) {
			to = min(to, spans[i+1][0]-1)
		}
		if from > to || to-from >= widestGap {
			continue
		}
		gap, whole, err := e.skimmed(ctx, scope, sessionID, from, to)
		if err != nil {
			return nil, err
		}
		if whole {
			read = append(read, gap...)
		}
	}
	sort.Slice(read, func(i, j int) bool { return read[i].Sequence < read[j].Sequence })
	return read, nil
}

// limitsOf returns the limits of a session in effect now: its own, else its agent's.
func (e *Engine) limitsOf(ctx context.Context, scope store.Scope, id parley.ID) (parley.Limits, error) {
	session, err := e.store.Session(ctx, scope, id)
	if err != nil {
		return parley.Limits{}, err
	}
	agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
	if err != nil {
		return parley.Limits{}, err
	}
	return parley.ValueOf(setting.Limits.Nearest(&agent.Settings, &session.Settings)), nil
}

// otherAttempts lists the other attempts of a call's step, oldest first.
func (e *Engine) otherAttempts(ctx context.Context, scope store.Scope, detail *CallDetail) error {
	detail.Attempts = []Attempt{}
	if detail.TurnID.IsZero() {
		return nil
	}
	calls, err := e.store.Calls(
		ctx,
		scope,
		detail.SessionID,
		store.CallQuery{TurnID: detail.TurnID, Ascending: true, Limit: parley.MaxPage},
	)
	if err != nil {
		return err
	}
	for i := range calls {
		c := &calls[i]
		if c.Step == detail.Step && c.ID != detail.ID {
			detail.Attempts = append(
				detail.Attempts,
				Attempt{c.ID, c.Attempt, c.Outcome, c.Error, c.Cost, c.CreatedAt, c.FirstTokenMS, c.TotalMS},
			)
		}
	}
	return nil
}
