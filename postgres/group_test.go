package postgres

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// crowded lets n transitions wait until all have arrived, and then writes them as one group. It returns their results
// by number.
func crowded(tb testing.TB, s *Store, n int, transition func(i int) error) []error {
	tb.Helper()
	answers, answered := crowd(s, n, transition)
	answered.Wait()
	return *answers
}

// crowd is crowded without waiting for the results.
func crowd(s *Store, n int, transition func(i int) error) (*[]error, *sync.WaitGroup) {
	g, answers, answered := &s.groups, make([]error, n), &sync.WaitGroup{}
	var early atomic.Int64 // calls that returned without waiting
	g.mu.Lock()
	g.busy += groupsAtOnce
	g.members += aloneAtOnce
	g.mu.Unlock()
	for i := range n {
		answered.Go(func() { // ends with its call
			defer early.Add(1)
			answers[i] = transition(i)
		})
	}
	for waiting := 0; waiting+int(early.Load()) < n; runtime.Gosched() {
		g.mu.Lock()
		waiting = len(g.waiting)
		g.mu.Unlock()
	}
	g.mu.Lock()
	g.busy -= groupsAtOnce - 1
	g.mu.Unlock()
	g.next(aloneAtOnce) // the first one leads
	return &answers, answered
}

// transactions counts the transactions that posted "together" to sessions.
func transactions(tb testing.TB, url string) (n int) {
	tb.Helper()
	conn := connected(tb, url)
	run(tb, conn, "SET ROLE parley_system")
	if err := conn.QueryRow(context.Background(),
		"SELECT count(DISTINCT xmin::text) FROM parley.messages WHERE content LIKE '%together%'").
		Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

// warmed returns talkers of two workspaces whose sessions the store has cached. None waits for another's lane.
func warmed(tb testing.TB, s *Store, sessions int) (two [2]*talker) {
	tb.Helper()
	const spareSessions = 3
	var lanes []int
	for i, name := range []string{"default", "second"} {
		two[i] = newTalkerIn(tb, s, name, sessions+spareSessions)
		two[i].sessions = slices.DeleteFunc(two[i].sessions, func(id parley.ID) bool {
			lane := laneOf(id)
			taken := slices.Contains(lanes, lane)
			lanes = append(lanes, lane)
			return taken
		})[:sessions]
		for _, session := range two[i].sessions {
			two[i].turn(session, "good morning")
		}
	}
	return two
}

// TestGroup: transitions of several sessions and workspaces that arrive together become one transaction, each in its
// own workspace.
func TestGroup(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	two := warmed(t, db, 3)
	posted := make([]store.Posted, 6)
	for i, err := range crowded(t, db, 6, func(i int) (err error) {
		posted[i], err = db.PostMessage(context.Background(), two[i%2].scope, two[i%2].sessions[i/2],
			two[i%2].said("together"), two[i%2].process)
		return err
	}) {
		if err != nil || posted[i].Claim == nil {
			t.Errorf("post %d: %v", i, err)
		}
	}
	if n := transactions(t, url); n != 1 {
		t.Errorf("they were %d transactions", n)
	}
	for i, k := range two {
		for _, session := range k.sessions {
			messages, err := db.Messages(context.Background(), k.scope, session, store.MessageQuery{Limit: 10})
			if err != nil || len(messages) != 3 {
				t.Errorf("workspace %d: %d messages, %v", i, len(messages), err)
			}
		}
	}
	if db.groups.busy != 0 || db.groups.members != 0 || len(db.groups.waiting) != 0 {
		t.Errorf("%d write %d transitions and %d wait", db.groups.busy, db.groups.members, len(db.groups.waiting))
	}
}

// TestGroupOfOneThatFails: another process's change, and a lost lease, affect one member each; the others are
// committed.
func TestGroupOfOneThatFails(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	other := openedAt(t, url, Options{})
	k := warmed(t, db, 4)[0]
	title := "elsewhere"
	if _, err := other.UpdateSession(
		t.Context(),
		k.scope,
		k.sessions[1],
		store.SessionChange{Title: &title},
	); err != nil {
		t.Fatal(err)
	}
	for i, err := range crowded(t, db, 4, func(i int) error {
		process := k.process
		if i == 2 {
			process = parley.NewID() // without a lease
		}
		posted, err := db.PostMessage(context.Background(), k.scope, k.sessions[i], k.said("together"), process)
		if err == nil && (posted.Claim != nil) != (i != 2) {
			return errors.New("a post with a lease was not claimed, or one without was")
		}
		return err
	}) {
		if err != nil {
			t.Errorf("post %d: %v", i, err)
		}
	}
	for _, session := range k.sessions {
		messages, err := db.Messages(t.Context(), k.scope, session, store.MessageQuery{Limit: 10})
		if err != nil || len(messages) != 3 {
			t.Errorf("%d messages, %v", len(messages), err)
		}
	}
}

// TestGroupWaitsForNoLock: a locked session delays only itself.
func TestGroupWaitsForNoLock(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	k := warmed(t, store, 3)[0]
	stopped := connected(t, url)
	run(
		t,
		stopped,
		"BEGIN",
		"SET LOCAL ROLE parley_system",
		"SELECT 1 FROM parley.heads WHERE session_id = '"+k.sessions[0].String()+"' FOR UPDATE",
	)
	var others sync.WaitGroup
	others.Add(2)
	answers, answered := crowd(store, 3, func(i int) error {
		if i > 0 {
			defer others.Done()
		}
		_, err := store.PostMessage(context.Background(), k.scope, k.sessions[i], k.said("together"), k.process)
		return err
	})
	others.Wait() // otherwise the test does not end
	run(t, stopped, "ROLLBACK")
	answered.Wait()
	if err := errors.Join(*answers...); err != nil {
		t.Error(err)
	}
}

// TestGroupIsLeft: a caller that gives up while its transition waits has written nothing.
func TestGroupIsLeft(t *testing.T) {
	t.Parallel()
	db, _ := opened(t)
	k := warmed(t, db, 1)[0]
	g := &db.groups
	for range aloneAtOnce {
		g.enter(&member{})
	}
	ctx, leave := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { // ends with its call
		_, err := db.PostMessage(ctx, k.scope, k.sessions[0], k.said("never mind"), k.process)
		failed <- err
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		g.mu.Lock()
		waiting = len(g.waiting)
		g.mu.Unlock()
	}
	leave()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that gave up got %v", err)
	}
	for range aloneAtOnce {
		g.next(1)
	}
	k.turn(k.sessions[0], "good evening")
	messages, err := db.Messages(t.Context(), k.scope, k.sessions[0], store.MessageQuery{Limit: 10})
	if err != nil || len(messages) != 4 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}

// TestGroupLosesItsConnection: whether or not a group was committed before its connection broke, each of its
// transitions happens once.
func TestGroupLosesItsConnection(t *testing.T) {
	t.Parallel()
	cuts := &cutter{one: 3}
	db := cutting(t, databases.New(t), cuts)
	k := warmed(t, db, 4)[0]
	const rounds = 12
	for range rounds {
		if err := errors.Join(crowded(t, db, len(k.sessions), func(i int) error {
			_, err := db.PostMessage(context.Background(), k.scope, k.sessions[i], k.said("together"), parley.ID{})
			return err
		})...); err != nil {
			t.Fatal(err)
		}
	}
	for _, session := range k.sessions {
		if messages, err := db.Messages(
			t.Context(),
			k.scope,
			session,
			store.MessageQuery{Limit: 50},
		); err != nil ||
			len(messages) != 2+rounds {
			t.Errorf("%d messages, %v", len(messages), err)
		}
	}
	if cuts.cuts.Load() == 0 {
		t.Error("no connection was broken")
	}
}

// TestGroupsGrowWithLoad: a few transitions go immediately, each by itself. More wait for these, and only a whole group
// gets another transaction.
func TestGroupsGrowWithLoad(t *testing.T) {
	t.Parallel()
	g := &groups{}
	arrive := func() (leads bool, m *member) {
		m = &member{lead: make(chan struct{}, 1)}
		return g.enter(m), m
	}
	for i := range aloneAtOnce {
		if leads, _ := arrive(); !leads {
			t.Errorf("transition %d waits", i+1)
		}
	}
	g.next(1)
	if leads, _ := arrive(); !leads {
		t.Error("one more did not wait")
	}
	for i := range groupSize - 1 {
		if leads, _ := arrive(); leads {
			t.Fatalf("behind %d waiting ones, one went by itself", i)
		}
	}
	leads, last := arrive()
	if !leads {
		t.Fatal("a whole group did not start")
	}
	group := g.gathered(last)
	if len(group) != groupSize || len(g.waiting) != 0 {
		t.Errorf("%d are written together, %d wait", len(group), len(g.waiting))
	}
	_, late := arrive()
	g.next(len(group))
	if len(late.lead) != 0 {
		t.Error("a waiting member was written by itself although others were still being written")
	}
	for g.busy > 1 {
		g.next(1)
	}
	g.next(1)
	if len(late.lead) != 1 || g.busy != 1 || g.members != 1 {
		t.Errorf("nobody writes the waiting member: %d write %d transitions", g.busy, g.members)
	}
}
