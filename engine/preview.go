package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// Preview is the request that would be sent next. It writes nothing.
type Preview struct {
	SessionID parley.ID       `json:"session_id"`
	Model     parley.ModelID  `json:"model"`
	Policy    string          `json:"policy" doc:"The context policy that chose the messages."`
	Request   json.RawMessage `json:"request" doc:"As it would be sent; null if there is nothing to send, and in a brief answer."`
	Explanation
	Refused *string        `json:"refused" doc:"The limit that would prevent sending it now; null if none would."`
	Cache   PredictedCache `json:"cache"`
	Cost    PredictedCost  `json:"cost"`
	Change  *ChangeCost    `json:"change" doc:"What the change costs that was asked about; null without one."`
	// Outlook is nil for policies whose windows never grow.
	Outlook *parley.Outlook `json:"outlook" doc:"When the window will be shortened, and what leaves it first; null if it never grows."`
}

// Brief returns the preview without its request and the parts of that, which are as long as the window.
func (p Preview) Brief() Preview {
	p.Request, p.Parts = nil, []prompt.Part{}
	return p
}

// ExactJSON writes a preview with its request byte for byte.
func (p Preview) ExactJSON() ([]byte, error) {
	type plain Preview
	rest, err := parley.EncodeJSON(struct {
		*plain
		Request *writtenLast `json:"request,omitempty"`
	}{plain: (*plain)(&p)})
	if err != nil {
		return nil, err
	}
	return withRequest(rest, p.Request), nil
}

// PredictedCache says how much of a request the provider's cache may hold.
type PredictedCache struct {
	WithID parley.ID `json:"with_id" doc:"The recent call, of this conversation or the one that it was forked from, whose beginning it would share most of; null before the first."`
	Tokens int       `json:"tokens" doc:"An estimate of the shared beginning."`
	Share  float64   `json:"share" doc:"tokens divided by the request's tokens."`
	Likely bool      `json:"likely" doc:"Whether the model's provider caches and the last call is recent."`
	Says   string    `json:"says" doc:"For people."`
}

// PredictedCost is the cost that a request would have; null if the model's price is unknown.
type PredictedCost struct {
	Input  *parley.Money `json:"input" doc:"If nothing were cached."`
	Cached *parley.Money `json:"input_cached" doc:"If everything that may be cached were."`
	Output *parley.Money `json:"output_most" doc:"For the longest possible answer."`
	Tokens int           `json:"output_tokens_most"`
}

// Preview returns what would be sent for a message now, by the path that a post takes; or what would be sent after a
// change, and what the change costs.
func (e *Engine) Preview(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input PreviewInput,
) (Preview, error) {
	return e.look(
		ctx,
		principal,
		"previewMessage",
		sessionID,
		func(ctx context.Context, scope store.Scope, of *runner.DryTurn) (Preview, error) {
			if input.Change != nil {
				return e.previewChange(ctx, scope, principal, of, input)
			}
			if err := e.dryTurn(ctx, scope, principal, of, input.MessageInput); err != nil {
				return Preview{}, err
			}
			return e.preview(ctx, scope, *of)
		},
	)
}

// Context returns what the session's window holds now, before any further message.
func (e *Engine) Context(ctx context.Context, principal parley.Principal, sessionID parley.ID) (Preview, error) {
	return e.look(
		ctx,
		principal,
		"getContext",
		sessionID,
		func(ctx context.Context, scope store.Scope, of *runner.DryTurn) (Preview, error) {
			if err := e.emptyTurn(ctx, scope, of); err != nil {
				return Preview{}, err
			}
			return e.preview(ctx, scope, *of)
		},
	)
}

// emptyTurn completes a turn without a message, of which only the request can be shown.
func (e *Engine) emptyTurn(ctx context.Context, scope store.Scope, of *runner.DryTurn) (err error) {
	if e.dry == nil {
		return parley.Errorf(
			parley.CodeUnavailable,
			"This process runs no turns, so it shows no context. Ask one that does.",
		)
	}
	of.Agent, err = e.store.Agent(ctx, scope.WorkspaceID, of.Session.AgentID.String())
	return err
}

// look shows turns of a session, if there is room for another preview.
func (e *Engine) look(
	ctx context.Context, principal parley.Principal, action string, sessionID parley.ID,
	show func(context.Context, store.Scope, *runner.DryTurn) (Preview, error),
) (_ Preview, err error) {
	ctx, call, err := e.enter(ctx, principal, action, ReadSessions, of(sessionID))
	if err != nil {
		return Preview{}, err
	}
	defer call.end(ctx, &err)
	leave, err := e.looks.enter(principal)
	if err != nil {
		return Preview{}, err
	}
	defer leave()
	ctx, done := e.reads(ctx, call.Scope)
	defer done()
	turn := runner.DryTurn{}
	if turn.Session, err = e.store.Session(ctx, call.Scope, sessionID); err != nil {
		return Preview{}, err
	}
	return show(ctx, call.Scope, &turn)
}

func (e *Engine) preview(ctx context.Context, scope store.Scope, of runner.DryTurn) (Preview, error) {
	q, err := e.dry.Preview(ctx, of)
	if err != nil {
		return Preview{}, err
	}
	if err := countRead(ctx, len(q.Encoded)); err != nil {
		return Preview{}, err
	}
	sent := prompt.Sent{Request: q.Request, Encoded: q.Encoded, Manifest: q.Call.Manifest, Shown: q.Shown}
	sent.Parts = prompt.Parts(&q.Request, q.Encoded, q.Call.Manifest, q.Shown)
	prompt.Fit(sent.Parts, q.Tokens) // the provider's expected count, as far as known
	p := Preview{
		SessionID: of.Session.ID,
		Model:     q.Call.Model,
		Policy:    q.Call.Manifest.Policy,
		Refused:   parley.OrNull(q.Refused),
		Outlook:   q.Outlook,
	}
	if json.Valid(q.Encoded) {
		p.Request = q.Encoded
	}
	p.Parts, p.Totals, p.EstimatedTokens = sent.Parts, prompt.Sum(sent.Parts), prompt.Tokens(sent.Parts)
	if p.Parts == nil {
		p.Parts = []prompt.Part{}
	}
	p.Window = windowOf(q.Info, p.EstimatedTokens, parley.Usage{})
	read, err := e.manifestMessages(ctx, scope, parley.Call{SessionID: of.Session.ID, Manifest: q.Call.Manifest})
	if err == nil {
		read, err = e.around(ctx, scope, of.Session.ID, q.Call.Manifest, read, of.Session.LastSequence)
	}
	if err != nil {
		return Preview{}, err
	}
	p.LeftOut = prompt.Omitted(q.Call.Manifest, read, of.Session.LastSequence)
	if of.Session.Context.Cleared && of.Message.ID.IsZero() {
		for i := range p.LeftOut {
			p.LeftOut[i].Reason = "cleared: the window begins with the next message"
		}
	}
	if p.Cache, err = e.predictCache(ctx, scope, of.Session.ID, &q, &sent); err != nil {
		return Preview{}, err
	}
	p.Cost = predictCost(&q, p.EstimatedTokens, p.Cache.Tokens)
	return p, nil
}

// predictCache compares a request with the session's last ones, and tells of the one that shares most.
func (e *Engine) predictCache(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	q *runner.Previewed,
	sent *prompt.Sent,
) (PredictedCache, error) {
	earlier, err := e.stepCalls(ctx, scope, sessionID, parley.ID{}, comparedCalls, everyCall)
	if err != nil || len(earlier) == 0 {
		return PredictedCache{Says: "The session has made no call yet, so no cache holds any of it."}, err
	}
	last, difference, err := e.nearest(ctx, scope, earlier, sent)
	if err != nil || last == nil {
		return PredictedCache{
			WithID: earlier[0].ID,
			Says:   "The last calls' requests cannot be made again, so nothing is known of what a cache holds.",
		}, err
	}
	c := PredictedCache{WithID: last.ID, Tokens: difference.Shared.Tokens}
	if all := difference.Shared.OfTokens; all > 0 {
		c.Share = float64(c.Tokens) / float64(all)
	}
	recent := time.Since(last.CreatedAt.Std()) < last.Manifest.CacheTTL.Duration()
	c.Likely = q.Info.Caching && recent && c.Tokens > 0
	c.Says = fmt.Sprintf(
		"About %d of %d tokens are the front of %s request.",
		c.Tokens,
		difference.Shared.OfTokens,
		whose(last, &earlier[0]),
	)
	switch breaks := difference.Breaks(); {
	case breaks != nil:
		c.Says = breaks.Says + " " + c.Says
	case !q.Info.Caching:
		c.Says += " The model's provider is not known to cache."
	case !recent:
		c.Says += " The last call was long ago; most providers forget sooner."
	}
	return c, nil
}

// whose names the call whose request a prediction is about.
func whose(call, last *parley.Call) string {
	if call.ID == last.ID {
		return "the last call's"
	}
	return "an earlier call's"
}

// predictCost prices a request that was not sent.
func predictCost(q *runner.Previewed, input, cached int) PredictedCost {
	cost := PredictedCost{Tokens: q.Output}
	price := q.Info.Price
	if price == nil {
		return cost
	}
	of := func(in, held, out int64) *parley.Money {
		usage := parley.Usage{InputTokens: &in, OutputTokens: &out, CachedTokens: &held}
		if written := in - held; q.Call.Manifest.CacheKey != "" {
			usage.CacheWriteTokens = &written // at its own price, if the provider has one
		}
		return price.Cost(usage)
	}
	cost.Input, cost.Output = of(int64(input), 0, 0), of(0, 0, int64(q.Output))
	cost.Cached = of(int64(input), int64(min(cached, input)), 0)
	return cost
}
