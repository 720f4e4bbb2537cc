package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"example.org/parley"
	"example.org/parley/store"
)

// errSilent ends a connection that hears nothing, not even this process.
var errSilent = errors.New("postgres: the listening connection hears nothing")

// listenLoop listens to the other processes and reconnects when the connection breaks. Notifications sent in between
// are lost, so everything is read again.
func (r *Relay) listenLoop(ctx context.Context) {
	redial := firstRedial
	for first := true; ; first = false {
		if !first {
			r.reconnects.Add(1)
		}
		began := time.Now()
		err := r.listen(ctx)
		r.connected.Store(false)
		r.accompanied()
		if ctx.Err() != nil {
			return
		}
		r.store.log.Warn(
			"the connection that hears other processes broke; until it is back, watchers see what they do a "+
				"little later",
			"error",
			mapError(err),
		)
		if time.Since(began) > silence {
			redial = firstRedial
		}
		if !sleepFor(ctx, redial/2+rand.N(redial/2)) { //nolint:gosec // spreads load; no secret
			return
		}
		redial = min(2*redial, longestRedial)
	}
}

// listen listens to the other processes until the connection breaks or ctx ends.
func (r *Relay) listen(ctx context.Context) error {
	config := r.store.direct.Copy()
	config.RuntimeParams["application_name"] += " listen"
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()} // an ended wait keeps the connection
	}
	dialing, done := context.WithTimeout(ctx, notifyBound)
	defer done()
	conn, err := connect(dialing, config)
	if err != nil {
		return err
	}
	defer r.hangUp(conn) //nolint:contextcheck // even if ctx has ended
	if _, err := conn.Exec(dialing, "LISTEN "+channel); err != nil {
		return err
	}
	r.connected.Store(true)
	r.mu.Lock()
	r.echoed = time.Now()
	r.ask = true // ask the others to repeat what they watch
	r.mu.Unlock()
	poke(r.now)
	r.resynced()
	heard := map[wireID]time.Time{} // other processes
	since, looked := time.Now(), time.Now()
	for {
		waiting, enough := context.WithTimeout(ctx, beat)
		said, err := conn.WaitForNotification(waiting)
		enough()
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			r.hear(said.Payload, heard, now)
		case !pgconn.Timeout(err):
			return err
		case now.Sub(r.lastEcho()) > silence:
			return errSilent
		}
		if now.Sub(looked) > beat {
			looked = now
			r.missed(heard, now)
			r.expire(now)
		}
		if len(heard) == 0 && now.Sub(since) > aloneAfter {
			r.alone.Store(true) // a process that starts to listen announces itself
		}
	}
}

// accompanied ends the state of being alone: everything not told until now is read again.
func (r *Relay) accompanied() {
	if !r.alone.CompareAndSwap(true, false) {
		return
	}
	r.mu.Lock()
	r.resync = true
	r.mu.Unlock()
	poke(r.now)
}

func (r *Relay) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), byeBound)
	defer cancel()
	_ = conn.Close(ctx) // the server notices
}

func (r *Relay) lastEcho() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.echoed
}

// hear receives one notification. Those of this process measure the delay.
func (r *Relay) hear(payload string, heard map[wireID]time.Time, now time.Time) {
	said, err := readNotice(payload)
	if err != nil {
		r.store.log.Debug("a notification was ignored", "error", err)
		return
	}
	if parley.ID(said.From) == r.id {
		r.mu.Lock()
		r.echoed = now
		if r.timed == said.N {
			r.lag.Store(int64(now.Sub(r.timedAt)))
			r.timed = 0
		}
		r.mu.Unlock()
		return
	}
	r.received.Add(1)
	r.accompanied()
	if _, known := heard[said.From]; known || len(heard) < mostHeard { // anybody who may notify could name thousands
		heard[said.From] = now
	}
	if said.Bye {
		delete(heard, said.From)
	}
	if said.Resync {
		r.resynced()
	}
	r.store.tell(said.commits)
	r.mu.Lock()
	r.note(said.hints.Interests, now)
	listener := r.listener
	r.mu.Unlock()
	if listener != nil {
		listener.Heard(parley.ID(said.From), said.hints)
	}
}

// note records which sessions others watch. A waiting hint may be what a new watcher waits for; r.mu is held.
func (r *Relay) note(interests []store.Interest, now time.Time) {
	for i := range interests {
		id := interests[i].SessionID
		_, known := r.watched[id]
		if interests[i].Over || !known && len(r.watched) >= mostWatched {
			continue // another watcher may remain; the entry expires
		}
		r.watched[id] = now
		if !known && len(r.commits) > 0 {
			poke(r.now)
		}
	}
}

// expire forgets sessions that others no longer report as watched.
func (r *Relay) expire(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, said := range r.watched {
		if now.Sub(said) > silence {
			delete(r.watched, id)
		}
	}
}

// missed resyncs if another process fell silent without a farewell: it may have committed something and died before
// telling.
func (r *Relay) missed(heard map[wireID]time.Time, now time.Time) {
	for from, last := range heard {
		if now.Sub(last) > silence {
			delete(heard, from)
			r.resynced()
		}
	}
}

// resynced makes everything be read again: by the hint listener, and by the claimers among the store's listeners.
func (r *Relay) resynced() {
	r.mu.Lock()
	listener := r.listener
	r.unheard = listener == nil
	r.mu.Unlock()
	if listener != nil {
		listener.Resync()
	}
	r.store.tell([]store.Commit{{Remote: true, Ready: true}})
}
