package storetest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testOutside(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"opened":    outsideOpened,
		"appended":  outsideAppended,
		"again":     outsideAgain,
		"refused":   outsideRefused,
		"delivered": outsideDelivered,
		"repeated":  outsideRepeated,
		"failed":    outsideFailed,
		"queue":     outsideQueue,
		"cancelled": outsideCancelled,
		"control":   outsideControl,
		"silent":    outsideSilent,
		"deleted":   outsideDeleted,
		"foreign":   outsideForeign,
		"told":      outsideTold,
		"calls":     outsideCalls,
	})
}

// outside returns a message that an outside agent opens.
func (w *world) outside(changes ...func(*store.NewMessage)) store.NewMessage {
	message := store.NewMessage{
		ID:        parley.NewID(),
		TurnID:    parley.NewID(),
		Role:      parley.RoleAssistant,
		Author:    w.owner.Author(),
		Content:   parley.EmptyContent(),
		Metadata:  json.RawMessage(`{"run":7}`),
		Streaming: true,
		Model:     "outside/one",
		Timeout:   time.Hour,
	}
	for _, change := range changes {
		change(&message)
	}
	return message
}

// streaming returns a session with an open message, and that message's id.
func (w *world) streaming(t reporter) (session, message parley.ID) {
	t.Helper()
	session = w.session(t)
	return session, w.post(t, session, w.outside()).Message.ID
}

func (w *world) grow(
	t reporter,
	message parley.ID,
	kind parley.ContentKind,
	offset int,
	text string,
) parley.OutsideGrown {
	t.Helper()
	grown, err := w.store.AppendOutside(
		w.ctx,
		w.scope,
		message,
		store.OutsideAppend{Kind: kind, Offset: offset, Text: text},
	)
	must(t, "AppendOutside", err)
	return grown
}

func (w *world) grows(message parley.ID, kind parley.ContentKind, offset int, text string) error {
	_, err := w.store.AppendOutside(
		w.ctx,
		w.scope,
		message,
		store.OutsideAppend{Kind: kind, Offset: offset, Text: text},
	)
	return err
}

func (w *world) deliver(t reporter, message parley.ID, settle store.OutsideSettle) store.OutsideSettled {
	t.Helper()
	settled, err := w.store.SettleOutside(w.ctx, w.scope, message, settle)
	must(t, "SettleOutside", err)
	return settled
}

func delivered() store.OutsideSettle { return store.OutsideSettle{Status: parley.MessageCompleted} }

func outsideOpened(t *testing.T, w *world) {
	session := w.session(t)
	opening := w.outside(keyed("open", "body"))
	posted := w.post(t, session, opening)
	if m := posted.Message; m.Status != parley.MessageStreaming || m.Sequence != 1 || m.TurnID != opening.TurnID ||
		m.Step != 1 ||
		m.Model != "outside/one" {
		t.Fatalf("opened %+v", m)
	}
	if turn := posted.Turn; turn == nil || turn.Status != parley.TurnWaiting || turn.WaitReason != parley.WaitOutside ||
		!turn.Outside() ||
		posted.Claim != nil {
		t.Fatalf("its turn is %+v, claim %v", turn, posted.Claim)
	}
	if diff := cmp.Diff(*posted.Turn, w.turn(t, opening.TurnID)); diff != "" {
		t.Errorf("the turn reads differently (-result +read):\n%s", diff)
	}
	var kinds []parley.EventType
	for _, event := range w.check(t, session).Events {
		kinds = append(kinds, event.Type)
	}
	if diff := cmp.Diff(
		[]parley.EventType{
			parley.EventSessionStarted,
			parley.EventMessageCreated,
			parley.EventStepStarted,
			parley.EventSessionWaiting,
		},
		kinds,
	); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if again := w.post(
		t,
		session,
		opening,
	); !again.Replayed || again.Message.ID != opening.ID ||
		again.Turn.ID != opening.TurnID {
		t.Errorf("the same key again gave %+v", again)
	}
	w.claimsNothing(t)
	if s := w.sessionState(t, session); s.Status != parley.SessionWaiting || s.WaitReason != parley.WaitOutside {
		t.Errorf("the session is %s for %q", s.Status, s.WaitReason)
	}
}

func outsideAppended(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindReasoning, 0, "Hmm 😀.")
	w.grow(t, message, parley.KindText, 0, "Grüße")
	w.grow(t, message, parley.KindText, 7, " aus")
	if got := w.grow(t, message, parley.KindText, 7, " aus"); got.Text != 11 || got.Reasoning != 9 {
		t.Errorf("a repeated piece: %+v", got)
	}
	if got := w.grow(t, message, parley.KindText, 0, "Grüße aus Ulm"); got.Text != 15 {
		t.Errorf("a piece that begins before the end: %+v", got)
	}
	if got := w.grow(t, message, parley.KindText, 15, ""); got.Text != 15 {
		t.Errorf("a sign of life: %+v", got)
	}
	versions, err := w.store.Versions(w.ctx, w.scope, message)
	must(t, "Versions", err)
	var texts []string
	for _, v := range versions {
		texts = append(texts, string(v.Kind)+":"+v.Text)
	}
	if diff := cmp.Diff([]string{"reasoning:Hmm 😀.", "text:Grüße", "text: aus", "text: Ulm"}, texts); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	settled := w.deliver(t, message, delivered())
	want := `{"parts":[{"text":"Hmm 😀.","type":"reasoning"},{"text":"Grüße aus Ulm","type":"text"}]}`
	if got := string(settled.Message.Content); got != want {
		t.Errorf("content %s; want %s", got, want)
	}
	w.check(t, session)
}

// outsideAgain: whatever was appended may be sent again from any offset to any other, and nothing else.
func outsideAgain(t *testing.T, w *world) {
	session, message := w.streaming(t)
	whole := map[parley.ContentKind]string{}
	pieces := map[parley.ContentKind][]string{
		parley.KindReasoning: {"a", "bcd", "e", "fghij"}, parley.KindText: {"0", "1", "23456", "789", "A"},
	}
	for _, kind := range []parley.ContentKind{parley.KindReasoning, parley.KindText} {
		for _, piece := range pieces[kind] {
			w.grow(t, message, kind, len(whole[kind]), piece)
			whole[kind] += piece
		}
	}
	for kind, text := range whole {
		for from := range text {
			for to := from + 1; to <= len(text); to++ {
				w.grow(t, message, kind, from, text[from:to])
				other := text[from:to-1] + "-"
				refused(t, "another "+string(kind), w.grows(message, kind, from, other), parley.CodeConflict)
			}
		}
	}
	w.check(t, session)
}

func outsideRefused(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindReasoning, 0, "why")
	w.grow(t, message, parley.KindText, 0, "abc")
	before := w.snapshot(t, session)
	for _, c := range []struct {
		what   string
		kind   parley.ContentKind
		offset int
		text   string
		end    int
	}{
		{"a gap", parley.KindText, 4, "e", 3},
		{"a different text", parley.KindText, 1, "x", 3},
		{"a different text that continues", parley.KindText, 0, "abXd", 3},
		{"a gap in the reasoning", parley.KindReasoning, 5, "e", 3},
	} {
		err := w.grows(message, c.kind, c.offset, c.text)
		refused(t, c.what, err, parley.CodeConflict)
		var e *parley.Error
		if !errors.As(err, &e) || e.End == nil || *e.End != c.end {
			t.Errorf("%s: the error does not give the end %d: %+v", c.what, c.end, e)
		}
	}
	refused(t, "reasoning after text", w.grows(message, parley.KindReasoning, 3, "more"), parley.CodeConflict)
	w.grow(t, message, parley.KindReasoning, 0, "why") // already stored
	for what, content := range map[string]string{"another text": `{"reasoning":"why","text":"abX"}`,
		"less text": `{"reasoning":"why","text":"ab"}`, "another reasoning": `{"reasoning":"wh","text":"abc"}`} {
		settle := delivered()
		settle.Content = json.RawMessage(content)
		_, err := w.store.SettleOutside(w.ctx, w.scope, message, settle)
		refused(t, "a settle with "+what, err, parley.CodeInvalid)
	}
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.outside(), parley.ID{})
	refused(t, "a second open message", err, parley.CodeBusy)
	archived := true
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &archived})
	refused(t, "archiving", err, parley.CodeConflict)
	w.unchanged(t, "all of it", session, before)

	running := w.started(t, "Go")
	_, err = w.store.PostMessage(w.ctx, w.scope, running.Fence.SessionID, w.outside(), parley.ID{})
	refused(t, "opening while a turn runs", err, parley.CodeBusy)
	own := w.begin(t, running.Fence, 1)
	refused(
		t,
		"appending to a worker's message",
		w.grows(own.Call.MessageID, parley.KindText, 0, "x"),
		parley.CodeConflict,
	)
	_, err = w.store.SettleOutside(w.ctx, w.scope, own.Call.MessageID, delivered())
	refused(t, "settling a worker's message", err, parley.CodeConflict)
}

func outsideDelivered(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "Half")
	cost := parley.Money(11)
	call := store.NewMessage{
		ID:         parley.NewID(),
		Role:       parley.RoleToolCall,
		Author:     w.owner.Author(),
		ToolCallID: "c1",
		ToolName:   "crawl",
		Content:    json.RawMessage(`{"arguments":{},"id":"c1","name":"crawl"}`),
		Metadata:   json.RawMessage(`{}`),
	}
	settled := w.deliver(t, message, store.OutsideSettle{
		Status:   parley.MessageCompleted,
		Content:  json.RawMessage(`{"text":"Half and half"}`),
		Model:    "outside/two",
		Cost:     &cost,
		Usage:    &parley.Usage{InputTokens: tokens(9), OutputTokens: tokens(3)},
		Calls:    []store.NewMessage{call},
		Estimate: func(text string) int { return len(text) },
	})
	m := settled.Message
	if m.Status != parley.MessageCompleted || m.Model != "outside/two" || string(m.Metadata) != `{"run":7}` ||
		m.TokenEstimate != 13 ||
		*m.Usage.InputTokens != 9 {
		t.Errorf("settled %+v", m)
	}
	if diff := cmp.Diff(m, w.message(t, message)); diff != "" {
		t.Errorf("the message reads differently (-result +read):\n%s", diff)
	}
	if settled.Turn.Status != parley.TurnCompleted || settled.Turn.Usage.InputTokens != 9 ||
		*settled.Turn.Cost != cost {
		t.Errorf("its turn is %+v", settled.Turn)
	}
	s := w.check(t, session)
	if len(s.Record) != 2 || s.Record[1].ID != call.ID || !s.Record[1].TurnID.IsZero() ||
		s.Session.Statistics.Cost != cost {
		t.Errorf("record %+v, statistics %+v", s.Record, s.Session.Statistics)
	}
	w.post(t, session, w.result("c1"))
	next := w.post(t, session, w.outside())
	w.deliver(
		t,
		next.Message.ID,
		store.OutsideSettle{
			Status:  parley.MessageCompleted,
			Content: json.RawMessage(`{"text":"Done."}`),
			Usage:   &parley.Usage{InputTokens: tokens(1)},
		},
	)
	if s := w.check(
		t,
		session,
	); s.Session.Statistics.Unpriced != 1 || s.Session.Statistics.InputTokens != 10 ||
		s.Session.Status != parley.SessionCompleted {
		t.Errorf("statistics %+v, %s", s.Session.Statistics, s.Session.Status)
	}
	w.exchange(t, session, "And you?", "I read on.")
	w.check(t, session)
}

func outsideRepeated(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "abc")
	first := w.deliver(t, message, delivered())
	before := w.snapshot(t, session)
	again := w.deliver(t, message, delivered())
	if diff := cmp.Diff(first.Message, again.Message); diff != "" || again.Turn.ID != first.Turn.ID {
		t.Errorf("settling again returns a different message:\n%s", diff)
	}
	same := delivered()
	same.Content = first.Message.Content
	w.deliver(t, message, same)
	same.Content = json.RawMessage(`{"text":"abc"}`) // as a release before kept it
	w.deliver(t, message, same)
	for what, settle := range map[string]store.OutsideSettle{
		"another status":  {Status: parley.MessageCancelled},
		"another content": {Status: parley.MessageCompleted, Content: json.RawMessage(`{"text":"abcd"}`)},
	} {
		_, err := w.store.SettleOutside(w.ctx, w.scope, message, settle)
		stateOfConflict(t, what, err, parley.MessageCompleted)
	}
	stateOfConflict(
		t,
		"an append after the settle",
		w.grows(message, parley.KindText, 3, "d"),
		parley.MessageCompleted,
	)
	plain := w.exchange(t, w.session(t), "a", "b").Message.ID
	_, err := w.store.SettleOutside(w.ctx, w.scope, plain, delivered())
	refused(t, "settling a message that never was open", err, parley.CodeConflict)
	w.unchanged(t, "all of it", session, before)
}

func stateOfConflict(t *testing.T, what string, err error, want parley.MessageStatus) {
	t.Helper()
	refused(t, what, err, parley.CodeConflict)
	var e *parley.Error
	if !errors.As(err, &e) || e.State != string(want) {
		t.Errorf("%s: the conflict names the state %q; want %q", what, e.State, want)
	}
}

func outsideFailed(t *testing.T, w *world) {
	for status, turn := range map[parley.MessageStatus]parley.TurnStatus{parley.MessageFailed: parley.TurnFailed,
		parley.MessageCancelled: parley.TurnCancelled} {
		session, message := w.streaming(t)
		w.grow(t, message, parley.KindText, 0, "Half a sen")
		settle := store.OutsideSettle{Status: status}
		if status == parley.MessageFailed {
			settle.Failure = &parley.Failure{Class: parley.ClassNetwork, Sentence: "The line broke."}
		}
		settled := w.deliver(t, message, settle)
		if settled.Message.Status != status || settled.Turn.Status != turn ||
			string(settled.Message.Content) != `{"parts":[{"text":"Half a sen","type":"text"}]}` ||
			(settled.Message.Error != nil) != (status == parley.MessageFailed) {
			t.Errorf("%s: %+v of %+v", status, settled.Message, settled.Turn)
		}
		s := w.check(t, session)
		if last := s.Events[len(s.Events)-2]; last.Type != parley.EventStepError {
			t.Errorf("%s: announced as %s", status, last.Type)
		}
	}
}

func outsideQueue(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "I think")
	note := w.post(t, session, w.say("noted", alone))
	question := w.post(t, session, w.say("Go on", during(parley.DuringSteer)))
	if note.Message.Status != parley.MessageQueued || question.Message.Status != parley.MessageQueued ||
		question.Message.Steer ||
		question.Turn.ID != question.Message.TurnID {
		t.Fatalf("posts while it is open: %+v and %+v", note.Message, question.Message)
	}
	_, err := w.store.SendQueued(w.ctx, w.scope, question.Message.ID, parley.DuringSteer, parley.ID{})
	refused(t, "a steer to an agent outside", err, parley.CodeConflict)
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("now", during(parley.DuringReject)), parley.ID{})
	refused(t, "a post with reject", err, parley.CodeBusy)
	w.claimsNothing(t)
	w.deliver(t, message, delivered())
	claim := w.claim(t)
	if claim.Turn.ID != question.Turn.ID {
		t.Fatalf("claimed the turn %s; want the queued one, %s", claim.Turn.ID, question.Turn.ID)
	}
	w.answer(t, claim, "Gladly.")
	s := w.check(t, session)
	if len(s.Record) != 4 || s.Record[1].ID != note.Message.ID || s.Record[2].ID != question.Message.ID {
		t.Errorf("the record: %+v", s.Record)
	}
}

func outsideCancelled(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "Half")
	cancelled, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	if cancelled.Held || cancelled.Turn.Status != parley.TurnCancelled || len(cancelled.Settled) != 1 ||
		cancelled.Settled[0] != message {
		t.Errorf("cancelled %+v", cancelled)
	}
	if m := w.message(
		t,
		message,
	); m.Status != parley.MessageCancelled || string(m.Content) != `{"parts":[{"text":"Half","type":"text"}]}` ||
		string(m.Metadata) != `{"run":7}` {
		t.Errorf("the message is %+v", m)
	}
	stateOfConflict(
		t,
		"an append after the cancel",
		w.grows(message, parley.KindText, 4, " more"),
		parley.MessageCancelled,
	)

	other, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "Half")
	posted, err := w.store.PostMessage(w.ctx, w.scope, other, w.say("Stop", during(parley.DuringInterrupt)), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil || w.message(t, message).Status != parley.MessageCancelled {
		t.Fatalf("an interrupt: claim %v, message %s", posted.Claim, w.message(t, message).Status)
	}
	w.answer(t, *posted.Claim, "Stopped.")
	w.check(t, session)
	w.check(t, other)
}

func outsideControl(t *testing.T, w *world) {
	session, message := w.streaming(t)
	turn := w.message(t, message).TurnID
	again := store.TurnAgain{TurnID: parley.NewID()}
	_, err := w.store.ContinueTurn(w.ctx, w.scope, session, turn, again, parley.ID{})
	refused(t, "continuing an open one", err, parley.CodeConflict)
	w.deliver(
		t,
		message,
		store.OutsideSettle{
			Status:  parley.MessageFailed,
			Failure: &parley.Failure{Class: parley.ClassModel, Sentence: "No."},
		},
	)
	_, err = w.store.RetryTurn(w.ctx, w.scope, session, turn, again, parley.ID{})
	refused(t, "retrying an agent outside", err, parley.CodeConflict)
	w.check(t, session)
}

func outsideSilent(t *testing.T, w *world) {
	session := w.session(t)
	message := w.post(t, session, w.outside(func(m *store.NewMessage) { m.Timeout = 20 * time.Millisecond })).Message.ID
	_, patient := w.streaming(t)
	w.grow(t, patient, parley.KindText, 0, "I am")
	queued := w.post(t, session, w.say("next"))
	for deadline := time.Now().Add(patience); w.message(t, message).Status == parley.MessageStreaming; {
		_, err := w.store.Sweep(w.ctx)
		must(t, "Sweep", err)
		if time.Now().After(deadline) {
			t.Fatal("an outside agent went silent, but its message streams forever")
		}
	}
	if m := w.message(
		t,
		message,
	); m.Status != parley.MessageFailed || m.Error == nil || m.Error.Class != parley.ClassInterrupted ||
		m.Error.Sentence != store.OutsideSilent {
		t.Errorf("the message is %+v", m)
	}
	if m := w.message(t, patient); m.Status != parley.MessageStreaming {
		t.Errorf("one before its deadline is %s", m.Status)
	}
	if claim := w.claim(t); claim.Turn.ID != queued.Turn.ID {
		t.Errorf("claimed %s", claim.Turn.ID)
	}
	w.check(t, session)
	touched, err := w.store.Sweep(w.ctx)
	must(t, "Sweep", err)
	if touched != 0 {
		t.Errorf("the next sweep touched %d sessions", touched)
	}
}

func outsideDeleted(t *testing.T, w *world) {
	session, message := w.streaming(t)
	w.grow(t, message, parley.KindText, 0, "Half")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	refused(t, "an append", w.grows(message, parley.KindText, 4, "x"), parley.CodeNotFound)
	_, err := w.store.SettleOutside(w.ctx, w.scope, message, delivered())
	refused(t, "a settle", err, parley.CodeNotFound)
	w.drainOutbox(t)
	refused(t, "an append after the purge", w.grows(message, parley.KindText, 4, "x"), parley.CodeNotFound)
	_, err = w.store.Sweep(w.ctx)
	must(t, "Sweep", err)
}

func outsideForeign(t *testing.T, w *world) {
	session, message := w.streaming(t)
	before := w.snapshot(t, session)
	other := w.neighbour(t, "acme")
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	for what, scope := range map[string]store.Scope{"another workspace": other.scope, "a stranger": stranger} {
		_, err := w.store.AppendOutside(w.ctx, scope, message, store.OutsideAppend{Kind: parley.KindText, Text: "x"})
		refused(t, "an append by "+what, err, parley.CodeNotFound)
		_, err = w.store.SettleOutside(w.ctx, scope, message, delivered())
		refused(t, "a settle by "+what, err, parley.CodeNotFound)
	}
	refused(t, "an append to nothing", w.grows(parley.NewID(), parley.KindText, 0, "x"), parley.CodeNotFound)
	w.unchanged(t, "all of it", session, before)
}

// outsideTold: appended text is announced once it is durable, in order, with the event after which it comes.
func outsideTold(t *testing.T, w *world) {
	tape := w.record()
	session, message := w.streaming(t)
	after := w.sessionState(t, session).LastEvent
	w.grow(t, message, parley.KindText, 0, "abc")
	w.grow(t, message, parley.KindText, 0, "abc") // already stored: nothing is announced
	w.grow(t, message, parley.KindText, 1, "bcd")
	w.deliver(t, message, delivered())
	var pieces []store.StreamPiece
	settled := false
	tape.mu.Lock()
	defer tape.mu.Unlock()
	for _, commit := range tape.commits {
		if commit.SessionID != session || commit.Remote {
			continue
		}
		if len(commit.Pieces) > 0 && settled {
			t.Error("a piece was announced after the settle")
		}
		pieces, settled = append(pieces, commit.Pieces...), settled || len(commit.Settled) > 0
	}
	want := store.StreamPiece{
		WorkspaceID: w.scope.WorkspaceID,
		SessionID:   session,
		TurnID:      w.message(t, message).TurnID,
		MessageID:   message,
		After:       after,
		Kind:        parley.KindText,
		Text:        "abc",
	}
	second := want
	second.Offset, second.Text = 3, "d"
	if diff := cmp.Diff([]store.StreamPiece{want, second}, pieces); diff != "" || !settled {
		t.Errorf("announced (-want +got), settled %t:\n%s", settled, diff)
	}
}

// outsideCalls: a call keeps its id to itself until it has its result, and a whole message its model.
func outsideCalls(t *testing.T, w *world) {
	session, message := w.streaming(t)
	call := func() store.NewMessage {
		return store.NewMessage{
			ID:         parley.NewID(),
			Role:       parley.RoleToolCall,
			Author:     w.owner.Author(),
			ToolCallID: "c1",
			ToolName:   "crawl",
			Content:    json.RawMessage(`{"arguments":{},"id":"c1","name":"crawl"}`),
		}
	}
	settle := delivered()
	settle.Calls = []store.NewMessage{call()}
	w.deliver(t, message, settle)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, call(), parley.ID{})
	if parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("a call with the id of an open one: %v", err)
	}
	w.post(t, session, store.NewMessage{
		ID: parley.NewID(), Role: parley.RoleToolResult, Author: w.owner.Author(), ToolCallID: "c1",
		Content: json.RawMessage(`{"error":null,"execution_time_ms":null,"parts":[],"success":true}`),
	})
	w.post(t, session, call())
	again := w.post(t, session, w.outside()).Message.ID
	_, err = w.store.SettleOutside(w.ctx, w.scope, again, settle)
	if parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("such a call in a settled message: %v", err)
	}
	w.deliver(t, again, delivered())
	whole := w.post(t, session, store.NewMessage{
		ID: parley.NewID(), Role: parley.RoleAssistant, Author: w.owner.Author(), Model: "outside/two",
		Content: parley.EmptyContent(),
	}).Message.ID
	read, err := w.store.Message(w.ctx, w.scope, whole)
	if err != nil || read.Model != "outside/two" {
		t.Errorf("the model is %q, %v", read.Model, err)
	}
}
