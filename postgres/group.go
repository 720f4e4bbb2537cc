package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"example.org/parley"
)

// Bounds of groups.
const (
	groupsAtOnce    = 4      // transactions of a process that write session transitions
	groupSize       = 16     // transitions per transaction, and how many must wait before another one begins
	aloneAtOnce     = 2      // while fewer transitions are being written, the next one starts immediately
	groupStatements = 64     // statements of a transition; a larger one goes alone
	groupWait       = "50ms" // wait for locks; after that, members go one by one
)

// groups lets transitions of different sessions share a transaction under load. While aloneAtOnce transitions are being
// written, new ones wait until these end, or until there are enough for another transaction, and are then written
// together. A single transition starts immediately; the more arrive, the more share a round trip, a commit and a sync,
// whether a process is alone or one of several. There is no goroutine: the caller that has waited longest writes for
// those behind it.
//
// A group in which one transition fails is void as a whole. Each of its transitions is then written by itself, so a
// refusal, a fence or a held lock affects no other. Nor does a transition that waits for a lock occupy a group's place
// for long, even if it is alone in it.
type groups struct {
	store *Store

	mu      sync.Mutex // guards all fields below
	busy    int        // leading members that write or are about to: transactions
	members int        // transitions in those transactions
	waiting []*member  // in order of arrival; none is about to write
}

// member is the batch of one transition.
type member struct {
	batch   *batch
	session parley.ID
	lead    chan struct{} // buffers one: the member must write and no longer waits
	done    chan error    // buffers one: result of the transaction that another member wrote
}

// errAlone tells a member that its group is void.
var errAlone = errors.New("postgres: the group is void")

// write commits a batch that changes one session, by itself or with others. It returns the errors of Store.once.
func (g *groups) write(ctx context.Context, session parley.ID, b *batch) error {
	m := &member{batch: b, session: session, lead: make(chan struct{}, 1), done: make(chan error, 1)}
	err := g.written(ctx, m)
	if errors.Is(err, errAlone) {
		return g.store.once(ctx, b)
	}
	return err
}

func (g *groups) written(ctx context.Context, m *member) error {
	if g.enter(m) {
		return g.leads(ctx, m)
	}
	select {
	case err := <-m.done:
		return err
	case <-m.lead:
		return g.leads(ctx, m)
	case <-ctx.Done():
	}
	if g.left(m) {
		return context.Cause(ctx)
	}
	select { // wait until it is written, or must write
	case err := <-m.done:
		return err
	case <-m.lead:
		return g.leads(ctx, m)
	}
}

// enter reports whether a member may write immediately; otherwise it waits.
func (g *groups) enter(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	alone := len(g.waiting) == 0 && g.members < aloneAtOnce
	if g.busy < groupsAtOnce && (alone || len(g.waiting)+1 >= groupSize) || g.busy == 0 {
		g.busy++
		g.members++
		return true
	}
	g.waiting = append(g.waiting, m)
	return false
}

// left removes a waiting member; false if it no longer waits.
func (g *groups) left(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// next ends the writing of n transitions by a member, and lets the longest waiting member write, unless so few wait
// that those still writing can take them along.
func (g *groups) next(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members -= n
	if len(g.waiting) == 0 || g.busy > 1 && len(g.waiting) < groupSize {
		g.busy--
		return
	}
	g.members++
	first := g.waiting[0]
	g.waiting = slices.Delete(g.waiting, 0, 1)
	first.lead <- struct{}{}
}

// gathered removes the waiting members that will be written with a member.
func (g *groups) gathered(m *member) []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), groupSize-1)
	group := append([]*member{m}, g.waiting[:n]...)
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.members += n
	return group
}

// leads writes a member together with waiting ones, once it has a connection.
func (g *groups) leads(ctx context.Context, m *member) error {
	group := []*member{m}
	defer func() { g.next(len(group)) }()
	c, err := g.store.acquire(ctx)
	if err != nil { // the next waiting member tries
		return err
	}
	defer c.Release()
	group = g.gathered(m)
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchBound)
	defer cancel()
	err = inOneBatch(group).run(bound, c, "", "")
	if void(err) && (len(group) > 1 || stateOf(err) == stateLocked) {
		err = errAlone
	}
	for _, other := range group[1:] {
		other.done <- err
	}
	return err
}

// void reports an error that proves that nothing was committed.
func void(err error) bool {
	return err != nil && !unknown(err) && (stateOf(err) != "" || unsent(err))
}

// inOneBatch builds the batch of a group. Sessions are in a fixed order, so groups of several processes cannot
// deadlock, and each transition runs in its own workspace.
func inOneBatch(group []*member) *batch {
	group = slices.SortedFunc(slices.Values(group), func(a, b *member) int {
		return cmp.Or(a.batch.workspace.Compare(b.batch.workspace), a.session.Compare(b.session))
	})
	all := &batch{role: tenantRole, workspace: group[0].batch.workspace, grouped: true}
	workspace := all.workspace
	for _, m := range group {
		if m.batch.workspace != workspace {
			workspace = m.batch.workspace
			all.write("SELECT set_config('parley.workspace', $1, true)", workspace.String())
		}
		all.statements = append(all.statements, m.batch.statements...)
		all.shared = append(all.shared, m.batch.shared...)
	}
	slices.Sort(all.shared)
	all.shared = slices.Compact(all.shared)
	return all
}
