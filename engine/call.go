package engine

import (
	"context"
	"log/slog"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/store"
)

// One way in. Every verb begins with enter, which checks whether the principal may use it, counts the call against the
// rate of its key, and notes what the audit will say about it. A request over HTTP is one Call, however many verbs it
// uses: httpapi begins and ends it. A program that calls a verb by itself gets a Call for that verb.
//
// A change is audited in its own transaction: the intent travels in the context, where the store finds it
// (store.AuditIntent). A call that only reads, or turns out to change nothing, goes to the AuditLog when it ends.

// Caller says who uses the engine, and for what.
type Caller struct {
	Principal parley.Principal
	RequestID parley.ID // zero: the call gets an id of its own
	Action    string    // its name in the audit: an operationId of the API
}

// Call is one use of the engine: a request, or a verb called by a program. It belongs to one goroutine.
type Call struct {
	Caller
	engine *Engine
	intent *store.AuditIntent
	over   atomic.Bool // its entry is written, or it leaves none
	dry    bool
}

type callKey struct{}

// Begin admits a caller; it returns CodeRateLimited if its key is used too often. Verbs called with the returned
// context belong to the call; End ends it.
func (e *Engine) Begin(ctx context.Context, caller Caller) (context.Context, *Call, error) {
	if err := e.admit(ctx, caller.Principal); err != nil {
		return ctx, nil, err
	}
	if caller.RequestID.IsZero() {
		caller.RequestID = parley.NewID()
	}
	call := &Call{Caller: caller, engine: e, intent: store.NewAuditIntent(parley.AuditEntry{
		WorkspaceID:   caller.Principal.WorkspaceID,
		PrincipalID:   caller.Principal.ID,
		PrincipalName: caller.Principal.Name,
		Action:        caller.Action,
		RequestID:     caller.RequestID,
	})}
	return store.WithAudit(context.WithValue(ctx, callKey{}, call), call.intent), call, nil
}

// End writes the entry of a call that was answered, unless a change has already written it. Do not call it for a
// refused call, which leaves no entry. A nil Call has no entry.
func (c *Call) End(ctx context.Context) {
	if c == nil || c.over.Swap(true) {
		return
	}
	for _, entry := range c.intent.Entries(parley.ID{}, parley.ID{}) {
		switch {
		case c.dry:
			c.engine.log.LogAttrs(
				ctx,
				slog.LevelInfo,
				"dry run",
				slog.String("action", entry.Action),
				slog.String("principal_id", entry.PrincipalID.String()),
				slog.String(
					"principal",
					entry.PrincipalName,
				),
				slog.String("session_id", entry.SessionID.String()),
				slog.String("request_id", entry.RequestID.String()),
			)
		case c.engine.audit != nil:
			c.engine.audit.record(ctx, entry)
		}
	}
}

// record writes the call's entry now: for a change outside the store, which must not happen without its entry.
func (c *Call) record(ctx context.Context) error {
	entries := c.intent.Entries(parley.ID{}, parley.ID{})
	if len(entries) == 0 {
		return nil
	}
	if err := c.engine.store.AppendAudit(ctx, entries); err != nil {
		return err
	}
	c.intent.Wrote()
	return nil
}

// Unaudited drops the entry that End would write: the call concerns nobody's data, or was written before.
func (c *Call) Unaudited() { c.over.Store(true) }

// Sessions returns the sessions that the call is known to concern so far. A nil Call has none.
func (c *Call) Sessions() []parley.ID {
	if c == nil {
		return nil
	}
	return c.intent.Sessions()
}

// Idempotency makes a creation safe to repeat: it returns the key, and the fingerprint of who asks for what. target is
// the resource in the request's path.
func (c *Call) Idempotency(key, target string, body []byte) store.Idempotency {
	fingerprinted := make([]byte, 0, len(c.Action)+len(target)+len(body)+64)
	fingerprinted = append(append(fingerprinted, c.Action...), 0)
	fingerprinted = append(append(fingerprinted, target...), 0)
	fingerprinted = c.Principal.ID.AppendText(fingerprinted)
	fingerprinted = append(append(fingerprinted, 0), body...)
	return store.Idempotency{Key: key, Fingerprint: parley.HashOf(fingerprinted)}
}

// concern names something that a call is about.
type concern struct{ session, target parley.ID }

// of is about a session; on, about a row whose session is unknown; in, about a row in a session.
func of(session parley.ID) concern         { return concern{session: session} }
func on(target parley.ID) concern          { return concern{target: target} }
func in(session, target parley.ID) concern { return concern{session, target} }

// verbCall is one verb's part of a Call.
type verbCall struct {
	*Call
	Scope store.Scope // what the principal sees
	whole bool        // the call consists of this verb only
}

// enter begins every verb. action is its name in the audit if no call has begun yet: the operationId of the equivalent
// route.
func (e *Engine) enter(
	ctx context.Context,
	principal parley.Principal,
	action string,
	verb Verb,
	about ...concern,
) (context.Context, verbCall, error) {
	scope, err := authorise(principal, verb)
	if err != nil {
		return ctx, verbCall{}, err
	}
	call, _ := ctx.Value(callKey{}).(*Call)
	whole := call == nil || call.Principal.ID != principal.ID || call.Principal.WorkspaceID != principal.WorkspaceID
	if whole {
		caller := Caller{Principal: principal, Action: action}
		if call != nil { // somebody else's request, perhaps in another workspace
			caller.RequestID = call.RequestID
		}
		if ctx, call, err = e.Begin(ctx, caller); err != nil {
			return ctx, verbCall{}, err
		}
	}
	v := verbCall{call, scope, whole}
	for _, c := range about {
		v.about(c)
	}
	return ctx, v, nil
}

// enterUnaudited begins a verb that reveals nobody's data. It is admitted and counted like any other; if the call
// consists of this verb only, it leaves no entry.
func (e *Engine) enterUnaudited(ctx context.Context, principal parley.Principal, verb Verb) error {
	_, _, err := e.enter(ctx, principal, "", verb)
	return err
}

// about notes what the call is about, once known.
func (v verbCall) about(c concern) { v.intent.About(c.session, c.target) }

// opened notes the session that was created or found, and the message posted there.
func (v verbCall) opened(opened *store.Opened, err error) {
	switch {
	case err != nil:
	case opened.Posted != nil:
		v.intent.About(opened.Session.ID, opened.Posted.Message.ID)
	default:
		v.intent.About(opened.Session.ID, parley.ID{})
	}
}

// runsDry makes the rest of the call leave no trace but a line in the log.
func (v verbCall) runsDry(ctx context.Context) context.Context {
	v.dry = true
	return store.WithAudit(ctx, nil)
}

// end ends the call if it consists of this verb only and was not refused.
func (v verbCall) end(ctx context.Context, err *error) {
	if v.whole && *err == nil {
		v.End(ctx)
	}
}
