package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// recorded is what the checks of a whole trial gather from its sessions.
type recorded struct {
	turns  map[parley.TurnStatus]int
	failed map[parley.ErrorClass]int
	again  int                  // turns that were claimed more than once
	calls  map[string]*toolCall // of the tool with an effect
}

// toolCall is a call of the record and what came of it.
type toolCall struct {
	session parley.ID
	success bool // its result says that it ran
}

// verify holds the record of all sessions against what the clients were told.
// The processes have ended.
func (x *trial) verify(drivers []*driver, others []*watcher) {
	x.t.Helper()
	db := x.database.open(x.t, x)
	defer db.Close()
	ctx := context.Background()
	found := recorded{
		turns:  map[parley.TurnStatus]int{},
		failed: map[parley.ErrorClass]int{},
		calls:  map[string]*toolCall{},
	}
	for _, d := range drivers {
		workspace, err := db.Workspace(ctx, d.account.workspace)
		if err != nil {
			x.t.Fatal(err)
		}
		s, err := storetest.TakeSnapshot(ctx, db, store.Scope{WorkspaceID: workspace}, d.session)
		if err != nil {
			x.t.Fatalf("reading session %s: %v", d.session, err)
		}
		x.checkRules(s)
		x.checkEnded(s)
		x.checkOneAtATime(s)
		x.checkPosts(ctx, db, store.Scope{WorkspaceID: workspace}, d, s)
		x.checkAnswers(s)
		x.checkWatched(d.fold, s)
		for _, w := range others {
			if w.session == d.session {
				x.checkWatched(w.fold, s)
			}
		}
		found.gather(s)
	}
	x.checkEffects(found.calls)
	x.provider.tell(x)
	x.add("turns claimed more than once", found.again)
	for status, n := range found.turns {
		x.add("turns "+string(status), n)
	}
	for class, n := range found.failed {
		x.add("turns failed as "+string(class), n)
		if class != parley.ClassCrashLoop {
			x.problem("%d turns failed as %s", n, class)
		}
	}
}

func (r *recorded) gather(s storetest.Snapshot) {
	for _, turn := range s.Turns {
		r.turns[turn.Status]++
		if turn.Attempt > 1 {
			r.again++
		}
		if turn.Error != nil {
			r.failed[turn.Error.Class]++
		}
	}
	for _, m := range s.Record {
		switch {
		case m.ToolName != "effect":
		case m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted:
			r.calls[m.ToolCallID] = &toolCall{session: m.SessionID}
		case m.Role == parley.RoleToolResult:
			var content parley.ToolResultContent
			if json.Unmarshal(m.Content, &content) == nil && r.calls[m.ToolCallID] != nil {
				r.calls[m.ToolCallID].success = content.Success
			}
		}
	}
}

// checkClocks: the clocks of the processes are as wrong as they are meant to be.
func (x *trial) checkClocks() {
	x.t.Helper()
	var last time.Time
	for i, p := range x.processes {
		request, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, "http://"+p.addr+"/healthz", nil)
		if err != nil {
			x.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			x.t.Fatal(err)
		}
		_ = response.Body.Close()
		says, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			x.t.Fatal(err)
		}
		if apart := says.Sub(last); i > 0 && (apart < clocksApart-time.Minute || apart > clocksApart+time.Minute) {
			x.t.Fatalf("the clock of %s is %s ahead of the one before; want %s", p.name, apart, clocksApart)
		}
		last = says
	}
}

// checkNothingLeft: all is quiet, and the database says so too.
func (x *trial) checkNothingLeft() {
	x.t.Helper()
	if x.database.leftovers == nil {
		return
	}
	found, err := x.database.leftovers()
	if err != nil {
		x.t.Fatal(err)
	}
	for what, n := range found {
		x.problem("there are %d %s", n, what)
	}
}

// checkRules: what holds of every session: sequences, hashes, events, queue,
// statistics, versions.
func (x *trial) checkRules(s storetest.Snapshot) {
	x.t.Helper()
	before := x.t.Failed()
	defer func() { // also when a rule ends the test
		if !before && x.t.Failed() {
			x.t.Logf("session %s broke a rule", s.Session.ID)
		}
	}()
	s.Check(x.t)
}

// checkEnded: nothing waits, runs or streams, and each call has its result.
func (x *trial) checkEnded(s storetest.Snapshot) {
	x.t.Helper()
	if !s.Session.TurnID.IsZero() || len(s.Queue) > 0 {
		x.problem(
			"session %s: turn %s is unfinished, %d messages are queued",
			s.Session.ID,
			s.Session.TurnID,
			len(s.Queue),
		)
	}
	answered := map[string]bool{}
	for _, m := range s.Record {
		if m.Role == parley.RoleToolResult {
			answered[m.ToolCallID] = true
		}
	}
	for _, m := range s.Record {
		if m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted && !answered[m.ToolCallID] {
			x.problem("session %s: call %s has no result", s.Session.ID, m.ToolCallID)
		}
	}
}

// checkPosts: each message that was admitted is there, once and unchanged, and
// its turn came to an end; one that was cancelled had been asked to stop.
func (x *trial) checkPosts(ctx context.Context, store store.Store, scope store.Scope, d *driver, s storetest.Snapshot) {
	x.t.Helper()
	turns := map[parley.ID]parley.Turn{}
	for _, turn := range s.Turns {
		turns[turn.ID] = turn
	}
	texts := map[string]parley.Message{}
	for _, m := range s.Record {
		if m.Role != parley.RoleUser {
			continue
		}
		text, err := textOf(m.Content)
		if err != nil {
			x.problem("message %s: %v", m.ID, err)
		}
		if other, twice := texts[text]; twice {
			x.problem("session %s: one post made the messages %s and %s", d.session, other.ID, m.ID)
		}
		texts[text] = m
	}
	for _, p := range d.posts {
		m, ok := texts[p.script.String()]
		if !ok && d.cancels > 0 && !p.message.IsZero() { // taken out of the queue, it stays apart from the record
			var err error
			if m, err = store.Message(ctx, scope, p.message); err == nil && m.Status == parley.MessageCancelled {
				x.count("messages cancelled in the queue")
				continue
			}
		}
		switch turn, has := turns[m.TurnID]; {
		case !ok:
			x.problem(
				"session %s: message n%d (%s, %s) was admitted and is lost",
				d.session,
				p.script.N,
				p.message,
				p.during,
			)
		case !p.message.IsZero() && m.ID != p.message:
			x.problem(
				"session %s: message n%d was admitted as %s and is recorded as %s",
				d.session,
				p.script.N,
				p.message,
				m.ID,
			)
		case !has || !turn.Status.Finished():
			x.problem("session %s: the turn %s of message n%d is %s", d.session, m.TurnID, p.script.N, turn.Status)
		case turn.Status == parley.TurnCancelled && d.cancels == 0:
			x.problem("session %s: turn %s was cancelled, and nobody had asked", d.session, turn.ID)
		}
	}
}

// checkAnswers: what a step wrote is what the provider said for it, whole when
// the row is completed and a beginning when it was interrupted; a completed turn
// went through every step of its script, each once.
func (x *trial) checkAnswers(s storetest.Snapshot) {
	x.t.Helper()
	scripts := map[parley.ID]script{} // by turn
	for _, turn := range s.Turns {
		for _, m := range s.Record {
			if m.ID == turn.TriggerMessageID {
				text, _ := textOf(m.Content)
				var own script
				if err := json.Unmarshal([]byte(text), &own); err != nil {
					x.problem("turn %s: %v", turn.ID, err)
				}
				scripts[turn.ID] = own
			}
		}
	}
	steps := map[parley.ID][]int{} // completed answers by turn and step; the last step may be asked again by a steer
	for _, m := range s.Record {
		own, ok := scripts[m.TurnID]
		if m.Role != parley.RoleAssistant || !ok {
			continue
		}
		text, _ := textOf(m.Content)
		done := steps[m.TurnID]
		if done == nil {
			done = make([]int, own.Steps+1)
			steps[m.TurnID] = done
		}
		switch step := own.stepOf(text); {
		case m.Status == parley.MessageCompleted && (step == 0 || text != own.text(step)):
			x.problem("session %s: message %d is completed as %q", s.Session.ID, m.Sequence, text)
		case m.Status == parley.MessageCompleted:
			if done[step]++; done[step] > 1 && step < own.Steps {
				x.problem("session %s: step %d of n%d was answered %d times", s.Session.ID, step, own.N, done[step])
			}
		case text != "" && step == 0:
			x.problem("session %s: message %d is %s with %q", s.Session.ID, m.Sequence, m.Status, text)
		}
	}
	for _, turn := range s.Turns {
		own, done := scripts[turn.ID], steps[turn.ID]
		for step := 1; turn.Status == parley.TurnCompleted && step <= own.Steps; step++ {
			if step >= len(done) || done[step] == 0 {
				x.problem("session %s: turn n%d is completed without its step %d", s.Session.ID, own.N, step)
			}
		}
	}
}

// stepOf is the step that a text is of, or the beginning of; 0 for none.
func (s script) stepOf(text string) int {
	for step := 1; step <= s.Steps; step++ {
		if strings.HasPrefix(s.text(step), text) && text != "" {
			return step
		}
	}
	return 0
}

// checkWatched: the texts of whoever watched are those of the record.
func (x *trial) checkWatched(f *fold, s storetest.Snapshot) {
	x.t.Helper()
	if f.last != s.Session.LastEvent {
		x.problem("session %s: watched up to event %d of %d", s.Session.ID, f.last, s.Session.LastEvent)
		return
	}
	for _, m := range s.Record {
		if m.Role != parley.RoleAssistant {
			continue
		}
		if text, _ := textOf(m.Content); text != string(f.texts[m.ID]) {
			x.problem(
				"session %s: message %d was watched as %q and is recorded as %q",
				s.Session.ID,
				m.Sequence,
				f.texts[m.ID],
				text,
			)
		}
		x.count("answers watched")
	}
}

// checkEffects: no call took effect twice, none without standing in the record,
// and none says that it did and did not.
func (x *trial) checkEffects(calls map[string]*toolCall) {
	x.t.Helper()
	raw, err := os.ReadFile(x.effects)
	if err != nil {
		x.t.Fatal(err)
	}
	took := map[string]int{}
	for id := range strings.FieldsSeq(string(raw)) {
		if took[id]++; took[id] == 2 {
			x.problem("call %s took effect twice", id)
		}
		if calls[id] == nil {
			x.problem("call %s took effect and is not in the record", id)
		}
	}
	for id, call := range calls {
		switch {
		case call.success && took[id] == 0:
			x.problem("session %s: call %s says that it ran and did not", call.session, id)
		case call.success:
			x.count("tools run")
		case took[id] > 0:
			x.count("tools with an effect unknown to the record")
		default:
			x.count("tools that never ran")
		}
	}
}
