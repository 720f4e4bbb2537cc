package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"parley"
	"parley/internal/transition"
)

// A transition of a session is optimistic: its head comes from memory, the core
// computes, and one batch writes all of it if the head's revision is still the
// one that was computed with, and if what else was taken for granted holds. If
// not, it is read and computed again. What would write nothing (a refusal, an
// answer) is confirmed in the same way before anybody hears it.

// maxTries bounds how often a transition is computed again because other
// processes changed its session meanwhile.
const maxTries = 20

// maxViolations bounds how often a unique index may refuse what was computed from
// rows that it does not refuse: then an id was used twice.
const maxViolations = 3

// sentOff is an attempt whose connection broke before its end was heard.
type sentOff[T any] struct {
	answer  T
	attempt *attempt
	commits []parley.Commit
}

// transact runs a transition of a workspace's session until it is committed or
// refused. An attempt that nobody knows the end of is looked for in the rows
// before anything is done again, so that nothing is done twice.
func transact[T any](ctx context.Context, s *Store, workspaceID parley.ID, run func(a *attempt) (T, error)) (T, error) {
	answer, err := attempts(ctx, s, workspaceID, run)
	return answer, mapError(err)
}

func attempts[T any](ctx context.Context, s *Store, workspaceID parley.ID, run func(a *attempt) (T, error)) (T, error) {
	var none T
	lanes := &held{cache: s.heads}
	defer lanes.leave()
	var sent []sentOff[T]
	again := retry{started: time.Now(), pause: firstPause}
	for exact := false; ; {
		a := newAttempt(ctx, s, workspaceID, lanes, exact)
		answer, err := run(a)
		if failure(err) {
			return none, outcome(err, len(sent))
		}
		var commits []parley.Commit
		wrote, failed := false, error(nil)
		if err == nil {
			commits = a.tx.Finish()
			wrote, failed = a.write()
		}
		if !wrote && failed == nil {
			failed = a.confirm()
		}
		switch {
		case failed == nil && err == nil && (wrote || len(sent) == 0):
			a.settle()
			s.tell(commits)
			return answer, nil
		case failed == nil && len(sent) == 0:
			return none, err
		case wrote && unknown(failed):
			sent = append(sent, sentOff[T]{answer, a, commits})
		}
		if off, err := resolved(ctx, s, sent); err != nil {
			return none, outcome(err, len(sent))
		} else if off != nil {
			s.tell(off.commits)
			return off.answer, nil
		}
		if failed == nil {
			return answer, err
		}
		if exact, err = again.after(ctx, failed); err != nil {
			return none, outcome(err, len(sent))
		}
	}
}

// outcome is the error of a call of which an attempt may have been committed.
func outcome(err error, sent int) error {
	if sent == 0 {
		return err
	}
	return parley.WrapError(parley.CodeUnavailable, err, "the connection to the database broke while this was written; look whether it was, and try again if not")
}

// resolved looks for an attempt that was committed after all.
func resolved[T any](ctx context.Context, s *Store, sent []sentOff[T]) (*sentOff[T], error) {
	for i := range sent {
		if committed, err := sent[i].attempt.committed(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		} else if committed {
			return &sent[i], nil
		}
	}
	return nil, nil
}

// failure reports an error that is no refusal of the core's.
func failure(err error) bool {
	var refusal *parley.Error
	return err != nil && (!errors.As(err, &refusal) || refusal.Code == parley.CodeUnavailable || refusal.Code == parley.CodeStorageFull)
}

func newAttempt(ctx context.Context, s *Store, workspaceID parley.ID, lanes *held, exact bool) *attempt {
	a := &attempt{store: s, ctx: ctx, workspace: workspaceID, held: lanes, exact: exact, tx: transition.New(s.log), agents: map[parley.ID]int{}}
	a.tx.Begin(a, s.clock.Now())
	return a
}

// retry decides what follows a failed attempt.
type retry struct {
	started time.Time
	pause   time.Duration
	tries   int
}

// after waits for what may help and says whether the next attempt is exact. An
// error that computing again cannot mend is returned.
func (r *retry) after(ctx context.Context, failed error) (exact bool, err error) {
	state := stateOf(failed)
	switch {
	case violated(failed) != "" && r.tries >= maxViolations:
		return false, failed
	case state == stateStale, state == stateLeaseGone, violated(failed) != "", contended(failed), errors.Is(failed, errGuessed):
		if r.tries++; r.tries >= maxTries {
			return false, parley.WrapError(parley.CodeUnavailable, failed, "too many changed this session at once; try again")
		}
		if r.tries == 1 {
			return true, nil
		}
		return true, sleep(ctx, rand.N(time.Duration(r.tries)*time.Millisecond)) //nolint:gosec // spreads load; no secret
	case unsent(failed), unknown(failed):
		if time.Since(r.started) > patience {
			return false, failed
		}
		err = sleep(ctx, r.pause/2+rand.N(r.pause/2)) //nolint:gosec // spreads load; no secret
		r.pause = min(2*r.pause, longestPause)
		return true, err
	}
	return false, failed
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

// settle keeps what a committed attempt leaves in memory.
func (a *attempt) settle() {
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

// confirm asks the database whether an outcome that writes nothing was computed
// from what still holds. What was read at one moment needs no asking.
func (a *attempt) confirm() error {
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

// errGuessed has an attempt made again that reads everything: what it took for
// granted only a write would have shown.
var errGuessed = errors.New("postgres: an outcome was guessed")

// committed looks in the rows for the marks of an attempt: its last event; for
// one without events, the head as it would have left it.
func (a *attempt) committed(ctx context.Context) (found bool, err error) {
	for _, h := range a.tx.Locked() {
		if !h.Changes.Any() {
			continue
		}
		if n := len(h.Changes.Events); n > 0 {
			return a.hasEvent(ctx, h, &h.Changes.Events[n-1])
		}
		err = a.store.read(ctx, func() *batch {
			found = false
			b := tenant(a.workspace)
			b.read(`SELECT 1 FROM parley.heads WHERE session_id = $1 AND workspace_id = $2 AND revision = $3 AND epoch = $4 AND next_event = $5
 AND holder IS NOT DISTINCT FROM $6 AND turn_id IS NOT DISTINCT FROM $7 AND cancel_turn IS NOT DISTINCT FROM $8 AND deleted_at IS NOT DISTINCT FROM $9`,
				func(*row) error {
					found = true
					return nil
				}, h.ID, h.WorkspaceID, h.Revision+1, h.Epoch, h.LastEvent+1, h.Holder, h.TurnID, h.Cancel, h.DeletedAt)
			return b
		})
		return found, err
	}
	return false, nil
}

func (a *attempt) hasEvent(ctx context.Context, h *transition.Head, last *transition.Event) (found bool, err error) {
	data := last.Data
	if last.Stored != nil {
		data = last.Stored
	}
	err = a.store.read(ctx, func() *batch {
		found = false
		b := tenant(a.workspace)
		b.read("SELECT type, created_at, data FROM parley.events WHERE workspace_id = $1 AND session_id = $2 AND sequence = $3", func(r *row) error {
			found = r.text() == string(last.Type) && r.time() == last.CreatedAt && bytes.Equal(r.json(), json.RawMessage(data))
			return nil
		}, h.WorkspaceID, h.ID, last.Sequence)
		return b
	})
	return found, err
}
