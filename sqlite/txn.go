package sqlite

import (
	"parley"
)

// txn is the writer's side of one transition: statements on the writer's
// connection, and what the commit will tell. It is valid during the closure.
type txn struct {
	*conn
	store *Store
	now   parley.Time // of this transition
	wrote bool
	hints []parley.Commit
}

// begin starts a transaction, enter a member in it.
func (t *txn) begin() {}

func (t *txn) enter() {
	t.now, t.wrote, t.hints = parley.Now(), false, nil
}

// leave ends a member that was not refused.
func (t *txn) leave() error { return nil }

// settled keeps what the transaction taught, forget drops it.
func (t *txn) settled() {}

func (t *txn) forget() {}

// exec runs a statement that changes rows and reports how many.
func (t *txn) exec(query string, args ...arg) (int64, error) {
	t.wrote = true
	return t.run(query, args...)
}

// change runs an UPDATE … RETURNING or the like and visits its first row.
func (t *txn) change(query string, visit func(*row) error, args ...arg) (found bool, err error) {
	t.wrote = true
	return t.one(query, visit, args...)
}

// publish adds what the listeners are told after the commit.
func (t *txn) publish(commit parley.Commit) {
	t.hints = append(t.hints, commit)
}
