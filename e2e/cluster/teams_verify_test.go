package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// ledger is a workspace's record, read for the checks of teams.
type ledger struct {
	x           *trial
	delegations map[parley.ID]*parley.Delegation
	agents      map[parley.ID]string // slugs
	sessions    []storetest.Snapshot // background sessions
	messages    map[parley.ID]parley.Message
	linked      map[parley.ID][]parley.Message // by the delegation that their metadata names
	scheduled   map[parley.ID][]parley.Message // by schedule
	turns       map[parley.ID]parley.Turn
	began       map[parley.ID]int // turns by trigger
	ends        map[parley.ID][]end
}

// end is an event that says how a delegation ended.
type end struct {
	session parley.ID
	status  parley.DelegationStatus
}

// verify holds the record of all teams against what they were told. The processes have ended.
func (c *company) verify() {
	c.x.t.Helper()
	db := c.x.database.open(c.x.t, c.x)
	defer db.Close()
	for _, a := range c.x.accounts {
		l, err := c.x.read(context.Background(), db, a.workspace)
		if err != nil {
			c.x.t.Fatal(err)
		}
		for _, d := range l.delegations {
			l.checkDelegation(d)
		}
		for i := range l.sessions {
			l.checkSession(&l.sessions[i])
		}
		for _, t := range c.teams {
			if t.account == a {
				l.checkOrders(slices.Concat(t.byClock, t.byHand))
			}
		}
		for _, s := range c.schedules {
			if s.account == a {
				l.checkSchedule(context.Background(), db, s)
			}
		}
		for _, r := range c.rhythms {
			if r.account == a {
				l.checkRhythm(context.Background(), db, r)
			}
		}
	}
	c.x.provider.tell(c.x)
}

// read reads a workspace.
func (x *trial) read(ctx context.Context, db store.Store, workspace string) (*ledger, error) {
	l := &ledger{
		x: x, delegations: map[parley.ID]*parley.Delegation{}, agents: map[parley.ID]string{},
		messages: map[parley.ID]parley.Message{}, linked: map[parley.ID][]parley.Message{},
		scheduled: map[parley.ID][]parley.Message{}, turns: map[parley.ID]parley.Turn{},
		began: map[parley.ID]int{}, ends: map[parley.ID][]end{},
	}
	id, err := db.Workspace(ctx, workspace)
	if err != nil {
		return nil, err
	}
	scope := store.Scope{WorkspaceID: id}
	for query := (store.DelegationQuery{Ascending: true, Limit: parley.MaxPage}); ; {
		rows, err := db.Delegations(ctx, scope, query)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for _, d := range rows {
			l.delegations[d.ID] = &d
			query.AfterCreated, query.AfterID = d.CreatedAt, d.ID
		}
	}
	for query := (store.AgentQuery{Limit: parley.MaxPage}); ; {
		rows, err := db.Agents(ctx, id, query)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			l.agents[rows[i].ID], query.AfterSlug = rows[i].Slug, rows[i].Slug
		}
	}
	seen := map[parley.ID]bool{}
	for _, d := range l.delegations {
		for _, at := range []parley.ID{d.FromSessionID, d.ToSessionID} {
			if at.IsZero() || seen[at] {
				continue
			}
			seen[at] = true
			s, err := storetest.TakeSnapshot(ctx, db, scope, at)
			if err != nil {
				return nil, err
			}
			l.take(&s)
		}
	}
	return l, nil
}

// take notes what a session's record says.
func (l *ledger) take(s *storetest.Snapshot) {
	for _, m := range s.Record {
		l.messages[m.ID] = m
		var link struct {
			parley.DelegationLink
			parley.ScheduleLink
		}
		if len(m.Metadata) > 0 && json.Unmarshal(m.Metadata, &link) != nil {
			l.x.problem("message %s has the metadata %s", m.ID, m.Metadata)
		}
		if !link.DelegationID.IsZero() {
			l.linked[link.DelegationID] = append(l.linked[link.DelegationID], m)
		}
		if !link.ScheduleID.IsZero() {
			l.scheduled[link.ScheduleID] = append(l.scheduled[link.ScheduleID], m)
		}
	}
	for _, turn := range s.Turns {
		l.turns[turn.ID] = turn
		l.began[turn.TriggerMessageID]++
	}
	for _, e := range s.Events {
		l.noteEnd(s.Session.ID, e)
	}
	if s.Session.Mode == parley.ModeBackground {
		l.sessions = append(l.sessions, *s)
	}
}

func (l *ledger) noteEnd(session parley.ID, e parley.Event) {
	switch e.Type {
	case parley.EventDelegationAnswered, parley.EventDelegationFailed, parley.EventDelegationCancelled,
		parley.EventDelegationExpired:
		var told event.Delegation
		if err := json.Unmarshal(e.Data, &told); err != nil {
			l.x.problem("event %d of session %s: %v", e.Sequence, session, err)
		}
		l.ends[told.DelegationID] = append(l.ends[told.DelegationID], end{session, told.Status})
	}
}

// checkDelegation: it ended in one state, which both sessions heard once; its message and its answer arrived once, with
// the right text.
func (l *ledger) checkDelegation(d *parley.Delegation) {
	l.x.count(strings.TrimSpace(fmt.Sprintf("%ss %s %s", d.Kind, d.Status, d.Reason)))
	if !d.Finished() {
		l.x.problem("%s %s is %s", d.Kind, d.ID, d.Status)
		return
	}
	if call, ok := l.messages[d.CallMessageID]; !ok || parley.DelegationID(call.ID) != d.ID {
		l.x.problem("%s %s was sent by the call %s, which is not in the record", d.Kind, d.ID, d.CallMessageID)
	}
	heard := map[parley.ID]int{}
	for _, e := range l.ends[d.ID] {
		heard[e.session]++
		if e.status != d.Status {
			l.x.problem("%s %s is %s, and session %s heard %s", d.Kind, d.ID, d.Status, e.session, e.status)
		}
	}
	carried, returned := 0, 0
	for _, m := range l.linked[d.ID] {
		switch {
		case m.ID == d.MessageID && m.SessionID == d.ToSessionID:
			carried++
		case m.ID == d.ReturnMessageID && m.SessionID == d.FromSessionID:
			returned++
		default:
			l.x.problem("%s %s also made message %s in session %s", d.Kind, d.ID, m.ID, m.SessionID)
		}
	}
	least := 1
	if d.MessageID.IsZero() || d.Status == parley.DelegationCancelled { // its message was taken out of the queue
		least = 0
	}
	if carried < least || carried > 1 || d.MessageID.IsZero() && carried > 0 {
		l.x.problem("%s %s was delivered %d times", d.Kind, d.ID, carried)
	}
	if !d.Kind.Asks() {
		return
	}
	untold := d.ReturnMessageID.IsZero() && d.Status == parley.DelegationCancelled && !d.ParentID.IsZero()
	if returned != 1 && !untold {
		l.x.problem("the end of %s %s, %s, was told its sender %d times", d.Kind, d.ID, d.Status, returned)
	}
	if heard[d.FromSessionID] != 1 || !d.ToSessionID.IsZero() && heard[d.ToSessionID] != 1 || len(heard) > 2 {
		l.x.problem("the end of %s %s was told %v times by events", d.Kind, d.ID, heard)
	}
	if returned == 1 {
		l.checkReturn(d)
	}
}

// checkReturn: the message that came back says what it must.
func (l *ledger) checkReturn(d *parley.Delegation) {
	var asked job
	if err := json.Unmarshal([]byte(d.Text), &asked); err != nil {
		l.x.problem("%s %s: %v", d.Kind, d.ID, err)
		return
	}
	text, _ := textOf(l.messages[d.ReturnMessageID].Content)
	as, said, problem := arrived(text)
	answers := as == arrivesDone || as == arrivesAsAnswer
	if problem != "" || said.N != asked.N || answers != (d.Status == parley.DelegationAnswered) {
		l.x.problem("%s %s, %s, with the job %d came back as %q", d.Kind, d.ID, d.Status, asked.N, text)
	}
}

// checkSession: each message of the record ran once, in a turn that did each of its steps once.
func (l *ledger) checkSession(s *storetest.Snapshot) {
	l.x.checkRules(*s)
	l.x.checkEnded(*s)
	l.x.checkOneAtATime(*s)
	texts, calls := map[parley.ID][]string{}, map[parley.ID]map[string]int{}
	for _, m := range s.Record {
		switch {
		case m.Role == parley.RoleUser:
			turn, ok := l.turns[m.TurnID]
			if trigger := l.began[m.ID]; !ok || trigger > 1 || trigger == 0 && turn.TriggerMessageID == m.ID {
				l.x.problem("message %s of session %s began %d turns", m.ID, s.Session.ID, trigger)
			}
		case m.Role == parley.RoleAssistant && m.Status == parley.MessageCompleted:
			text, _ := textOf(m.Content)
			texts[m.TurnID] = append(texts[m.TurnID], text)
		case m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted:
			if calls[m.TurnID] == nil {
				calls[m.TurnID] = map[string]int{}
			}
			calls[m.TurnID][m.ToolName]++
		}
	}
	for _, turn := range s.Turns {
		l.x.count("turns " + string(turn.Status))
		if turn.Attempt > 1 {
			l.x.count("turns claimed more than once")
		}
		text, _ := textOf(l.messages[turn.TriggerMessageID].Content)
		as, o, problem := arrived(text)
		if problem != "" && turn.Status != parley.TurnCancelled { // one that never began has no message in the record
			l.x.problem("turn %s: %s", turn.ID, problem)
		}
		switch turn.Status {
		case parley.TurnCompleted:
			l.checkTurn(turn, as, o, texts[turn.ID], calls[turn.ID])
		case parley.TurnCancelled:
			if d := l.workOf(turn); d == nil || !d.Finished() {
				l.x.problem("turn %s of session %s was cancelled, and its work goes on", turn.ID, s.Session.ID)
			}
		default:
			if turn.Error == nil || turn.Error.Class != parley.ClassCrashLoop {
				l.x.problem("turn %s is %s: %+v", turn.ID, turn.Status, turn.Error)
			}
		}
	}
}

// checkTurn: a completed turn said each of its texts and called each of its tools once.
func (l *ledger) checkTurn(turn parley.Turn, as arrival, o job, texts []string, calls map[string]int) {
	want := []string{turnText(as, o)}
	sends := map[string]int{}
	if as == arrivesAsTask || as == arrivesByHand {
		for _, call := range o.sends() {
			sends[call.name]++
		}
		if len(sends) > 0 {
			want = []string{"one moment", want[0]}
		}
	}
	if !slices.Equal(texts, want) {
		l.x.problem("turn %s of session %s said %q, not %q", turn.ID, turn.SessionID, texts, want)
	}
	for name, n := range calls {
		if sends[name] != n {
			l.x.problem(
				"turn %s of session %s called %s %d times, not %d",
				turn.ID,
				turn.SessionID,
				name,
				n,
				sends[name],
			)
		}
	}
	if len(calls) != len(sends) {
		l.x.problem("turn %s of session %s called %v, not %v", turn.ID, turn.SessionID, calls, sends)
	}
}

// workOf returns what a turn worked for; nil for nothing.
func (l *ledger) workOf(turn parley.Turn) *parley.Delegation {
	for _, d := range l.delegations {
		switch {
		case d.MessageID == turn.TriggerMessageID && d.Kind.Asks():
			return d
		case d.ReturnMessageID == turn.TriggerMessageID, d.MessageID == turn.TriggerMessageID:
			return l.delegations[d.ParentID]
		}
	}
	return nil
}

// checkOrders: every plan began one turn, and whatever its turns were to send was sent once.
func (l *ledger) checkOrders(plans []job) {
	tasks, began := map[int]int{}, map[int]int{}
	for _, d := range l.delegations {
		var o job
		if err := json.Unmarshal([]byte(d.Text), &o); err == nil && d.Kind == parley.DelegationTask {
			tasks[o.N]++
			if l.agents[d.ToAgentID] != o.To {
				l.x.problem("task %d went to %s, not to %s", o.N, l.agents[d.ToAgentID], o.To)
			}
		}
	}
	lost := map[int]bool{}
	for _, turn := range l.turns {
		m := l.messages[turn.TriggerMessageID]
		text, _ := textOf(m.Content)
		if as, o, _ := arrived(text); as == arrivesByHand {
			began[o.N]++
			lost[o.N] = turn.Status != parley.TurnCompleted
		}
	}
	for _, plan := range plans {
		if began[plan.N] != 1 {
			l.x.problem("plan %d began %d turns", plan.N, began[plan.N])
		}
		for _, task := range plan.Tasks {
			if n := tasks[task.N]; n > 1 || n == 0 && !lost[plan.N] {
				l.x.problem("task %d of plan %d was handed over %d times", task.N, plan.N, n)
			}
		}
	}
}

// checkSchedule: it ran once, and posted one message.
func (l *ledger) checkSchedule(ctx context.Context, db store.Store, s planned) {
	workspace, err := db.Workspace(ctx, s.account.workspace)
	if err != nil {
		l.x.t.Fatal(err)
	}
	runs, err := db.ScheduleRuns(ctx, workspace, s.id, store.ScheduleRunQuery{Limit: 10})
	if err != nil {
		l.x.t.Fatal(err)
	}
	posted := l.scheduled[s.id]
	if len(runs) != 1 || runs[0].State != parley.RunPosted || len(posted) != 1 || posted[0].ID != runs[0].MessageID ||
		posted[0].TurnID != runs[0].TurnID {
		l.x.problem("schedule %s ran %+v and posted %d messages", s.id, runs, len(posted))
		return
	}
	l.x.count("schedules run")
}
