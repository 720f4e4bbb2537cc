package sqlite

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// txn is the writer's side of one transition: the core that runs it, the writer's connection, and what the commit will
// announce. It is valid only during the closure.
type txn struct {
	*conn
	store *Store
	core  *transition.Tx
	now   parley.Time // of this transition
	wrote bool
	means parley.ID // target of the audit entry, if only the closure knows it
	hints []store.Commit
	news  []store.Commit // of what no head locks: artifacts

	heads   map[parley.ID]*transition.Head // cache across transactions
	touched []parley.ID                    // read since the transaction began

	agents   map[agentVersion]*parley.Agent // cache; versions never change
	current  map[parley.ID]currentAgent     // cache of rows of "agents"; their writers drop it
	claimer  parley.ID                      // cache: the process last found in "processes"
	texts    map[textKey]struct{}           // texts of calls known to be stored
	newTexts []textKey                      // stored by this transaction

	args []arg // scratch: empty, for the arguments of one statement of the hot path
}

// scratchArgs is more than any generated list of columns has.
const scratchArgs = 64

func newTxn(store *Store, connection *conn) txn {
	return txn{
		conn: connection, store: store, core: transition.New(store.log), heads: map[parley.ID]*transition.Head{},
		agents: map[agentVersion]*parley.Agent{}, current: map[parley.ID]currentAgent{},
		texts: map[textKey]struct{}{}, args: make([]arg, 0, scratchArgs),
	}
}

// begin starts a transaction; enter starts a member of it.
func (t *txn) begin() { t.touched, t.newTexts = t.touched[:0], t.newTexts[:0] }

func (t *txn) enter() {
	t.now, t.wrote, t.means, t.hints, t.news = parley.Now(), false, parley.ID{}, nil, nil
	t.core.Begin(t, t.now)
}

// leave writes the changes of a member that was not refused and, if there are any, its audit entries.
func (t *txn) leave(intent *store.AuditIntent) error {
	t.hints = append(t.core.Finish(), t.news...)
	var deleted []parley.ID
	for _, h := range t.core.Locked() {
		if err := h.Write(changes{t}); err != nil {
			return err
		}
		if h.Changes.Buried {
			deleted = append(deleted, h.ID)
		}
	}
	for _, h := range t.core.Locked() {
		if err := h.WriteBudgets(changes{t}); err != nil {
			return err
		}
		h.Changes = transition.Changes{}
	}
	if !t.wrote {
		return nil
	}
	about := t.core.Subject()
	if !t.means.IsZero() {
		about.TargetID = t.means
	}
	entries := intent.Entries(about.SessionID, about.TargetID)
	if len(deleted) > 0 {
		entries = append(entries, intent.Deletions(t.heads[deleted[0]].WorkspaceID, deleted, entries)...)
	}
	return t.insertAudit(entries)
}

// refuse forgets the heads that a refused member may have changed in memory.
func (t *txn) refuse() {
	for _, h := range t.core.Locked() {
		t.drop(h.ID)
	}
}

// settled keeps what the transaction cached; forget drops it.
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
	clear(t.current)
	t.claimer = parley.ID{}
}

// exec runs a statement that changes rows and reports how many.
func (t *txn) exec(query string, args ...arg) (int64, error) {
	t.wrote = true
	return t.run(query, args...)
}
