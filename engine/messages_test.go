package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// slots is a runner that counts what happens to its slots.
type slots struct {
	mu       sync.Mutex // guards all below
	process  parley.ID
	ran      []store.Claim
	released int
	cancel   func(turnID parley.ID) <-chan struct{}
}

func (s *slots) Offer(parley.ID) (runner.Slot, bool) { return slot{s}, true }
func (s *slots) Runtimes() []string                  { return []string{parley.StandardRuntime} }
func (s *slots) Cancel(turnID parley.ID) <-chan struct{} {
	if s.cancel == nil {
		return nil
	}
	return s.cancel(turnID)
}

type slot struct{ *slots }

func (s slot) ProcessID() parley.ID { return s.process }

func (s slot) Run(claim store.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, claim)
}

func (s slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released++
}

// newSlots registers the runner's process and returns an engine with it.
func newSlots(t *testing.T, h *house) (*slots, *engine.Engine) {
	t.Helper()
	s := &slots{process: parley.NewID()}
	if err := h.store.RegisterProcess(t.Context(), store.Process{ID: s.process, Name: "test"}, lease); err != nil {
		t.Fatal(err)
	}
	return s, engine.New(engine.Options{Store: h.store, Models: models(t), Runner: s})
}

// A slot is offered for messages that start turns, and settled exactly once.
func TestSlotsAreRunOrReleased(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	runner, e := newSlots(t, h)
	session := h.open(t, engine.SessionInput{})
	no := false
	for _, step := range []struct {
		name          string
		input         engine.MessageInput
		ran, released int
	}{
		{"recorded alone", engine.MessageInput{Content: text("a"), Respond: &no}, 0, 0},
		{"starts a turn", say("b"), 1, 0},
		{"queued behind it", say("c"), 1, 1},
		{"refused", engine.MessageInput{Content: text("d"), During: parley.DuringReject}, 1, 2},
	} {
		_, err := e.PostMessage(t.Context(), h.member, session.ID, step.input, store.Idempotency{})
		if err != nil && parley.ErrorCode(err) != parley.CodeBusy {
			t.Fatal(err)
		}
		if len(runner.ran) != step.ran || runner.released != step.released {
			t.Errorf(
				"%s: %d ran, %d released; want %d and %d",
				step.name,
				len(runner.ran),
				runner.released,
				step.ran,
				step.released,
			)
		}
	}
	opened, err := e.OpenSession(
		t.Context(),
		h.member,
		engine.SessionInput{Message: ptr(say("hello"))},
		store.Idempotency{},
	)
	if err != nil || opened.Posted == nil || len(runner.ran) != 2 {
		t.Fatalf("OpenSession with a message = %+v, %v; %d ran", opened, err, len(runner.ran))
	}
	if got := runner.ran[1].Turn.ID; got != opened.Posted.Turn.ID {
		t.Errorf("turn %s was run, %s posted", got, opened.Posted.Turn.ID)
	}
	if opened.Session.Title != "hello" {
		t.Errorf("the title is %q", opened.Session.Title)
	}
}

func TestIdempotentPosts(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	key := store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	ids := make([]parley.ID, 20)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			posted, err := h.PostMessage(t.Context(), h.member, session.ID, say("once"), key)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = posted.Message.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("two messages under one key: %s and %s", ids[0], id)
		}
	}
	key.Fingerprint = parley.HashOf([]byte("another body"))
	_, err := h.PostMessage(t.Context(), h.member, session.ID, say("twice"), key)
	wantCode(t, err, parley.CodeKeyReused, "")
}

func TestGetOrCreate(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	input := engine.SessionInput{Type: "dev-task", Feature: "login", Task: "7"}
	ids := make([]parley.ID, 20)
	created := make([]bool, len(ids))
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			opened, err := h.EnsureSession(t.Context(), h.member, input, store.Idempotency{})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i], created[i] = opened.Session.ID, opened.Created
		})
	}
	wg.Wait()
	made := 0
	for i := range ids {
		if ids[i] != ids[0] {
			t.Fatal("two sessions under one key")
		}
		if created[i] {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d callers were told that they created it", made)
	}
	found, err := h.SessionByKey(
		t.Context(),
		h.member,
		engine.SessionName{Type: "dev-task", Feature: "login", Task: "7"},
	)
	if err != nil || found.ID != ids[0] {
		t.Errorf("SessionByKey = %s, %v", found.ID, err)
	}
}

func TestQueuedMessagesCanBeChanged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	first := h.post(t, session.ID, say("first"))
	queued := h.post(t, session.ID, say("second"))
	edited, err := h.UpdateMessage(
		t.Context(),
		h.member,
		queued.Message.ID,
		engine.MessagePatch{Content: text("better")},
	)
	if err != nil || string(edited.Content) != `{"parts":[{"text":"better","type":"text"}]}` {
		t.Fatalf("edit = %s, %v", edited.Content, err)
	}
	_, err = h.UpdateMessage(t.Context(), h.member, first.Message.ID, engine.MessagePatch{Content: text("too late")})
	wantCode(t, err, parley.CodeConflict, "")
	_, err = h.UpdateMessage(t.Context(), h.member, queued.Message.ID, engine.MessagePatch{Content: text("")})
	wantCode(t, err, parley.CodeInvalid, "content.text")
	_, err = h.UpdateMessage(t.Context(), h.member, queued.Message.ID, engine.MessagePatch{})
	wantCode(t, err, parley.CodeInvalid, "content")
	marked, err := h.MarkMessage(
		t.Context(),
		h.member,
		parley.ID{},
		first.Message.ID,
		engine.MarksPatch{Pinned: ptr(true)},
	)
	if err != nil || !marked.Marks.Pinned || marked.Marks.ContextEdge {
		t.Fatalf("marks = %+v, %v", marked.Marks, err)
	}
	marked, err = h.MarkMessage(
		t.Context(),
		h.member,
		parley.ID{},
		first.Message.ID,
		engine.MarksPatch{ContextEdge: ptr(true)},
	)
	if err != nil || !marked.Marks.Pinned || !marked.Marks.ContextEdge {
		t.Errorf("a patch of one mark changed another: %+v, %v", marked.Marks, err)
	}
	removed, err := h.RemoveMessage(t.Context(), h.member, queued.Message.ID)
	if err != nil || removed.Status != parley.MessageCancelled {
		t.Errorf("remove = %+v, %v", removed, err)
	}
}

// Every page size gives the same messages, queued ones last, in both orders.
func TestPagesAddUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	no := false
	for range 5 {
		h.post(t, session.ID, engine.MessageInput{Content: text("record"), Respond: &no})
	}
	for range 4 {
		h.post(t, session.ID, say("turn, then queue"))
	}
	all := func(order engine.Order, limit int) (ids []parley.ID) {
		list := engine.MessageList{Paging: engine.Paging{Order: order, Limit: limit}}
		for {
			page, err := h.Messages(t.Context(), h.member, session.ID, list)
			if err != nil {
				t.Fatal(err)
			}
			refs, err := h.MessageIDs(t.Context(), h.member, session.ID, list)
			if err != nil {
				t.Fatal(err)
			}
			for i, message := range page.Data {
				ids = append(ids, message.ID)
				if refs.Data[i].ID != message.ID || (refs.Data[i].Sequence == nil) != (message.Sequence == 0) {
					t.Errorf("ids has %+v where flat has %s", refs.Data[i], message.ID)
				}
			}
			if page.Next == nil {
				return ids
			}
			list.Cursor = *page.Next
		}
	}
	whole := all("", 0)
	if len(whole) != 9 {
		t.Fatalf("%d messages, want 9", len(whole))
	}
	for _, limit := range []int{1, 2, 3, 7, 8, 9, 10} {
		if diff := cmp.Diff(whole, all(engine.Ascending, limit)); diff != "" {
			t.Errorf("limit %d:\n%s", limit, diff)
		}
		if got := all(engine.Descending, limit); len(got) != 6 || got[0] != whole[5] || got[5] != whole[0] {
			t.Errorf("descending by %d: %d messages", limit, len(got))
		}
	}
	page, err := h.Messages(t.Context(), h.member, session.ID, engine.MessageList{Paging: engine.Paging{Limit: 1}})
	if err != nil || page.Next == nil {
		t.Fatal(page, err)
	}
	for name, paging := range map[string]engine.Paging{
		"torn": {Cursor: (*page.Next)[1:]}, "empty": {Cursor: "e30"},
		"turned round": {Cursor: *page.Next, Order: engine.Descending},
	} {
		_, err := h.Messages(t.Context(), h.member, session.ID, engine.MessageList{Paging: paging})
		wantCode(t, err, parley.CodeInvalid, "cursor")
		if err == nil {
			t.Errorf("a %s cursor was accepted", name)
		}
	}
	_, err = h.Turns(t.Context(), h.member, session.ID, engine.TurnList{Paging: engine.Paging{Cursor: *page.Next}})
	wantCode(t, err, parley.CodeInvalid, "cursor")
}

// A page of large messages ends early in every view, and the next one continues.
func TestLargePagesEndEarly(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	no, large := false, text(strings.Repeat("x", parley.MaxPageBytes/10))
	const messages = 24
	for range messages {
		h.post(t, session.ID, engine.MessageInput{Content: large, Respond: &no})
	}
	pages := func(view func(engine.MessageList) (int, *string, error)) (sizes []int) {
		list := engine.MessageList{}
		for {
			n, next, err := view(list)
			if err != nil {
				t.Fatal(err)
			}
			if sizes = append(sizes, n); next == nil {
				return sizes
			}
			list.Cursor = *next
		}
	}
	for name, view := range map[string]func(engine.MessageList) (int, *string, error){
		"flat": func(list engine.MessageList) (int, *string, error) {
			page, err := h.Messages(t.Context(), h.member, session.ID, list)
			return len(page.Data), page.Next, err
		},
		"chat": func(list engine.MessageList) (int, *string, error) {
			page, err := h.Chat(t.Context(), h.member, session.ID, list)
			return len(page.Data), page.Next, err
		},
		"transcript": func(list engine.MessageList) (int, *string, error) {
			page, err := h.Transcript(t.Context(), h.member, session.ID, list)
			return len(page.Data), page.Next, err
		},
	} {
		if diff := cmp.Diff([]int{9, 9, 6}, pages(view)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// An outside agent keeps its record here: nothing starts, and the views fold it.
func TestRecordOfAnOutsideAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	no := false
	for _, input := range []engine.MessageInput{
		{Content: text("What is the answer?"), Respond: &no},
		{Role: "assistant", Content: json.RawMessage(`{"text":"Let me look.","reasoning":"hm"}`)},
		{Role: "tool_call", Content: json.RawMessage(`{"id":"c1","name":"search","arguments":{"q":"answer"}}`)},
		{Role: "tool_result", ToolCallID: "c1", Content: json.RawMessage(`{"result":"42"}`)},
		{Role: "assistant", Content: text("It is 42.")},
		{Content: text("a note to the file"), Internal: true, Respond: &no},
	} {
		if posted := h.post(t, session.ID, input); posted.Turn != nil {
			t.Errorf("%s started a turn", input.Role)
		}
	}
	transcript, err := h.Transcript(t.Context(), h.member, session.ID, engine.MessageList{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range transcript.Data {
		if entry.Message != nil {
			got = append(got, string(entry.Role)+" "+string(entry.Message.Content))
		}
		for _, block := range entry.Blocks {
			got = append(got, string(block.Type)+" "+string(block.Content))
		}
	}
	want := []string{
		`user {"parts":[{"text":"What is the answer?","type":"text"}]}`,
		`reasoning_content "hm"`,
		`content "Let me look."`,
		`tool_call {"id":"c1","name":"search","arguments":{"q":"answer"},"arguments_text":null,` +
			`"result":{"error":null,"execution_time_ms":null,"parts":[{"text":"42","type":"text"}],"result":"42",` +
			`"success":true}}`,
		`content "It is 42."`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	chat, err := h.Chat(t.Context(), h.member, session.ID, engine.MessageList{})
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, message := range chat.Data {
		line := string(message.Role) + " " + message.Content + message.ToolCallID
		for _, call := range message.ToolCalls {
			line += call.Name + string(call.Arguments)
		}
		got = append(got, line)
	}
	want = []string{
		"user What is the answer?",
		"assistant Let me look.",
		`assistant search{"q":"answer"}`,
		"tool 42c1",
		"assistant It is 42.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chat (-want +got):\n%s", diff)
	}
	user, err := h.UserMessages(t.Context(), h.member, session.ID, engine.MessageList{})
	if err != nil || len(user.Data) != 5 {
		t.Errorf("view user has %d messages, %v; want 5", len(user.Data), err)
	}
}

// The field of a wrapped error survives errors.As, as httpapi needs.
func TestErrorsAreParleys(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	_, err := h.PostMessage(t.Context(), h.member, parley.NewID(), say("x"), store.Idempotency{})
	var e *parley.Error
	if !errors.As(err, &e) || e.Code != parley.CodeNotFound {
		t.Errorf("posting to nowhere: %v", err)
	}
}
