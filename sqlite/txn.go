package sqlite

import (
	"parley"
)

// txn is the writer's side of one transition: statements on the writer's
// connection, the sessions that it locked, and what the commit will tell. It is
// valid during the closure.
type txn struct {
	*conn
	store *Store
	now   parley.Time // of this transition
	wrote bool
	hints []parley.Commit

	heads   map[parley.ID]*head // cache over transactions
	touched []parley.ID         // locked since the transaction began
	locked  []*head             // by this transition, in order

	agents   map[agentVersion]parley.Agent // cache: versions never change
	texts    map[textKey]struct{}          // texts of calls known to be stored
	newTexts []textKey                     // stored by this transaction

	lastServed parley.ID // workspace that the last claim came from
}

func newTxn(store *Store, connection *conn) txn {
	return txn{
		conn: connection, store: store, heads: map[parley.ID]*head{},
		agents: map[agentVersion]parley.Agent{}, texts: map[textKey]struct{}{},
	}
}

// begin starts a transaction, enter a member in it.
func (t *txn) begin() { t.touched, t.newTexts = t.touched[:0], t.newTexts[:0] }

func (t *txn) enter() {
	t.now, t.wrote, t.hints, t.locked = parley.Now(), false, nil, t.locked[:0]
}

// leave writes what a member that was not refused changed.
func (t *txn) leave() error {
	for _, h := range t.locked {
		if err := t.flush(h); err != nil {
			return err
		}
	}
	return nil
}

// refuse forgets the heads that a refused member may have changed in memory.
func (t *txn) refuse() {
	for _, h := range t.locked {
		t.drop(h.ID)
	}
}

// settled keeps what the transaction taught, forget drops it.
func (t *txn) settled() {
	if len(t.texts) > cachedTexts {
		clear(t.texts)
	}
	for _, key := range t.newTexts {
		t.texts[key] = struct{}{}
	}
}

func (t *txn) forget() {
	for _, id := range t.touched {
		t.drop(id)
	}
}

// exec runs a statement that changes rows and reports how many.
func (t *txn) exec(query string, args ...arg) (int64, error) {
	t.wrote = true
	return t.run(query, args...)
}

// publish adds what the listeners are told after the commit.
func (t *txn) publish(commit parley.Commit) {
	t.hints = append(t.hints, commit)
}
