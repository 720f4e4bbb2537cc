package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// member is one transition waiting for the writer.
type member struct {
	ctx    context.Context //nolint:containedctx // only to skip a member whose caller gave up before it started
	run    func(tx *txn) error
	taken  atomic.Bool // by the writer, or by a caller that gave up, whichever is first
	result chan error  // buffers one
	err    error       // this member's refusal
	hints  []store.Commit
	audit  *store.AuditIntent // of the call; nil: none
	wrote  bool               // the last run changed something
}

// writer owns the only connection that writes. Its goroutine runs loop; Store.Close ends it.
type writer struct {
	store  *Store
	conn   *conn
	tx     txn
	queue  chan *member
	urgent chan *member
	done   chan struct{}
	fault  func(point string) error
	broken error     // error of the fault hook: the writer is dead
	paused time.Time // when the readers were last asked to pause
	failed bool      // the disk failed in the last transaction

	commits     atomic.Int64 // transactions made durable
	transitions atomic.Int64 // members of these

	mu        sync.Mutex    // guards listeners
	listeners []store.Hints // in the order of Listen
}

func newWriter(store *Store, connection *conn, fault func(string) error) *writer {
	w := &writer{
		store: store, conn: connection, fault: fault,
		queue: make(chan *member, writeQueue), urgent: make(chan *member, urgentQueue), done: make(chan struct{}),
	}
	w.tx = newTxn(store, connection)
	if fault != nil {
		connection.before = w.ask
	}
	return w
}

// errDead marks an error of the fault hook.
var errDead = errors.New("sqlite: the writer died")

func (w *writer) ask(point string) error {
	if w.broken == nil && w.fault != nil {
		if err := w.fault(point); err != nil {
			w.broken = errors.Join(errDead, err)
		}
	}
	return w.broken
}

func (w *writer) listen(hints store.Hints) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, hints)
}

// submit waits in a lane until the member's transaction is durable.
func (w *writer) submit(ctx context.Context, lane chan<- *member, run func(tx *txn) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	m := &member{ctx: ctx, run: run, result: make(chan error, 1), audit: store.AuditFrom(ctx)}
	select {
	case <-w.store.stopping: // checked first: a closed store accepts nothing
		return errStopped()
	default:
	}
	select {
	case lane <- m:
	case <-w.store.stopping:
		return errStopped()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	left := ctx.Done()
	for left != nil {
		select {
		case err := <-m.result:
			return err
		case <-left:
			if m.taken.CompareAndSwap(false, true) {
				return context.Cause(ctx) // not started, and never will be
			}
			left = nil // under way: its caller must learn the result, which may be a claim
		case <-w.done:
			left = nil
		}
	}
	select {
	case err := <-m.result:
		return err
	case <-w.done:
		select {
		case err := <-m.result:
			return err
		default:
			return errStopped()
		}
	}
}

// loop commits waiting members, batch by batch, until Close; then it commits the rest.
func (w *writer) loop() {
	defer close(w.done)
	idle := time.NewTimer(checkpointIdle)
	defer idle.Stop()
	batch := make([]*member, 0, maxBatch)
	for {
		batch = batch[:0]
		select {
		case m := <-w.urgent:
			w.hurry(m)
			w.commit(w.gather(batch)) // urgent members must not starve the others
		case m := <-w.queue:
			batch = w.gather(append(batch, m))
			runtime.Gosched() // on a busy machine, lets imminent writers join the batch
			batch = w.gather(batch)
			w.hurry()
			w.commit(batch)
		case <-idle.C:
			if w.logSize() > idleLog && !w.truncateLog() {
				idle.Reset(checkpointIdle)
			}
			continue
		case <-w.store.stopping:
			w.drain(batch)
			return
		}
		if w.broken != nil {
			w.abandon()
			return
		}
		w.watchLog()
		idle.Reset(checkpointIdle)
	}
}

// gather fills a batch with waiting members, without waiting itself.
func (w *writer) gather(batch []*member) []*member {
	for len(batch) < maxBatch {
		select {
		case m := <-w.queue:
			batch = append(batch, m)
		default:
			return batch
		}
	}
	return batch
}

// hurry commits urgent members in their own transaction: they wait for the current one, but for nothing else.
func (w *writer) hurry(batch ...*member) {
	for len(batch) < urgentQueue {
		select {
		case m := <-w.urgent:
			batch = append(batch, m)
			continue
		default:
		}
		break
	}
	w.commit(batch)
}

func (w *writer) drain(batch []*member) {
	for w.broken == nil {
		w.hurry()
		if batch = w.gather(batch[:0]); len(batch) == 0 {
			return
		}
		w.commit(batch)
	}
}

// abandon ends a dead writer: waiting callers learn that the store has stopped.
func (w *writer) abandon() {
	w.conn.before = nil
	if _, err := w.conn.run("ROLLBACK"); err != nil {
		w.store.log.Debug("nothing to roll back", "error", err)
	}
}

// commit runs a batch as one transaction. If that fails unexpectedly, each member runs again in its own transaction.
func (w *writer) commit(batch []*member) {
	if w.broken != nil {
		return
	}
	live := batch[:0]
	for _, m := range batch {
		if m.taken.CompareAndSwap(false, true) { // otherwise its caller gave up before it started
			live = append(live, m)
		}
	}
	if len(live) == 0 {
		return
	}
	err := w.together(live)
	if err != nil && len(live) > 1 && w.broken == nil {
		w.store.log.Warn("a batch failed; its members run one by one", "members", len(live), "error", err)
		for i := range live {
			alone := live[i : i+1]
			if w.broken != nil {
				alone[0].result <- errStopped()
				continue
			}
			w.deliver(alone, w.together(alone))
		}
		return
	}
	w.deliver(live, err)
}

// together runs members in order in one transaction. After an error nothing of it is kept; refusals are in the members.
func (w *writer) together(members []*member) error {
	if _, err := w.conn.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.tx.begin()
	wrote := false
	for _, m := range members {
		w.tx.enter()
		m.err, m.hints = nil, nil
		err := m.run(&w.tx)
		if err == nil {
			err = w.tx.leave(m.audit)
		}
		m.wrote = err == nil && w.tx.wrote
		var refusal *parley.Error
		switch {
		case w.broken != nil:
			return w.broken
		case err == nil:
			m.hints = w.tx.hints
		case errors.As(err, &refusal) && !w.tx.wrote:
			m.err = err
			w.tx.refuse()
		case errors.As(err, &refusal):
			w.rollback()
			if len(members) > 1 {
				return fmt.Errorf("sqlite: a transition wrote before it refused: %w", errors.New(err.Error()))
			}
			w.store.log.Error("a transition wrote before it refused", "error", err)
			return err
		default:
			w.rollback()
			return err
		}
		wrote = wrote || w.tx.wrote
	}
	if !wrote { // only refusals and repeats: nothing to make durable
		w.rollback()
		return nil
	}
	if err := w.ask(FaultCommit); err != nil {
		return err
	}
	if _, err := w.conn.run("COMMIT"); err != nil {
		w.rollback()
		return err
	}
	w.tx.settled()
	if w.conn.agents {
		w.conn.agents = false
		w.store.agents.forget()
	}
	for _, m := range members {
		if m.wrote {
			m.audit.Wrote()
		}
	}
	w.commits.Add(1)
	w.transitions.Add(int64(len(members)))
	return w.ask(FaultCommitted)
}

func (w *writer) rollback() {
	w.tx.forget()
	if w.broken != nil {
		return
	}
	if _, err := w.conn.run("ROLLBACK"); err != nil {
		w.store.log.Debug("SQLite had rolled back by itself", "error", err)
	}
}

// deliver tells the listeners of each member's commit before it answers the member, so a caller may rely on the live
// side knowing.
func (w *writer) deliver(members []*member, err error) {
	switch {
	case errors.Is(err, errDead):
		err = errStopped()
	case isReadError(err) && w.failed:
		err = w.store.failedAgain(err)
	case err != nil:
		w.failed = isReadError(err)
		err = w.store.noted(err)
	default:
		w.failed = false
	}
	w.mu.Lock()
	listeners := w.listeners
	w.mu.Unlock()
	for _, m := range members {
		if err != nil {
			m.result <- err
			continue
		}
		for _, commit := range m.hints {
			for _, listener := range listeners {
				listener.Committed(commit)
			}
		}
		m.hints = nil
		m.result <- m.err
	}
}

func (w *writer) close() error {
	w.conn.before = nil
	if w.broken == nil {
		w.checkpoint()
	}
	return w.conn.close()
}
