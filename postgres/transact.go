package postgres

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// A transition of a session is optimistic: its head comes from memory, the core computes, and one batch writes
// everything, provided that the head's revision is unchanged and the other assumptions hold. If not, rows are read and
// the transition is computed again. A result that writes nothing (a refusal, a repeat) is confirmed in the same way
// before the caller gets it.

// maxTries bounds how often a transition is computed again because other processes changed its session meanwhile.
const maxTries = 20

// exactTries is how many attempts read everything before one locks the session first; otherwise a busy writer could
// keep all others out.
const exactTries = 2

// maxViolations bounds how often a unique index may refuse what was computed from rows that do not contradict it: then
// an id was used twice.
const maxViolations = 3

// care is how much an attempt relies on memory.
type care int

const (
	remembered care = iota // use what is cached, for the database to confirm
	exact                  // read everything
	locked                 // lock the session first
)

// sentOff is an attempt whose connection broke before its result arrived.
type sentOff struct {
	attempt *attempt
	commits []store.Commit
}

// transact runs a transition of a workspace's session until it is committed or refused. An attempt with a lost result
// is looked up in the rows before another one, so nothing is done twice.
func transact[T any](ctx context.Context, s *Store, workspaceID parley.ID, run func(a *attempt) (T, error)) (T, error) {
	return transactWith(ctx, s, workspaceID, remembered, run)
}

// transactLocked is transact for a rare transition that locks what it reads: each attempt is one open transaction.
func transactLocked[T any](
	ctx context.Context,
	s *Store,
	workspaceID parley.ID,
	run func(a *attempt) (T, error),
) (T, error) {
	return transactWith(ctx, s, workspaceID, locked, run)
}

// transactWith only knows the answer's type: what it calls is compiled once, not for each of fifty types.
func transactWith[T any](
	ctx context.Context,
	s *Store,
	workspaceID parley.ID,
	least care,
	run func(a *attempt) (T, error),
) (answer T, err error) {
	valid, err := s.attempts(ctx, workspaceID, least, func(a *attempt) error {
		answer, err := run(a)
		a.answer = answer
		return err
	})
	if valid != nil {
		answer, _ = valid.answer.(T)
	}
	return answer, mapError(err)
}

// attempts returns the attempt whose answer is valid, nil if there is none.
func (s *Store) attempts(
	ctx context.Context,
	workspaceID parley.ID,
	least care,
	run func(a *attempt) error,
) (*attempt, error) {
	lanes := &held{cache: s.heads}
	defer lanes.leave()
	var sent []sentOff
	var again retry
	for care := least; ; {
		a := newAttempt(ctx, s, workspaceID, lanes, care)
		commits, err, failed := a.try(run)
		if failure(err) {
			if a.talk == nil { // otherwise its transaction broke with the connection
				return nil, outcome(err, len(sent))
			}
			failed = err
		}
		switch {
		case failed == nil && err == nil && (a.wrote || len(sent) == 0):
			a.settle(commits)
			if a.wrote {
				a.audit.Wrote()
			}
			s.tell(commits)
			return a, nil
		case failed == nil && len(sent) == 0:
			return nil, err
		case a.wrote && unknown(failed):
			sent = append(sent, sentOff{a, commits})
		}
		if off, err := resolved(ctx, sent); err != nil {
			return nil, outcome(err, len(sent))
		} else if off != nil {
			a.audit.Wrote()
			s.tell(off.commits)
			return off.attempt, nil
		}
		if failed == nil {
			return a, err
		}
		if care, err = again.after(ctx, failed); err != nil {
			return nil, outcome(err, len(sent))
		}
		care = max(care, least)
	}
}

// try makes one attempt: err is the core's refusal, failed is why the result does not count.
func (a *attempt) try(run func(a *attempt) error) (commits []store.Commit, err, failed error) {
	once := func() error {
		if err = run(a); failure(err) {
			return err
		}
		var failed error
		if err == nil {
			commits = a.tx.Finish()
			failed = a.write()
		}
		if !a.wrote && failed == nil {
			failed = a.confirm()
		}
		return failed
	}
	if a.care != locked {
		failed = once()
		return commits, err, failed
	}
	failed = a.store.together(a.ctx, func(t *conversation) error {
		a.talk = t
		return once()
	})
	return commits, err, failed
}

// outcome returns the error of a call with an attempt that may have been committed.
func outcome(err error, sent int) error {
	if sent == 0 {
		return err
	}
	return parley.WrapError(
		parley.CodeUnavailable,
		err,
		"the connection to the database broke while this was written; look whether it was, and try again if not",
	)
}

// resolved looks for an attempt that was committed after all.
func resolved(ctx context.Context, sent []sentOff) (*sentOff, error) {
	for i := range sent {
		if committed, err := sent[i].attempt.committed(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		} else if committed {
			return &sent[i], nil
		}
	}
	return nil, nil
}

// failure reports an error that is not a refusal of the core.
func failure(err error) bool {
	var refusal *parley.Error
	return err != nil &&
		(!errors.As(err, &refusal) || refusal.Code == parley.CodeUnavailable || refusal.Code == parley.CodeStorageFull)
}

func newAttempt(ctx context.Context, s *Store, workspaceID parley.ID, lanes *held, care care) *attempt {
	a := &attempt{
		store:     s,
		ctx:       ctx,
		workspace: workspaceID,
		held:      lanes,
		care:      care,
		exact:     care != remembered,
		tx:        transition.New(s.log),
		agents:    map[parley.ID]int{},
		audit:     store.AuditFrom(ctx),
	}
	a.tx.Begin(a, s.clock.Now())
	return a
}

// retry decides what follows a failed attempt.
type retry struct {
	tries  int           // attempts lost to faster processes
	broken time.Time     // when the connection first broke
	pause  time.Duration // before the next attempt; none at first
}

// after waits as needed and says how careful the next attempt must be. It returns an error that another attempt cannot
// fix.
func (r *retry) after(ctx context.Context, failed error) (next care, err error) {
	state := stateOf(failed)
	switch {
	case violated(failed) != "" && r.tries >= maxViolations:
		return exact, failed
	case state == stateStale,
		state == stateLeaseGone,
		violated(failed) != "",
		contended(failed),
		errors.Is(failed, errGuessed):
		if r.tries++; r.tries >= maxTries {
			return exact, parley.WrapError(
				parley.CodeUnavailable,
				failed,
				"too many changed this session at once; try again",
			)
		}
		if r.tries <= exactTries {
			return exact, nil
		}
		return locked, nil
	case unsent(failed), unknown(failed):
		if r.broken.IsZero() {
			r.broken, r.pause = time.Now(), firstPause
			return exact, nil
		}
		if time.Since(r.broken) > patience {
			return exact, failed
		}
		err = sleep(ctx, r.pause/2+rand.N(r.pause/2)) //nolint:gosec // spreads load; no secret
		r.pause = min(2*r.pause, longestPause)
		return exact, err
	}
	return exact, failed
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle caches what a committed attempt has learned, and keeps the errands that it has reserved.
func (a *attempt) settle(commits []store.Commit) {
	a.store.outbox.keep(a.reserved)
	if len(a.extra) > 0 && a.known == nil { // may have left errands too
		a.store.outbox.noteDue()
	}
	for i := range commits {
		commits[i].Reserved = slices.Contains(a.own, commits[i].SessionID)
	}
	for _, h := range a.tx.Locked() {
		a.store.texts.add(h.WorkspaceID, h.Changes.NewCalls)
		if h.Changes.Any() {
			h.Revision++
		}
		created := h.Changes.New != nil
		h.Changes = transition.Changes{}
		if h.DeletedAt == 0 && (created || a.mine(h)) {
			a.store.heads.put(h)
		}
	}
}

// mine reports whether a head was read in a lane of ours.
func (a *attempt) mine(h *transition.Head) bool {
	for _, l := range a.heads {
		if l.Head == h {
			return l.mine
		}
	}
	return false
}

// confirm asks the database whether the basis of an outcome that writes nothing still holds. An outcome read on one
// snapshot needs no confirmation.
func (a *attempt) confirm() error {
	if a.talk != nil { // nothing could change: end the transaction
		return a.talk.end()
	}
	if a.blind {
		return errGuessed
	}
	if !a.guessed && a.reads <= 1 {
		return nil
	}
	b := tenant(a.workspace)
	for _, l := range a.heads {
		b.unmoved(l.Head)
	}
	b.guards(a)
	if len(b.statements) == 0 {
		return nil
	}
	return a.store.send(a.ctx, b)
}

// errGuessed forces another attempt that reads everything, because only a write would have checked an assumption.
var errGuessed = errors.New("postgres: an outcome was guessed")

// committed looks for an attempt's traces in the rows: its last event or, without events, the session in the state that
// the attempt would have left.
func (a *attempt) committed(ctx context.Context) (found bool, err error) {
	for _, h := range a.tx.Locked() {
		if !h.Changes.Any() {
			continue
		}
		if n := len(h.Changes.Events); n > 0 {
			return a.hasEvent(ctx, h, &h.Changes.Events[n-1])
		}
		return a.hasLeft(ctx, h)
	}
	return false, nil
}

// hasLeft reports whether a session is as an attempt without events left it. The next revision alone does not tell
// whose it is.
func (a *attempt) hasLeft(ctx context.Context, h *transition.Head) (found bool, err error) {
	var now *transition.Head
	opened, appended := 0, h.Changes.OutsideGrown == nil || h.Changes.OutsideGrown.Version.Text == ""
	if err := a.store.read(ctx, func() *batch {
		now, opened = nil, 0
		b := tenant(a.workspace)
		b.read(
			"SELECT "+headColumns+sessionTables+"WHERE h.session_id = $1 AND h.workspace_id = $2",
			func(r *row) (err error) {
				now, err = scanHead(r)
				return err
			},
			h.ID,
			h.WorkspaceID,
		)
		for _, c := range h.Changes.Opened {
			b.read(
				"SELECT 1 FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3 "+
					"AND session_id = $4 AND updated_at = $5",
				func(*row) error {
					opened++
					return nil
				},
				h.WorkspaceID,
				c.PrincipalID,
				c.Client,
				h.ID,
				h.Changes.At,
			)
		}
		if grown := h.Changes.OutsideGrown; grown != nil && !appended {
			b.read(
				"SELECT text = $4 AND created_at = $5 FROM parley.versions "+
					"WHERE workspace_id = $1 AND message_id = $2 AND n = $3",
				func(r *row) error {
					appended = r.bool()
					return nil
				},
				h.WorkspaceID,
				grown.Version.MessageID,
				grown.Version.N,
				grown.Version.Text,
				grown.Version.CreatedAt,
			)
		}
		return b
	}); err != nil || now == nil {
		return false, err
	}
	if now.Revision != h.Revision+1 || now.Epoch != h.Epoch || now.LastEvent != h.LastEvent || now.Holder != h.Holder ||
		now.TurnID != h.TurnID ||
		now.Cancel != h.Cancel || now.DeletedAt != h.DeletedAt ||
		opened != len(h.Changes.Opened) ||
		!appended {
		return false, nil
	}
	if h.Changes.Setting == nil {
		return true, nil
	}
	is, err := now.Session.MarshalJSON()
	if err != nil {
		return false, err
	}
	was, err := h.Session.MarshalJSON()
	return bytes.Equal(is, was), err
}

func (a *attempt) hasEvent(ctx context.Context, h *transition.Head, last *transition.Event) (found bool, err error) {
	data := last.Data
	if last.Stored != nil {
		data = last.Stored
	}
	err = a.store.read(ctx, func() *batch {
		found = false
		b := tenant(a.workspace)
		b.read(
			"SELECT type, created_at, data FROM parley.events "+
				"WHERE workspace_id = $1 AND session_id = $2 AND sequence = $3",
			func(r *row) error {
				found = r.text() == string(last.Type) && r.time() == last.CreatedAt && bytes.Equal(r.json(), data)
				return nil
			},
			h.WorkspaceID,
			h.ID,
			last.Sequence,
		)
		return b
	})
	return found, err
}
