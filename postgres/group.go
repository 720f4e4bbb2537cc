package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"example.org/parley"
)

// The bounds of groups.
const (
	groupsAtOnce    = 4      // transactions of a process that write transitions of one session each
	groupSize       = 16     // transitions in one of them, and how many wait before one more is begun
	aloneAtOnce     = 2      // transitions being written that let the next one go at once
	groupStatements = 64     // of a transition; one with more keeps nobody waiting for it
	groupWait       = "50ms" // for what somebody else has locked; then each goes by itself
)

// groups has transitions of different sessions share a transaction when many are
// on their way: what comes while aloneAtOnce are being written waits for these to
// end, or until it is enough for a transaction of its own, and is written
// together. So a transition on its own goes at once, and the more come, the more
// share a round trip, a commit and a sync: as many of a process among several as of
// one that is alone. It has no goroutine: whoever has waited longest writes for
// those who wait behind.
//
// A group in which one transition fails is void as a whole. Then each of its
// transitions is written by itself, as it would have been without a group: a
// refusal, a fence or a lock that somebody keeps touches none of the others. Nor does
// one that waits for a lock keep a group's place for long, also when it is alone in it.
type groups struct {
	store *Store

	mu      sync.Mutex // guards all below
	busy    int        // members that write or are about to: transactions
	members int        // transitions in these
	waiting []*member  // in the order in which they came; none of them is about to write
}

// member is a transition's batch on its way.
type member struct {
	batch   *batch
	session parley.ID
	lead    chan struct{} // of one: it is to write, and is no longer waiting
	done    chan error    // of one: how the transaction ended that somebody else wrote
}

// errAlone tells a member that its group is void.
var errAlone = errors.New("postgres: the group is void")

// write commits a batch that changes one session, by itself or with others. Its
// errors are those of Store.once.
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
	select { // it is being written, or it is its turn to
	case err := <-m.done:
		return err
	case <-m.lead:
		return g.leads(ctx, m)
	}
}

// enter reports whether a member may write at once; else it waits.
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

// left takes a member out again; false when it is no longer waiting.
func (g *groups) left(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// next ends a member's writing, of n transitions in all, and gives its place to the
// one that waited longest; unless so few wait that those who still write may as
// well take them along.
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

// gathered takes those that wait, to be written with a member.
func (g *groups) gathered(m *member) []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), groupSize-1)
	group := append([]*member{m}, g.waiting[:n]...)
	g.waiting = slices.Delete(g.waiting, 0, n)
	g.members += n
	return group
}

// leads writes a member and those that wait once there is a connection.
func (g *groups) leads(ctx context.Context, m *member) error {
	group := []*member{m}
	defer func() { g.next(len(group)) }()
	c, err := g.store.acquire(ctx)
	if err != nil { // the next one tries for those who wait
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

// void reports an error that leaves no doubt that nothing was committed.
func void(err error) bool {
	return err != nil && !unknown(err) && (stateOf(err) != "" || unsent(err))
}

// inOneBatch is the batch of a group: its sessions in their order, so that the
// groups of several processes do not wait for each other in a circle, and each
// transition in its own workspace.
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
