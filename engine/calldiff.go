package engine

import (
	"context"
	"fmt"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// CallDiff shows how a call's request differs from an earlier one's, and what that means for the provider's cache.
type CallDiff struct {
	CallID      parley.ID `json:"call_id"`
	SessionID   parley.ID `json:"session_id"`
	WithID      parley.ID `json:"with_id" doc:"The call that it is compared with; null when it is the session's first."`
	Exact       bool      `json:"exact" doc:"Whether both requests were rebuilt to the bytes that were sent."`
	SecondsPast *float64  `json:"seconds_past" doc:"Seconds between the two calls: a provider's cache forgets after minutes."`
	prompt.Difference
	Cache CacheNews `json:"cache"`
}

// CacheNews says what a difference means for the provider's cache.
type CacheNews struct {
	Reason         *string   `json:"reason" enum:"first_call,model,tools,system_prompt,parameters,summary,window,marks,messages,appended,wire" doc:"The change that ends the shared prefix; null when there is none."`
	Says           string    `json:"says" doc:"For people."`
	CachedTokens   *int64    `json:"cached_tokens" doc:"What the provider reported; null when it did not say."`
	PossibleTokens int       `json:"possible_tokens" doc:"The most that it could have held: an estimate of the longest prefix that the request shares with one of the calls before it."`
	PossibleWithID parley.ID `json:"possible_with_id" doc:"The call that it shares this prefix with; null when there is none."`
}

// firstCall is the reason given for a session's first call.
const firstCall = "first_call"

// previousPage is how many calls are read at a time to find the previous one.
const previousPage = 20

// DiffCall compares a call's request with an earlier one's; by default, with that of the session's previous step.
func (e *Engine) DiffCall(ctx context.Context, principal parley.Principal, id, with parley.ID) (_ CallDiff, err error) {
	ctx, entered, err := e.enter(ctx, principal, "diffCall", ReadSessions, on(id))
	if err != nil {
		return CallDiff{}, err
	}
	defer entered.end(ctx, &err)
	scope := entered.Scope
	leave, err := e.looks.enter(principal)
	if err != nil {
		return CallDiff{}, err
	}
	defer leave()
	ctx, done := e.reads(ctx, scope)
	defer done()
	call, err := e.store.Call(ctx, scope, id)
	if err != nil {
		return CallDiff{}, err
	}
	entered.about(in(call.SessionID, id))
	var earlier *parley.Call
	var others []parley.Call // that the provider's cache may know, the newest first
	if with.IsZero() {
		// Attempts at one step send the same bytes.
		others, err = e.stepCalls(
			ctx,
			scope,
			call.SessionID,
			id,
			comparedCalls,
			func(c *parley.Call) bool { return c.TurnID != call.TurnID || c.Step != call.Step },
		)
		if len(others) > 0 && others[0].SessionID == call.SessionID {
			earlier = &others[0]
		}
	} else {
		var named parley.Call
		named, err = e.store.Call(ctx, scope, with)
		earlier = &named
	}
	if err != nil {
		return CallDiff{}, err
	}
	after, err := e.comparable(ctx, scope, call)
	if err != nil {
		return CallDiff{}, err
	}
	diff := CallDiff{CallID: id, SessionID: call.SessionID, Exact: parley.HashOf(after.Encoded) == call.RequestHash}
	diff.Cache.CachedTokens = call.Usage.CachedTokens
	if earlier == nil {
		diff.Changes = []prompt.Change{}
		diff.Shared.OfTokens = prompt.Tokens(after.Parts)
		diff.Cache.Reason = new(firstCall)
		diff.Cache.Says = "This is the first call of the session: there is no earlier request that a cache " +
			"could hold."
		if call.Attempt > 1 {
			diff.Cache.Says = "Nothing changed: the attempts at this step sent the same bytes, and no earlier step " +
				"of the session called a model."
		}
		session, err := e.store.Session(ctx, scope, call.SessionID)
		if err == nil && session.ForkedThrough != nil {
			diff.Cache.Says = "This is the fork's first call. The conversation that it was forked from begins alike, " +
				"so its requests may stand in the provider's cache: compare it with one of their calls by ?with=."
		}
		if err != nil || len(others) == 0 {
			return diff, err
		}
		return diff, diff.widen(ctx, e, scope, &call, others, &after.Sent)
	}
	before, err := e.comparable(ctx, scope, *earlier)
	if err != nil {
		return CallDiff{}, err
	}
	diff.WithID = earlier.ID
	diff.Exact = diff.Exact && parley.HashOf(before.Encoded) == earlier.RequestHash
	diff.SecondsPast = new(call.CreatedAt.Std().Sub(earlier.CreatedAt.Std()).Seconds())
	diff.Difference = prompt.Compare(&before.Sent, &after.Sent)
	diff.news(&call, earlier.Manifest.CacheTTL)
	if len(others) > 1 {
		err = diff.widen(ctx, e, scope, &call, others[1:], &after.Sent)
	}
	return diff, err
}

// widen looks for an earlier call that shares more with a request than the one that it was compared with: a provider's
// cache knows them all.
func (d *CallDiff) widen(
	ctx context.Context,
	e *Engine,
	scope store.Scope,
	call *parley.Call,
	others []parley.Call,
	sent *prompt.Sent,
) error {
	best, difference, err := e.nearest(ctx, scope, others, sent)
	if err != nil || best == nil || difference.Shared.Tokens <= d.Shared.Tokens {
		return err
	}
	possible, all := difference.Shared.Tokens, difference.Shared.OfTokens
	if counted := call.Usage.InputTokens; counted != nil && all > 0 {
		possible, all = int(int64(possible)**counted/int64(all)), int(*counted)
	}
	d.Cache.PossibleTokens, d.Cache.PossibleWithID = possible, best.ID
	d.Cache.Says += fmt.Sprintf(
		" With the earlier call %s it shares more: about %d of %d tokens.",
		best.ID,
		possible,
		all,
	)
	return nil
}

// comparedCalls is how many earlier calls are compared with a request to predict what a provider's cache holds.
const comparedCalls = 4

// everyCall selects all calls.
func everyCall(*parley.Call) bool { return true }

// nearest returns the call whose request shares the longest beginning with another request, of equals the first; nil
// if none can be made again.
func (e *Engine) nearest(
	ctx context.Context,
	scope store.Scope,
	calls []parley.Call,
	sent *prompt.Sent,
) (best *parley.Call, shared prompt.Difference, err error) {
	for i := range calls {
		_, before, err := e.reconstruct(ctx, scope, calls[i])
		switch {
		case parley.ErrorCode(err) == parley.CodeRateLimited && best != nil: // no room to read more: this will do
			return best, shared, nil
		case err != nil:
			return nil, prompt.Difference{}, err
		case before.Encoded == nil:
			continue
		}
		if difference := prompt.Compare(&before.Sent, sent); best == nil ||
			difference.Shared.Tokens > shared.Shared.Tokens {
			best, shared = &calls[i], difference
		}
	}
	return best, shared, nil
}

// comparable rebuilds a call's request. It returns CodeConflict if that is not possible.
func (e *Engine) comparable(ctx context.Context, scope store.Scope, call parley.Call) (*rebuilt, error) {
	detail, again, err := e.reconstruct(ctx, scope, call)
	if err == nil && again.Encoded == nil {
		err = parley.Errorf(parley.CodeConflict, "Call %s cannot be compared. %s", call.ID, detail.Reason)
	}
	return again, err
}

// stepCalls returns up to most matching calls of turns' steps before another call (zero: of all calls), the newest
// first; those of a fork are followed by those of the conversation that it was forked from.
func (e *Engine) stepCalls(
	ctx context.Context,
	scope store.Scope,
	sessionID, before parley.ID,
	most int,
	fits func(*parley.Call) bool,
) (calls []parley.Call, err error) {
	for forks := range comparedLogs {
		for after := before; ; {
			page, err := e.store.Calls(ctx, scope, sessionID, store.CallQuery{AfterID: after, Limit: previousPage})
			if parley.ErrorCode(err) == parley.CodeNotFound && forks > 0 {
				return calls, nil // the conversation that it was forked from is not the caller's to read
			} else if err != nil {
				return nil, err
			}
			for i := range page {
				if page[i].Purpose == parley.PurposeStep && fits(&page[i]) {
					if calls = append(calls, page[i]); len(calls) == most {
						return calls, nil
					}
				}
			}
			if len(page) == 0 { // a page of large calls is shorter than requested
				break
			}
			after = page[len(page)-1].ID
		}
		session, err := e.store.Session(ctx, scope, sessionID)
		if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
			return nil, err
		}
		if session.ForkedThrough == nil { // or it is gone
			return calls, nil
		}
		sessionID, before = session.ParentSessionID, parley.ID{}
	}
	return calls, nil
}

// comparedLogs bounds how many forks deep earlier calls are looked for.
const comparedLogs = 4

// news says what the difference means for the provider's cache, which was asked to keep the earlier request for a time.
func (d *CallDiff) news(call *parley.Call, kept parley.CacheTTL) {
	possible, all := d.Shared.Tokens, d.Shared.OfTokens
	if counted := call.Usage.InputTokens; counted != nil && all > 0 { // use the provider's own count beside its report
		possible, all = int(int64(possible)**counted/int64(all)), int(*counted)
	}
	d.Cache.PossibleTokens, d.Cache.PossibleWithID = possible, d.WithID
	shared := fmt.Sprintf("about %d of %d tokens", possible, all)
	reported := "The provider did not say how many tokens its cache held."
	if cached := call.Usage.CachedTokens; cached != nil {
		reported = fmt.Sprintf("The provider took %d tokens from its cache.", *cached)
	}
	if d.Identical {
		d.Cache.Says = "The request is byte-identical: a provider's cache can hold all of it. " + reported
		return
	}
	if breaks := d.Breaks(); breaks != nil {
		d.Cache.Reason = new(string(breaks.Cause))
		d.Cache.Says = fmt.Sprintf(
			"%s A provider's cache can hold %s, from the front up to there. %s",
			breaks.Says,
			shared,
			reported,
		)
		return
	}
	d.Cache.Says = fmt.Sprintf(
		"Nothing before the new messages changed: a provider's cache can hold %s. %s",
		shared,
		reported,
	)
	if d.SecondsPast != nil && *d.SecondsPast > kept.Duration().Seconds() {
		d.Cache.Says += fmt.Sprintf(
			" The earlier call was %d minutes before this one; most providers forget sooner.",
			int(*d.SecondsPast/60),
		)
	}
}
