package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// marksOf returns the marks of a session's messages, by sequence.
func (w *world) marksOf(t reporter, session parley.ID) map[int64]parley.Marks {
	t.Helper()
	marks := map[int64]parley.Marks{}
	for _, m := range w.check(t, session).Record {
		if m.Marks != (parley.Marks{}) {
			marks[m.Sequence] = m.Marks
		}
	}
	return marks
}

func (w *world) markIn(t reporter, session, message parley.ID, marks parley.Marks) {
	t.Helper()
	got, err := w.store.MarkMessage(w.ctx, w.scope, session, message, marked(marks))
	must(t, "MarkMessage", err)
	if got.Marks != marks {
		t.Errorf("the marked message has %+v; want %+v", got.Marks, marks)
	}
}

func forkMarks(t *testing.T, w *world) {
	parent := w.session(t)
	for range 3 {
		w.exchange(t, parent, "q", "a")
	}
	record := w.check(t, parent).Record
	pinned, aside := parley.Marks{Pinned: true}, parley.Marks{SetAside: true}
	w.markIn(t, parent, record[0].ID, pinned)
	w.markIn(t, parent, record[5].ID, pinned) // after the cut
	fork := w.fork(t, parent, 4)
	if diff := cmp.Diff(map[int64]parley.Marks{1: pinned}, w.marksOf(t, fork.ID)); diff != "" {
		t.Errorf("the fork's marks at first (-want +got):\n%s", diff)
	}
	w.exchange(t, fork.ID, "q", "a")
	own := w.check(t, fork.ID).Record[4]
	w.markIn(t, fork.ID, record[0].ID, parley.Marks{})
	w.markIn(t, fork.ID, record[1].ID, aside)
	w.markIn(t, fork.ID, own.ID, pinned)
	w.markIn(t, parent, record[2].ID, aside)
	grandchild := w.fork(t, fork.ID, 6)
	w.markIn(t, fork.ID, record[3].ID, pinned)
	for id, want := range map[parley.ID]map[int64]parley.Marks{
		parent:        {1: pinned, 3: aside, 6: pinned},
		fork.ID:       {2: aside, 4: pinned, 5: pinned},
		grandchild.ID: {2: aside, 5: pinned},
	} {
		if diff := cmp.Diff(want, w.marksOf(t, id)); diff != "" {
			t.Errorf("marks (-want +got):\n%s", diff)
		}
	}
	s := w.check(t, fork.ID)
	if n := len(s.Events); s.Events[n-1].Type != parley.EventMessageMarked {
		t.Errorf("a mark on a shared message was announced as %s", s.Events[n-1].Type)
	}
	_, err := w.store.MarkMessage(w.ctx, w.scope, fork.ID, record[5].ID, marked(pinned))
	refused(t, "a mark on a message after the cut", err, parley.CodeNotFound)
}

func forkEdge(t *testing.T, w *world) {
	parent := w.session(t)
	for range 3 {
		w.exchange(t, parent, "q", "a")
	}
	record := w.check(t, parent).Record
	w.markIn(t, parent, record[2].ID, parley.Marks{ContextEdge: true})
	fork := w.fork(t, parent, 4)
	w.exchange(t, fork.ID, "q", "a")
	w.markIn(t, parent, record[2].ID, parley.Marks{})
	tail := func(before int64, limit int) (sequences []int64) {
		t.Helper()
		messages, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, fork.ID, before, limit, parley.MaxPageBytes)
		must(t, "ContextTail", err)
		for _, m := range messages {
			sequences = append(sequences, m.Sequence)
		}
		return sequences
	}
	expect := func(what string, got []int64, want ...int64) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
	}
	expect("the tail", tail(0, 50), 6, 5, 4, 3)
	own, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, fork.ID, 0, 2, parley.MaxPageBytes)
	must(t, "ContextTail", err)
	cut, more, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, fork.ID, 0, 50, own[0].Size()+own[1].Size()+1)
	if len(cut) != 3 || cut[2].Sequence != 4 || !more {
		t.Errorf("a page of bytes over the cut has %d rows, and more: %t, %v", len(cut), more, err)
	}
	expect("a page over the cut", tail(6, 2), 5, 4)
	expect("a page in what is shared", tail(4, 50), 3)
	w.markIn(t, fork.ID, w.check(t, fork.ID).Record[4].ID, parley.Marks{ContextEdge: true})
	expect("with an edge of its own", tail(0, 50), 6, 5)
	w.markIn(t, fork.ID, w.check(t, fork.ID).Record[4].ID, parley.Marks{})
	w.markIn(t, fork.ID, record[2].ID, parley.Marks{})
	expect("without an edge", tail(0, 50), 6, 5, 4, 3, 2, 1)
}

// forkFilters: every filter and page reads the parts like a single log.
func forkFilters(t *testing.T, w *world) {
	grandparent, _ := w.varied(t)
	whole := w.check(t, grandparent).Record
	cut := func(through int64) int64 { // what a fork at this point would share
		return *w.fork(t, grandparent, through).ForkedThrough
	}
	at := cut(int64(len(whole)) / 2)
	parent := w.fork(t, grandparent, at)
	w.exchange(t, parent.ID, "in the middle", "-")
	child := w.fork(t, parent.ID, at+2)
	w.exchange(t, child.ID, "at the end", "-")
	all := w.check(t, child.ID).Record
	yes, no := true, false
	for name, filter := range map[string]struct {
		query store.MessageQuery
		keep  func(parley.Message) bool
	}{
		"all": {store.MessageQuery{}, func(parley.Message) bool { return true }},
		"role": {store.MessageQuery{Roles: []parley.Role{parley.RoleUser}}, func(m parley.Message) bool {
			return m.Role == parley.RoleUser
		}},
		"roles": {store.MessageQuery{Roles: []parley.Role{parley.RoleAssistant, parley.RoleUser}},
			func(m parley.Message) bool {
				return m.Role == parley.RoleUser || m.Role == parley.RoleAssistant
			}},
		"internal": {store.MessageQuery{Internal: &yes}, func(m parley.Message) bool { return m.Internal }},
		"shown":    {store.MessageQuery{Internal: &no}, func(m parley.Message) bool { return !m.Internal }},
		"status": {store.MessageQuery{Status: parley.MessageCompleted}, func(m parley.Message) bool {
			return m.Status == parley.MessageCompleted
		}},
		"turn": {store.MessageQuery{TurnID: all[0].TurnID}, func(m parley.Message) bool {
			return m.TurnID == all[0].TurnID
		}},
	} {
		for _, descending := range []bool{false, true} {
			for limit := 1; limit <= 3; limit++ {
				want := []int64{}
				for _, m := range all {
					if filter.keep(m) {
						want = append(want, m.Sequence)
					}
				}
				if descending {
					slices.Reverse(want)
				}
				q := filter.query
				q.Descending, q.Limit, q.RecordOnly = descending, limit, true
				got := []int64{}
				for {
					page, err := w.store.Messages(w.ctx, w.scope, child.ID, q)
					must(t, "Messages", err)
					ids, err := w.store.MessageIDs(w.ctx, w.scope, child.ID, q)
					must(t, "MessageIDs", err)
					for i, m := range page {
						got, q.AfterSequence = append(got, m.Sequence), m.Sequence
						if i >= len(ids) || ids[i].ID != m.ID {
							t.Fatalf("%s: the ids of a page differ", name)
						}
					}
					if len(page) < limit {
						break
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, descending %t, %d at a time (-want +got):\n%s", name, descending, limit, diff)
				}
			}
		}
	}
}

// forkOutlives: what a fork shares survives its parent's deletion, and nothing else of the parent does.
func forkOutlives(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	w.exchange(t, parent, "two", "2")
	streamed := w.session2(t, parent, "three")
	begin := w.begin(t, streamed.Fence, 1)
	w.flush(t, streamed.Fence, begin.Call.MessageID, 1, 0, "th")
	settle := settlement(begin, "three")
	settle.End = completed()
	w.settle(t, streamed.Fence, settle)
	record := w.check(t, parent).Record
	early, late := w.fork(t, parent, 2), w.fork(t, parent, 6)
	w.exchange(t, early.ID, "other", "-")
	before := w.check(t, late.ID)
	w.exchange(t, parent, "four", "4")
	gone := w.check(t, parent).Record[6:]

	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, parent))
	w.drainOutbox(t)
	w.unchanged(t, "the parent's purge", late.ID, before)
	w.check(t, early.ID)
	for _, m := range gone {
		_, err := w.store.Message(w.ctx, w.scope, m.ID)
		refused(t, "a message that nobody shares", err, parley.CodeNotFound)
	}
	found, err := w.store.Message(w.ctx, w.scope, record[5].ID)
	must(t, "Message", err)
	if string(found.Content) != string(record[5].Content) {
		t.Errorf("a shared message has the content %s", found.Content)
	}

	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, late.ID))
	w.drainOutbox(t)
	for i, m := range record {
		_, err := w.store.Message(w.ctx, w.scope, m.ID)
		if i < 2 {
			must(t, "Message", err)
			continue
		}
		refused(t, "a message that nobody shares any more", err, parley.CodeNotFound)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, early.ID))
	w.drainOutbox(t)
	for _, m := range record {
		_, err := w.store.Message(w.ctx, w.scope, m.ID)
		refused(t, "a message of a log that nobody reads", err, parley.CodeNotFound)
	}
}

func forkGoesFirst(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	fork := w.fork(t, parent, 2)
	w.exchange(t, fork.ID, "two", "2")
	s := w.check(t, fork.ID)
	before := w.check(t, parent)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, fork.ID))
	w.drainOutbox(t)
	s.Record = s.Record[2:] // the others are its parent's
	w.checkGone(t, fork.ID, s)
	w.unchanged(t, "its fork's purge", parent, before)
}

func forkFiles(t *testing.T, w *world) {
	shared, own := w.upload(t, "shared.bin", pieces('s')), w.upload(t, "own.bin", pieces('o'))
	parent := w.session(t)
	for _, file := range []parley.ID{shared.ID, own.ID} {
		say := w.sayFiles(file)
		alone(&say)
		w.post(t, parent, say)
	}
	fork := w.fork(t, parent, 1, func(f *store.NewFork) { f.Session.Visibility = parley.VisibilityWorkspace })
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, parent))
	w.drainOutbox(t)
	guest := w.guest()
	_, err := w.store.File(w.ctx, guest, shared.ID)
	must(t, "File of a shared message", err)
	_, err = w.store.File(w.ctx, w.scope, own.ID)
	refused(t, "File of a message that is gone", err, parley.CodeNotFound)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, fork.ID))
	w.drainOutbox(t)
	_, err = w.store.File(w.ctx, w.scope, shared.ID)
	refused(t, "File of a message that nobody shares any more", err, parley.CodeNotFound)
}

// forkSeen: whoever sees a fork sees what it shares, and no more of the parent.
func forkSeen(t *testing.T, w *world) {
	parent := w.session(t)
	w.exchange(t, parent, "one", "1")
	w.exchange(t, parent, "two", "2")
	record := w.check(t, parent).Record
	guest := w.guest()
	w.fork(t, parent, 2, func(f *store.NewFork) { f.Session.Visibility = parley.VisibilityWorkspace })
	for i, m := range record {
		_, err := w.store.Message(w.ctx, guest, m.ID)
		_, versions := w.store.Versions(w.ctx, guest, m.ID)
		if i < 2 {
			must(t, "Message", err)
			must(t, "Versions", versions)
			continue
		}
		refused(t, "Message after the cut", err, parley.CodeNotFound)
		refused(t, "Versions after the cut", versions, parley.CodeNotFound)
	}
	_, err := w.store.Session(w.ctx, guest, parent)
	refused(t, "the parent", err, parley.CodeNotFound)
}

// forkHead: the head of a fork's window consists of what it shares and what it wrote, by its own marks.
func forkHead(t *testing.T, w *world) {
	yes, no := true, false
	parent := w.session(t)
	for range 4 {
		w.exchange(t, parent, "question", "answer")
	}
	record := w.check(t, parent).Record
	w.mark(t, record[2].ID, parley.MarksChange{Pinned: &yes})
	summary := w.compacted(t, parent, 4, "short")
	fork := w.fork(t, parent, 9).ID
	if !w.sessionState(t, fork).Context.Held {
		t.Error("Context.Held is false for the fork")
	}
	w.heldAre(t, "the fork at first", fork, 9, 1, 3)
	w.exchange(t, fork, "question", "answer")
	own := w.check(t, fork).Record[9]
	w.markIn(t, fork, own.ID, parley.Marks{Pinned: true})
	w.mark(t, record[2].ID, parley.MarksChange{Pinned: &no})
	w.mark(t, summary.MessageID, parley.MarksChange{SetAside: &yes})
	w.heldAre(t, "the parent, whose marks changed", parent, 0, 1)
	w.heldAre(t, "the fork, with a pin of its own", fork, 9, 1, 3, 10)
	w.compacted(t, fork, 8, "shorter")
	w.heldAre(t, "a summary of its own", fork, 12, 1, 3, 10)
	w.markIn(t, fork, record[0].ID, parley.Marks{SetAside: true})
	w.heldAre(t, "the first task set aside", fork, 12, 3, 3, 10)
	w.markIn(t, fork, record[4].ID, parley.Marks{ContextEdge: true})
	w.heldAre(t, "an edge in what is shared", fork, 12, 5, 3, 10)
	w.markIn(t, fork, summary.MessageID, parley.Marks{SetAside: true})
	w.heldAre(t, "the shared summary set aside", fork, 12, 5, 3, 10)
	w.markIn(t, fork, record[2].ID, parley.Marks{})
	w.heldAre(t, "unpinned", fork, 12, 5, 10)
}

// thinVersions: old enough versions are deleted, except of streaming texts; the message stays readable as one version.
func thinVersions(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "an ")
	w.flush(t, claim.Fence, begin.Call.MessageID, 2, 3, "answer")
	settle := settlement(begin, "an answer.")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	next := w.session2(t, session, "two")
	streaming := w.begin(t, next.Fence, 1)
	w.flush(t, next.Fence, streaming.Call.MessageID, 1, 0, "half")
	count := func(message parley.ID) int {
		t.Helper()
		versions, err := w.store.Versions(w.ctx, w.scope, message)
		must(t, "Versions", err)
		return len(versions)
	}
	thin := func(before parley.Time) {
		t.Helper()
		more, err := w.store.ThinVersions(w.ctx, before)
		must(t, "ThinVersions", err)
		if more {
			t.Error("more was reported")
		}
	}
	thin(parley.Now() - 3_600_000)
	if n := count(begin.Call.MessageID); n != 3 {
		t.Errorf("a younger message has %d versions", n)
	}
	thin(parley.Now() + 3_600_000)
	versions, err := w.store.Versions(w.ctx, w.scope, begin.Call.MessageID)
	must(t, "Versions", err)
	if len(versions) != 1 || versions[0].Text != "an answer." {
		t.Errorf("the old versions are %+v", versions)
	}
	if n := count(streaming.Call.MessageID); n != 1 {
		t.Errorf("a streaming message has %d versions", n)
	}
	rest := settlement(streaming, "half a sentence")
	rest.End = completed()
	w.settle(t, next.Fence, rest)
	w.check(t, session)
}
