package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Snapshot is everything that the port returns about one session.
type Snapshot struct {
	Session  parley.Session
	Record   []parley.Message // by sequence
	Queue    []parley.Message // by position
	Turns    []parley.Turn    // in the order of their ids
	Calls    []parley.Call    // in the order of their ids
	Loops    []parley.Loop    // oldest first
	Events   []parley.Event
	Versions map[parley.ID][]parley.Version
}

// TakeSnapshot reads a session through the port, page by page.
func TakeSnapshot(ctx context.Context, db store.Store, scope store.Scope, id parley.ID) (Snapshot, error) {
	const page = 500
	var (
		s   = Snapshot{Versions: map[parley.ID][]parley.Version{}}
		err error
	)
	if s.Session, err = db.Session(ctx, scope, id); err != nil {
		return s, err
	}
	for after := int64(0); ; {
		rows, err := db.Messages(
			ctx,
			scope,
			id,
			store.MessageQuery{AfterSequence: after, RecordOnly: true, Limit: page},
		)
		if err != nil {
			return s, err
		}
		if s.Record = append(s.Record, rows...); len(rows) < page {
			break
		}
		after = rows[len(rows)-1].Sequence
	}
	front := int64(-1 << 62)
	if s.Queue, err = db.Messages(
		ctx,
		scope,
		id,
		store.MessageQuery{AfterPosition: &front, Limit: parley.MaxPage},
	); err != nil {
		return s, err
	}
	for after := (parley.ID{}); ; {
		rows, err := db.Turns(ctx, scope, id, store.TurnQuery{Ascending: true, AfterID: after, Limit: page})
		if err != nil {
			return s, err
		}
		if s.Turns = append(s.Turns, rows...); len(rows) < page {
			break
		}
		after = rows[len(rows)-1].ID
	}
	for after := (parley.ID{}); ; {
		rows, err := db.Calls(ctx, scope, id, store.CallQuery{Ascending: true, AfterID: after, Limit: page})
		if err != nil {
			return s, err
		}
		if s.Calls = append(s.Calls, rows...); len(rows) < page {
			break
		}
		after = rows[len(rows)-1].ID
	}
	if s.Loops, err = db.Loops(ctx, scope, id, store.LoopQuery{Ascending: true, Limit: parley.MaxPage}); err != nil {
		return s, err
	}
	for after := int64(0); ; {
		rows, err := db.Events(ctx, scope, id, after, page)
		if err != nil {
			return s, err
		}
		if s.Events = append(s.Events, rows...); len(rows) < page {
			break
		}
		after = rows[len(rows)-1].Sequence
	}
	for _, message := range s.Record {
		if message.Role != parley.RoleAssistant && message.Role != parley.RoleToolCall {
			continue
		}
		versions, err := db.Versions(ctx, scope, message.ID)
		if err != nil {
			return s, err
		}
		if len(versions) > 0 {
			s.Versions[message.ID] = versions
		}
	}
	return s, nil
}

func (w *world) snapshot(t reporter, session parley.ID) Snapshot {
	t.Helper()
	snapshot, err := TakeSnapshot(w.ctx, w.store, w.scope, session)
	must(t, "reading the session", err)
	return snapshot
}

// unchanged requires that a refusal wrote nothing.
func (w *world) unchanged(t reporter, what string, session parley.ID, before Snapshot) {
	t.Helper()
	after := w.snapshot(t, session)
	if reflect.DeepEqual(before, after) { // a hundredth of the cost of a diff
		return
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatalf("%s was refused but wrote something (-before +after):\n%s", what, diff)
	}
}

// check requires every invariant of a session.
func (w *world) check(t reporter, session parley.ID) Snapshot {
	t.Helper()
	snapshot := w.snapshot(t, session)
	snapshot.check(t)
	return snapshot
}

// Check reports every invariant that a session violates: sequences, queue, hash chain, events, turns, statistics and
// versions.
func (s Snapshot) Check(t *testing.T) {
	t.Helper()
	s.check(t)
}

func (s Snapshot) check(t reporter) {
	t.Helper()
	s.checkRecord(t)
	s.checkQueue(t)
	s.checkTurns(t)
	s.checkLoops(t)
	s.checkEvents(t)
	s.checkStatistics(t)
	s.checkVersions(t)
}

// shares reports whether a fork shares a message with its parent.
func (s Snapshot) shares(m parley.Message) bool {
	return s.Session.ForkedThrough != nil && m.Sequence <= *s.Session.ForkedThrough
}

func (s Snapshot) checkRecord(t reporter) {
	t.Helper()
	var (
		previous  parley.Hash
		ordinal   int64
		calls     = map[string]int64{} // ordinals by tool call id
		answered  = map[string]bool{}
		streaming bool
	)
	for i, m := range s.Record {
		if m.Sequence != int64(i+1) {
			t.Fatalf("message %d of the record has sequence %d: there is a gap", i+1, m.Sequence)
		}
		if m.Position != nil || (m.SessionID == s.Session.ID) == s.shares(m) || m.WorkspaceID != s.Session.WorkspaceID {
			t.Errorf("message %d: position %v, session %s", m.Sequence, m.Position, m.SessionID)
		}
		var own int64
		switch m.Role {
		case parley.RoleToolCall:
			ordinal++
			own = ordinal
			calls[m.ToolCallID] = ordinal
		case parley.RoleToolResult:
			if own = calls[m.ToolCallID]; own == 0 {
				t.Errorf("message %d answers the call %q, which is not before it", m.Sequence, m.ToolCallID)
			}
			if answered[m.ToolCallID] {
				t.Errorf("message %d answers the call %q again", m.Sequence, m.ToolCallID)
			}
			answered[m.ToolCallID] = true
		}
		if m.Status == parley.MessageStreaming {
			streaming = true
			if !m.ContentHash.IsZero() || m.ChainVersion != 0 {
				t.Errorf("message %d is streaming and has a hash", m.Sequence)
			}
			continue
		}
		if !m.Status.Settled() || streaming {
			t.Errorf("message %d is %s (after a streaming one: %t)", m.Sequence, m.Status, streaming)
		}
		// What a step wrote, a transition made a content of; other rows hold what the test gave.
		if m.Step > 0 && InShort(m.Role, m.Content) {
			t.Errorf("message %d is stored in the short form: %s", m.Sequence, m.Content)
		}
		if m.ChainVersion != parley.ChainVersion {
			t.Errorf("message %d has a hash of chain version %d", m.Sequence, m.ChainVersion)
		}
		in := m.ChainInput()
		in.CallOrdinal = own
		want, err := parley.ChainHash(previous, in)
		if err != nil || m.ContentHash != want {
			t.Fatalf(
				"message %d (%s, %s) has hash %s; the record gives %s, %v",
				m.Sequence,
				m.Role,
				m.Status,
				m.ContentHash,
				want,
				err,
			)
		}
		previous = m.ContentHash
	}
	if s.Session.LastSequence != int64(len(s.Record)) {
		t.Errorf(
			"the session's last sequence is %d and the record has %d messages",
			s.Session.LastSequence,
			len(s.Record),
		)
	}
}

// InShort reports whether a stored content is in the short form of its role, which no writer
// uses any more.
func InShort(role parley.Role, content json.RawMessage) bool {
	switch role {
	case parley.RoleUser, parley.RoleAssistant, parley.RoleToolResult:
	default:
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(content, &members) != nil || members["parts"] == nil {
		return true
	}
	for _, name := range []string{"text", "files", "links", "reasoning", "refusal", "result"} {
		if members[name] != nil {
			return true
		}
	}
	return false
}

func (s Snapshot) checkQueue(t reporter) {
	t.Helper()
	last := int64(-1 << 62)
	for _, m := range s.Queue {
		switch {
		case m.Status != parley.MessageQueued || m.Sequence != 0 || !m.ContentHash.IsZero():
			t.Errorf("the queue holds a %s message with sequence %d and hash %q", m.Status, m.Sequence, m.ContentHash)
		case m.Position == nil || *m.Position <= last:
			t.Fatalf("the queue is out of order at %s", m.ID)
		}
		last = *m.Position
	}
}

func (s Snapshot) checkTurns(t reporter) {
	t.Helper()
	active := parley.ID{} // running or waiting
	unfinished := map[parley.ID]parley.Turn{}
	for _, turn := range s.Turns {
		if !turn.Status.Finished() {
			unfinished[turn.ID] = turn
		}
		if turn.Status == parley.TurnRunning || turn.Status == parley.TurnWaiting {
			if !active.IsZero() {
				t.Fatalf("the turns %s and %s are both under way", active, turn.ID)
			}
			active = turn.ID
		}
		if turn.Status.Finished() != (turn.FinishedAt != 0) ||
			(turn.Status == parley.TurnFailed) != (turn.Error != nil) {
			t.Errorf("turn %s is %s, finished at %q with error %v", turn.ID, turn.Status, turn.FinishedAt, turn.Error)
		}
		if turn.Status == parley.TurnWaiting != (turn.WaitReason != "") {
			t.Errorf("turn %s is %s with the reason %q", turn.ID, turn.Status, turn.WaitReason)
		}
	}
	first, ok := unfinished[s.Session.TurnID]
	switch {
	case len(unfinished) > 0 && !ok:
		t.Fatalf("%d turns are unfinished and the session's turn is %q", len(unfinished), s.Session.TurnID)
	case len(unfinished) == 0 && !s.Session.TurnID.IsZero():
		t.Fatalf("no turn is unfinished and the session's turn is %s", s.Session.TurnID)
	case ok && !active.IsZero() && first.ID != active:
		t.Errorf("turn %s is %s before the first unfinished one, %s", active, unfinished[active].Status, first.ID)
	case ok && s.Session.Status != parley.SessionStatusOf(first.Status):
		t.Errorf("the session is %s while its first unfinished turn is %s", s.Session.Status, first.Status)
	case ok && s.Session.WaitReason != first.WaitReason:
		t.Errorf("the session waits for %q, its turn for %q", s.Session.WaitReason, first.WaitReason)
	case len(s.Turns) == 0 && s.Session.Status != parley.SessionPending:
		t.Errorf("a session without turns is %s", s.Session.Status)
	}
	for _, m := range s.Record {
		if _, open := unfinished[m.TurnID]; m.Status == parley.MessageStreaming && !open {
			t.Errorf("message %d streams forever: its turn is finished", m.Sequence)
		}
	}
	for _, call := range s.Calls {
		if _, open := unfinished[call.TurnID]; call.Outcome == parley.CallOpen && !open &&
			call.Purpose == parley.PurposeStep {
			t.Errorf("call %s is open forever: its turn is finished", call.ID)
		}
	}
}

// checkLoops: each iteration was made once, in order, and a loop runs exactly while its last turn is unfinished; at
// most one loop runs.
func (s Snapshot) checkLoops(t reporter) {
	t.Helper()
	running := 0
	for _, loop := range s.Loops {
		made, last := 0, parley.Turn{}
		for _, turn := range s.Turns {
			if turn.LoopID != loop.ID {
				continue
			}
			if turn.ContinuesID.IsZero() {
				made++
			}
			if turn.Iteration != made {
				t.Fatalf("turn %s is iteration %d of a loop with %d so far", turn.ID, turn.Iteration, made)
			}
			if turn.ID == loop.TurnID {
				last = turn
			}
		}
		if made != loop.Iteration || last.Iteration != made || made > loop.Max {
			t.Fatalf(
				"the loop is at iteration %d of %d with turn %s; it made %d",
				loop.Iteration,
				loop.Max,
				loop.TurnID,
				made,
			)
		}
		switch {
		case loop.State == parley.LoopRunning && last.Status.Finished():
			t.Fatalf("the loop runs forever: its turn is %s", last.Status)
		case loop.State != parley.LoopRunning && loop.State != parley.LoopStopped && !last.Status.Finished() &&
			last.ContinuesID.IsZero():
			t.Fatalf("the loop is %s and its turn %s", loop.State, last.Status)
		case (loop.FinishedAt == 0) != (loop.State == parley.LoopRunning),
			(loop.Reason == "") != (loop.State == parley.LoopRunning):
			t.Fatalf("the loop is %s for %q, finished at %q", loop.State, loop.Reason, loop.FinishedAt)
		}
		if loop.State == parley.LoopRunning {
			running++
		}
	}
	if running > 1 {
		t.Fatalf("%d loops run", running)
	}
}

func (s Snapshot) checkEvents(t reporter) {
	t.Helper()
	ended := map[parley.ID]parley.EventType{}
	entered := map[parley.ID]int{}
	content := map[parley.ID]parley.Message{}
	for _, m := range s.Record {
		content[m.ID] = m
	}
	for i, told := range s.Events {
		if told.Sequence != int64(i+1) {
			t.Fatalf("event %d has sequence %d: there is a gap", i+1, told.Sequence)
		}
		var data struct {
			TurnID    parley.ID              `json:"turn_id"`
			MessageID parley.ID              `json:"message_id"`
			Turn      *parley.Turn           `json:"turn"`
			Messages  []event.SettledMessage `json:"messages"`
		}
		if err := json.Unmarshal(told.Data, &data); err != nil {
			t.Fatalf("event %d (%s) has unreadable data %s: %v", told.Sequence, told.Type, told.Data, err)
		}
		switch {
		case told.Type.EndsTurn():
			if before, twice := ended[data.TurnID]; twice {
				t.Fatalf("turn %s ends with %s and again with %s", data.TurnID, before, told.Type)
			}
			ended[data.TurnID] = told.Type
			if data.Turn == nil || data.Turn.ID != data.TurnID ||
				parley.EventType("session."+string(data.Turn.Status)) != told.Type {
				t.Errorf("event %d (%s) carries the turn %+v", told.Sequence, told.Type, data.Turn)
			}
		case told.Type == parley.EventMessageCreated:
			entered[data.MessageID]++
		case told.Type == parley.EventStepGenerated || told.Type == parley.EventStepError:
			for _, m := range data.Messages {
				own := content[m.MessageID]
				if own.Content != nil { // the event shows it as answers do
					own.Content = parley.AppendContent(nil, own.Role, own.Content)
				}
				if string(own.Content) != string(m.Content) || own.Status != m.Status || own.Role != m.Role {
					t.Errorf("event %d shows message %s as %s %s %s; the record has %s %s %s",
						told.Sequence, m.MessageID, m.Role, m.Status, m.Content, own.Role, own.Status, own.Content)
				}
			}
		}
	}
	if s.Session.LastEvent != int64(len(s.Events)) {
		t.Errorf("the session's last event is %d but there are %d", s.Session.LastEvent, len(s.Events))
	}
	for _, turn := range s.Turns {
		switch end, ok := ended[turn.ID]; {
		case ok != turn.Status.Finished():
			t.Errorf("turn %s is %s; end announced: %t", turn.ID, turn.Status, ok)
		case ok && end != parley.EventType("session."+string(turn.Status)):
			t.Errorf("turn %s is %s but its end was announced as %s", turn.ID, turn.Status, end)
		}
	}
	for _, m := range s.Record {
		if s.shares(m) {
			continue
		}
		if entered[m.ID] != 1 {
			t.Errorf("message %d (%s) entered the record and was announced %d times", m.Sequence, m.Role, entered[m.ID])
		}
	}
	for _, m := range s.Queue {
		if entered[m.ID] != 0 {
			t.Errorf("the queued message %s was announced as created", m.ID)
		}
	}
}

func (s Snapshot) checkStatistics(t reporter) {
	t.Helper()
	want := parley.Statistics{Messages: int64(len(s.Record)), Turns: int64(len(s.Turns))}
	for _, m := range s.Record {
		if !m.Internal {
			want.UserFacing++
		}
	}
	byTurn := map[parley.ID]parley.Tokens{}
	for _, call := range s.Calls {
		if call.Outcome == parley.CallOpen {
			continue
		}
		want.Tokens.Add(call.Usage)
		want.AddCache(call.Usage, call.Cache.Saved)
		sum := byTurn[call.TurnID]
		sum.Add(call.Usage)
		byTurn[call.TurnID] = sum
		if call.Cost == nil {
			want.Unpriced++
		} else {
			want.Cost += *call.Cost
		}
	}
	s.countOutside(&want, byTurn)
	if diff := cmp.Diff(want, s.Session.Statistics); diff != "" {
		t.Errorf("the statistics differ from a recount (-recount +stored):\n%s", diff)
	}
	for _, turn := range s.Turns {
		if diff := cmp.Diff(byTurn[turn.ID], turn.Usage); diff != "" {
			t.Errorf("the usage of turn %s differs from a recount (-recount +stored):\n%s", turn.ID, diff)
		}
	}
}

// countOutside adds the usage that outside agents reported: it is on their messages, without a call.
func (s Snapshot) countOutside(want *parley.Statistics, byTurn map[parley.ID]parley.Tokens) {
	for _, turn := range s.Turns {
		if !turn.Outside() {
			continue
		}
		for _, m := range s.Record {
			if m.TurnID != turn.ID || m.Usage == nil {
				continue
			}
			want.Tokens.Add(*m.Usage)
			sum := byTurn[turn.ID]
			sum.Add(*m.Usage)
			byTurn[turn.ID] = sum
			if turn.Cost == nil {
				want.Unpriced++
			} else {
				want.Cost += *turn.Cost
			}
		}
	}
}

func (s Snapshot) checkVersions(t reporter) {
	t.Helper()
	for _, m := range s.Record {
		ends := map[parley.ContentKind]int{}
		for i, version := range s.Versions[m.ID] {
			if version.N != i+1 || version.Offset != ends[version.Kind] ||
				version.End != version.Offset+len(version.Text) {
				t.Fatalf(
					"version %d of message %d is n=%d %s %d..%d with %d bytes; %s ended at %d before",
					i+1,
					m.Sequence,
					version.N,
					version.Kind,
					version.Offset,
					version.End,
					len(version.Text),
					version.Kind,
					ends[version.Kind],
				)
			}
			ends[version.Kind] = version.End
		}
		if m.Role != parley.RoleAssistant || !m.Status.Settled() || len(s.Versions[m.ID]) == 0 {
			continue
		}
		var content parley.AssistantContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			t.Fatalf("message %d: %v", m.Sequence, err)
		}
		text := ""
		for _, version := range s.Versions[m.ID] {
			if version.Kind == parley.KindText {
				text += version.Text
			}
		}
		if text != content.Text {
			t.Errorf("the versions of message %d end as %q; its text is %q", m.Sequence, text, content.Text)
		}
	}
}
