package storetest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// tape is a listener that records commits.
type tape struct {
	mu      sync.Mutex // guards commits and told
	commits []store.Commit
	told    chan struct{} // closed and replaced at each commit
}

// record starts listening; call it before the first transition that counts.
func (w *world) record() *tape {
	tape := &tape{told: make(chan struct{})}
	w.store.Listen(tape)
	return tape
}

// Committed records a commit.
func (p *tape) Committed(commit store.Commit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits = append(p.commits, commit)
	close(p.told)
	p.told = make(chan struct{})
}

// events returns a session's events in the order of telling.
func (p *tape) events(session parley.ID) (events []parley.Event, told <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, commit := range p.commits {
		if commit.SessionID == session {
			events = append(events, commit.Events...)
		}
	}
	return events, p.told
}

// await waits until the listener has heard a session's event.
func (p *tape) await(t reporter, session parley.ID, last int64) []parley.Event {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		events, told := p.events(session)
		if len(events) > 0 && events[len(events)-1].Sequence >= last {
			return events
		}
		select {
		case <-told:
		case <-timeout.C:
			t.Fatalf("event %d of session %s was never told; %d were", last, session, len(events))
		}
	}
}

// find waits for a commit that matches.
func (p *tape) find(t reporter, what string, wanted func(store.Commit) bool) store.Commit {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		commits, told := p.commits, p.told
		p.mu.Unlock()
		for _, commit := range commits {
			if wanted(commit) {
				return commit
			}
		}
		select {
		case <-told:
		case <-timeout.C:
			t.Fatalf("no commit announced %s", what)
		}
	}
}

func testEvents(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ListenersAreToldInOrder":       eventsLive,
		"ConcurrentSessions":            eventsConcurrent,
		"Pages":                         eventsPages,
		"LargePagesEndEarly":            eventsLarge,
		"ReadyCancelAndSettledAreHints": eventsHints,
		"HeadsFollow":                   eventsHeads,
		"TheFeedTellsOfSessions":        eventsFeed,
	})
}

func eventsLive(t *testing.T, w *world) {
	tape := w.record()
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.post(t, session, w.say("two"))
	removed := w.post(t, session, w.say("three"))
	_, err := w.store.RemoveQueued(w.ctx, w.scope, removed.Message.ID)
	must(t, "RemoveQueued", err)
	calls := w.callTools(t, claim.Fence, 1, 1)
	_, err = w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	w.post(t, session, w.result(calls[0]))
	w.answer(t, w.claim(t), "done")
	second := w.claim(t)
	begin := w.begin(t, second.Fence, 1)
	w.flush(t, second.Fence, begin.Call.MessageID, 1, 0, "half")
	_, err = w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, second.Turn.ID)
	must(t, "TakeCancel", err)
	_, err = w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, claim.Trigger.ID, marked(parley.Marks{Pinned: true}))
	must(t, "MarkMessage", err)
	s := w.check(t, session)
	if diff := cmp.Diff(s.Events, tape.await(t, session, s.Session.LastEvent)); diff != "" {
		t.Errorf("replay and live differ (-replay +live):\n%s", diff)
	}
}

func eventsConcurrent(t *testing.T, w *world) {
	const n = 12
	tape := w.record()
	sessions := make([]parley.ID, n)
	for i := range sessions {
		sessions[i] = w.session(t)
	}
	atOnce(n, func(i int) {
		for range 3 {
			posted, err := w.store.PostMessage(w.ctx, w.scope, sessions[i], w.say("go"), w.process)
			if err != nil || posted.Claim == nil {
				t.Errorf("post: %+v, %v", posted.Claim, err)
				return
			}
			begin := w.stepBegin(1, 1)
			if _, err := w.store.BeginStep(w.ctx, posted.Claim.Fence, begin); err != nil {
				t.Errorf("BeginStep: %v", err)
				return
			}
			settle := settlement(begin, "ok")
			settle.End = completed()
			if _, err := w.store.SettleStep(w.ctx, posted.Claim.Fence, settle); err != nil {
				t.Errorf("SettleStep: %v", err)
				return
			}
		}
	})
	for _, id := range sessions {
		s := w.check(t, id)
		if diff := cmp.Diff(s.Events, tape.await(t, id, s.Session.LastEvent)); diff != "" {
			t.Errorf("session %s: replay and live differ (-replay +live):\n%s", id, diff)
		}
	}
}

func eventsPages(t *testing.T, w *world) {
	session := w.session(t)
	w.exchange(t, session, "one", "1")
	all, err := w.store.Events(w.ctx, w.scope, session, 0, 1000)
	must(t, "Events", err)
	var paged []parley.Event
	for after := int64(0); ; {
		page, err := w.store.Events(w.ctx, w.scope, session, after, 2)
		must(t, "Events", err)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		after = page[len(page)-1].Sequence
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("the pages differ from the whole (-whole +pages):\n%s", diff)
	}
	_, err = w.store.Events(w.ctx, w.neighbour(t, "other").scope, session, 0, 10)
	refused(t, "another workspace's events", err, parley.CodeNotFound)
}

// eventsLarge: a read of large events ends early, and the next one continues.
func eventsLarge(t *testing.T, w *world) {
	id := w.session(t)
	for range 3 {
		w.exchange(t, id, "go", strings.Repeat("x", parley.MaxPageBytes/4)) // both forms of it are told
	}
	var seen int64
	var reads []int
	for {
		events, err := w.store.Events(w.ctx, w.scope, id, seen, parley.MaxPage)
		must(t, "Events", err)
		if len(events) == 0 {
			break
		}
		size := 0
		for _, e := range events {
			if seen++; e.Sequence != seen {
				t.Fatalf("got event %d, want %d", e.Sequence, seen)
			}
			size += len(e.Data)
		}
		reads = append(reads, size>>20)
	}
	if len(reads) != 2 || reads[0] != parley.MaxPageBytes>>20 {
		t.Errorf("reads of %v MB", reads)
	}
}

func eventsHints(t *testing.T, w *world) {
	tape := w.record()
	session := w.session(t)
	w.post(t, session, w.say("one"))
	tape.find(t, "the ready session", func(c store.Commit) bool { return c.SessionID == session && c.Ready })
	claim := w.claim(t)
	begin := w.begin(t, claim.Fence, 1)
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	tape.find(t, "the cancel", func(c store.Commit) bool { return c.SessionID == session && c.Cancel == claim.Turn.ID })
	settle := settlement(begin, "half")
	settle.Call.Outcome, settle.Blocks[0].Status, settle.End = parley.CallCancelled, parley.MessageCancelled,
		&store.TurnEnd{
			Status: parley.TurnCancelled,
		}
	w.settle(t, claim.Fence, settle)
	tape.find(t, "the settled message", func(c store.Commit) bool {
		return c.SessionID == session && len(c.Settled) == 1 && c.Settled[0] == begin.Call.MessageID &&
			c.WorkspaceID == w.scope.WorkspaceID
	})
}

func eventsHeads(t *testing.T, w *world) {
	session, gone, unknown := w.session(t), w.session(t), parley.NewID()
	w.exchange(t, session, "one", "1")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, gone))
	heads, err := w.store.Heads(w.ctx, []parley.ID{session, gone, unknown})
	must(t, "Heads", err)
	got := map[parley.ID]store.HeadState{}
	for _, head := range heads {
		got[head.SessionID] = head
	}
	want := store.HeadState{
		SessionID:  session,
		LastEvent:  w.sessionState(t, session).LastEvent,
		OwnerID:    w.owner.ID,
		Visibility: parley.VisibilityPrivate,
	}
	if got[session] != want || !got[gone].Deleted || !got[unknown].Deleted || len(heads) != 3 {
		t.Errorf("Heads reads %+v", heads)
	}
}

func eventsFeed(t *testing.T, w *world) {
	tape := w.record()
	session := w.session(t)
	feed := func(kind parley.EventType) func(store.Commit) bool {
		return func(c store.Commit) bool {
			for _, event := range c.Feed {
				if event.SessionID == session && event.Type == kind && event.WorkspaceID == w.scope.WorkspaceID &&
					event.OwnerID == w.owner.ID {
					return true
				}
			}
			return false
		}
	}
	tape.find(t, "the new session", feed(parley.FeedSessionUpdated))
	w.exchange(t, session, "one", "1")
	tape.find(t, "the session's state", feed(parley.FeedSessionStatusChanged))
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	tape.find(t, "the deletion", feed(parley.FeedSessionDeleted))
}
