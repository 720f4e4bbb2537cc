package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

func testSteps(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"APlainTurn":                 stepPlain,
		"TheCallIsRecorded":          stepCall,
		"BlocksSettleTogether":       stepBlocks,
		"ARetryInTheSameMessage":     stepRetry,
		"ProgressOfATool":            stepProgress,
		"AFailedStepAndANewAttempt":  stepFailedThenAgain,
		"AFailedTurn":                stepFailedTurn,
		"VersionsWhileStreaming":     stepVersions,
		"AFlushBehindTheSettle":      stepLateFlush,
		"ContentIsSentLiveAndReplay": stepAuthoritative,
		"ProviderDataIsByteExact":    stepProviderData,
		"UnknownUsageAndPrice":       stepUnknown,
		"StepsDoNotOverlap":          stepOverlap,
		"ALongConversation":          stepLong,
	})
}

func stepPlain(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	s := w.check(t, session)
	if len(s.Record) != 2 || s.Record[1].Status != parley.MessageStreaming || s.Record[1].Step != 1 ||
		s.Record[1].TurnID != claim.Turn.ID ||
		s.Record[1].Model != modelID {
		t.Errorf("the record after BeginStep is %+v", s.Record)
	}
	if len(s.Calls) != 1 || s.Calls[0].Outcome != parley.CallOpen || s.Turns[0].Step != 1 {
		t.Errorf("the call after BeginStep is %+v, the turn's step %d", s.Calls, s.Turns[0].Step)
	}
	settle := settlement(begin, "hello")
	settle.End = completed()
	settled := w.settle(t, claim.Fence, settle)
	if settled.More || settled.Turn.Status != parley.TurnCompleted || settled.Turn.FinishedAt == 0 {
		t.Errorf("the turn is %+v", settled.Turn)
	}
	s = w.check(t, session)
	want := parley.Statistics{
		Messages:         2,
		UserFacing:       2,
		Turns:            1,
		Cost:             7,
		Tokens:           parley.Tokens{InputTokens: 10, OutputTokens: 4, CachedTokens: 3},
		Calls:            1,
		CacheHits:        1,
		CacheWriteTokens: 2,
		Saved:            -5,
	}
	if diff := cmp.Diff(want, s.Session.Statistics); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
	answer := s.Record[1]
	if answer.Status != parley.MessageCompleted ||
		string(answer.Content) != `{"parts":[{"text":"hello","type":"text"}]}` ||
		answer.Usage == nil ||
		answer.Author.Kind != parley.AuthorAgent {
		t.Errorf("the answer is %+v", answer)
	}
	var types []string
	for _, event := range s.Events {
		types = append(types, string(event.Type))
	}
	if got := strings.Join(
		types,
		" ",
	); strings.Count(got, "step.started") != 1 || strings.Count(got, "step.generated") != 1 ||
		strings.Count(got, "session.started") != 1 ||
		!strings.HasSuffix(got, "step.generated session.completed") ||
		strings.Index(got, "session.started") > strings.Index(got, "step.started") {
		t.Errorf("the events are %s", got)
	}
	if cost := s.Turns[0].Cost; cost == nil || *cost != 7 {
		t.Errorf("the turn's cost is %v", cost)
	}
}

func stepCall(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.stepBegin(1, 1)
	heat, seed := 0.5, int64(7)
	begin.Call.Parameters, begin.Call.Think = parley.Parameters{Temperature: &heat, Seed: &seed}, true
	_, err := w.store.BeginStep(w.ctx, claim.Fence, begin)
	must(t, "BeginStep", err)
	settle := settlement(begin, "hello")
	settle.Call.Finish, settle.End = parley.FinishLength, completed()
	w.settle(t, claim.Fence, settle)
	got, err := w.store.Call(w.ctx, w.scope, begin.Call.ID)
	must(t, "Call", err)
	want := begin.Call
	want.WorkspaceID, want.SessionID, want.TurnID = w.scope.WorkspaceID, claim.Fence.SessionID, claim.Turn.ID
	want.Usage, want.Cost, want.Finish, want.Outcome = settle.Call.Usage, settle.Call.Cost, parley.FinishLength,
		parley.CallCompleted
	want.Cache = parley.CacheOf(settle.Call.Usage, settle.Call.Saved)
	want.FirstTokenMS, want.TotalMS, want.CreatedAt = settle.Call.FirstTokenMS, settle.Call.TotalMS, got.CreatedAt
	want.Ordinal = 3 // behind message.created and session.started
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the call (-want +got):\n%s", diff)
	}
	for hash, text := range map[parley.Hash]string{begin.Call.SystemHash: begin.System,
		begin.Call.ToolsHash: string(begin.Tools), begin.Call.MiddlewareHash: string(begin.Middleware)} {
		kept, err := w.store.CallText(w.ctx, w.scope.WorkspaceID, hash)
		if err != nil || string(kept) != text {
			t.Errorf("the text of %s is %q, %v; want %q", hash, kept, err, text)
		}
		if _, err := w.store.CallText(
			w.ctx,
			w.neighbour(t, "other").scope.WorkspaceID,
			hash,
		); parley.ErrorCode(
			err,
		) != parley.CodeNotFound {
			t.Errorf("another workspace reads the text of a hash: %v", err)
		}
	}
}

func stepBlocks(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	call, second := parley.NewID(), parley.NewID()
	for _, open := range []store.BlockOpen{
		{MessageID: call, Step: 1, Role: parley.RoleToolCall, Author: w.author(), Model: modelID, ToolCallID: "call_1",
			ToolName: "clock"},
		{MessageID: second, Step: 1, Role: parley.RoleAssistant, Author: w.author(), Model: modelID},
	} {
		_, err := w.store.OpenBlock(w.ctx, claim.Fence, open)
		must(t, "OpenBlock", err)
	}
	w.check(t, claim.Fence.SessionID)
	settle := settlement(begin, "let me see")
	settle.Blocks = append(
		settle.Blocks,
		store.BlockSettled{
			MessageID: call,
			Status:    parley.MessageCompleted,
			Content:   json.RawMessage(`{"arguments":{},"id":"call_1","name":"clock"}`),
			ToolName:  "clock",
		},
		said(second, "and then"),
	)
	settle.ToolsStarted = []string{"call_1"}
	settled := w.settle(t, claim.Fence, settle)
	if settled.Turn.Status != parley.TurnRunning {
		t.Errorf("without an end the turn is %s", settled.Turn.Status)
	}
	s := w.check(t, claim.Fence.SessionID)
	if len(s.Record) != 4 || s.Record[2].ToolCallID != "call_1" || s.Record[2].ToolName != "clock" ||
		s.Record[2].CallOrdinal != 1 {
		t.Errorf("the record is %+v", s.Record)
	}
	if !hasEvent(s.Events, parley.EventToolStarted, 1) || !hasEvent(s.Events, parley.EventStepGenerated, 1) {
		t.Errorf("the step must be announced once: %+v", s.Events)
	}
}

func stepProgress(t *testing.T, w *world) {
	claim := w.started(t, "one")
	w.begin(t, claim.Fence, 1)
	before := w.check(t, claim.Fence.SessionID)
	note := store.ProgressNote{
		ToolCallID:   "call_1",
		ToolName:     "dig",
		ToolProgress: parley.ToolProgress{Progress: 2.5, Message: "half \"way\""},
	}
	must(t, "NoteProgress", w.store.NoteProgress(w.ctx, claim.Fence, note))
	note.Total = 5
	must(t, "NoteProgress", w.store.NoteProgress(w.ctx, claim.Fence, note))
	after := w.check(t, claim.Fence.SessionID)
	var told []string
	for _, e := range after.Events[len(before.Events):] {
		told = append(told, string(e.Type)+" "+string(e.Data))
	}
	event := func(total string) string {
		return `tool.progress {"turn_id":"` + claim.Turn.ID.String() +
			`","tool_call_id":"call_1","name":"dig","progress":2.5,"total":` + total + `,"message":"half \"way\""}`
	}
	if diff := cmp.Diff([]string{event("null"), event("5")}, told); diff != "" {
		t.Error(diff)
	}
	if len(after.Record) != len(before.Record) {
		t.Error("progress must not be part of the record")
	}
}

func stepRetry(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	failure := callEnd(begin.Call.ID, parley.CallFailed)
	failure.Usage, failure.Cost, failure.Finish = parley.Usage{}, nil, ""
	failure.Error = &parley.Failure{Class: parley.ClassRateLimit, Sentence: "Slow down.", Attempts: 1}
	must(
		t,
		"RetryCall",
		w.store.RetryCall(
			w.ctx,
			claim.Fence,
			1,
			failure,
			store.RetryNotice{Attempt: 2, Class: parley.ClassRateLimit, Wait: 1500e6},
		),
	)
	s := w.check(t, claim.Fence.SessionID)
	if s.Calls[0].Outcome != parley.CallFailed || s.Calls[0].Error == nil ||
		s.Record[1].Status != parley.MessageStreaming {
		t.Errorf("after the failure the call is %+v and the message %s", s.Calls[0], s.Record[1].Status)
	}
	last := s.Events[len(s.Events)-1]
	var notice struct {
		Attempt int               `json:"attempt"`
		Class   parley.ErrorClass `json:"class"`
		WaitMS  int64             `json:"wait_ms"`
	}
	if err := json.Unmarshal(
		last.Data,
		&notice,
	); err != nil || last.Type != parley.EventStepRetrying || notice.Attempt != 2 ||
		notice.Class != parley.ClassRateLimit ||
		notice.WaitMS != 1500 {
		t.Errorf("the retry is announced as %s %s", last.Type, last.Data)
	}
	again := w.stepBegin(1, 2)
	again.Call.MessageID = begin.Call.MessageID
	must(t, "BeginCall", w.store.BeginCall(w.ctx, claim.Fence, again))
	settle := settlement(again, "hello")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	s = w.check(t, claim.Fence.SessionID)
	if len(s.Calls) != 2 || len(s.Record) != 2 || s.Calls[1].Attempt != 2 ||
		s.Calls[1].Outcome != parley.CallCompleted {
		t.Errorf("there are %d calls and %d messages; want two and two", len(s.Calls), len(s.Record))
	}
	if s.Session.Statistics.Unknown != 1 || s.Session.Statistics.Unpriced != 1 {
		t.Errorf("the failed call is not counted as unknown: %+v", s.Session.Statistics)
	}
}

func stepFailedThenAgain(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	settle := settlement(begin, "half an ans")
	settle.Call.Outcome, settle.Call.Error = parley.CallFailed, &parley.Failure{
		Class:    parley.ClassStream,
		Sentence: "It broke off.",
		Attempts: 1,
	}
	settle.Blocks[0].Status, settle.Blocks[0].Error = parley.MessageFailed, settle.Call.Error
	if settled := w.settle(t, claim.Fence, settle); settled.Turn.Status != parley.TurnRunning {
		t.Fatalf("a failed step without an end makes the turn %s", settled.Turn.Status)
	}
	s := w.check(t, claim.Fence.SessionID)
	if !hasEvent(s.Events, parley.EventStepError, 1) || !hasEvent(s.Events, parley.EventStepGenerated, 0) ||
		s.Record[1].Error == nil ||
		s.Record[1].Error.Class != parley.ClassStream {
		t.Errorf("the failed step is not announced as an error, or its message has none: %+v", s.Record[1])
	}
	tail, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, claim.Fence.SessionID, 0, 10, parley.MaxPageBytes)
	must(t, "ContextTail", err)
	if len(tail) != 2 {
		t.Errorf("the context's tail has %d messages; want both settled ones, the builder chooses", len(tail))
	}
	w.answer(t, store.Claim{Fence: claim.Fence, Turn: parley.Turn{Step: 0}}, "a whole answer")
	if s := w.check(t, claim.Fence.SessionID); len(s.Record) != 3 {
		t.Errorf("the new attempt has no separate message")
	}
}

func stepFailedTurn(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	settle := settlement(begin, "")
	settle.End = failed(parley.ClassAuth)
	settle.Call.Outcome, settle.Call.Error = parley.CallFailed, settle.End.Failure
	settle.Blocks[0].Status, settle.Blocks[0].Error = parley.MessageFailed, settle.End.Failure
	settled := w.settle(t, claim.Fence, settle)
	if settled.Turn.Status != parley.TurnFailed || settled.Turn.Error == nil ||
		settled.Turn.Error.Class != parley.ClassAuth {
		t.Errorf("the turn is %+v", settled.Turn)
	}
	s := w.check(t, claim.Fence.SessionID)
	if s.Session.Status != parley.SessionFailed {
		t.Errorf("the session is %s", s.Session.Status)
	}
	w.exchange(t, claim.Fence.SessionID, "again", "better")
	if s := w.check(t, claim.Fence.SessionID); s.Session.Status != parley.SessionCompleted {
		t.Errorf("after the next turn the session is %s", s.Session.Status)
	}
}

func stepVersions(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	message := begin.Call.MessageID
	texts := []string{"Zwölf ", "Boxkämpfer ", "jagen"}
	offset := 0
	for i, text := range texts {
		w.flush(t, claim.Fence, message, i+1, offset, text)
		offset += len(text)
	}
	w.check(t, claim.Fence.SessionID)
	streaming, err := w.store.Versions(w.ctx, w.scope, message)
	must(t, "Versions", err)
	settle := settlement(begin, strings.Join(texts, "")+" Viktor")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	settled, err := w.store.Versions(w.ctx, w.scope, message)
	must(t, "Versions", err)
	text := ""
	for _, version := range settled {
		text += version.Text
	}
	if len(streaming) != 3 || text != "Zwölf Boxkämpfer jagen Viktor" {
		t.Errorf("%d versions while streaming; after it they join to %q", len(streaming), text)
	}
	w.check(t, claim.Fence.SessionID)
}

func stepLateFlush(t *testing.T, w *world) {
	claim, other := w.started(t, "one"), w.started(t, "two")
	begin, foreign := w.begin(t, claim.Fence, 1), w.begin(t, other.Fence, 1)
	w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "Hel")
	w.settle(t, claim.Fence, settlement(begin, "Hello"))
	before, untouched := w.check(t, claim.Fence.SessionID), w.check(t, other.Fence.SessionID)
	w.flush(t, claim.Fence, begin.Call.MessageID, 2, 3, "lo")
	w.unchanged(t, "a flush after the settle", claim.Fence.SessionID, before)
	w.flush(t, claim.Fence, foreign.Call.MessageID, 1, 0, "mine")
	w.unchanged(t, "a flush of another session's message", other.Fence.SessionID, untouched)
}

func stepAuthoritative(t *testing.T, w *world) {
	tape := w.record()
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.callTools(t, claim.Fence, 1, 2)
	live := tape.await(t, session, w.sessionState(t, session).LastEvent)
	replay := w.check(t, session).Events
	if diff := cmp.Diff(replay, live); diff != "" {
		t.Errorf("replay and live differ (-replay +live):\n%s", diff)
	}
	var step event.Settled
	for _, event := range replay {
		if event.Type == parley.EventStepGenerated {
			must(t, "decoding", json.Unmarshal(event.Data, &step))
		}
	}
	if len(step.Messages) != 3 || step.TurnID != claim.Turn.ID || step.Step != 1 {
		t.Fatalf("step.generated carries %+v", step)
	}
	for i, m := range w.snapshot(t, session).Record[1:] {
		if content := parley.AppendContent(nil, m.Role, m.Content); step.Messages[i].MessageID != m.ID ||
			string(step.Messages[i].Content) != string(content) || step.Messages[i].Role != m.Role {
			t.Errorf("message %d of the step is %+v; the record has %s", i, step.Messages[i], m.Content)
		}
	}
	var call parley.ToolCallContent
	must(t, "decoding", json.Unmarshal(step.Messages[1].Content, &call))
	if step.Messages[1].End != len(call.Arguments) {
		t.Errorf("a tool call ends at %d; its arguments have %d bytes", step.Messages[1].End, len(call.Arguments))
	}
}

func stepProviderData(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	data := []byte{0, 0xff, '"', '\n', 0xc3, 0x28}
	settle := settlement(begin, "hello")
	settle.Blocks[0].ProviderData, settle.End = data, completed()
	w.settle(t, claim.Fence, settle)
	if got := w.message(t, begin.Call.MessageID).ProviderData; string(got) != string(data) {
		t.Errorf("provider data came back as %x; want %x", got, data)
	}
	w.check(t, claim.Fence.SessionID)
}

func stepUnknown(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	settle := settlement(begin, "hello")
	settle.Call.Usage, settle.Call.Cost, settle.Blocks[0].Usage, settle.End = parley.Usage{}, nil, nil, completed()
	w.settle(t, claim.Fence, settle)
	s := w.check(t, claim.Fence.SessionID)
	if s.Record[1].Usage != nil || s.Calls[0].Usage != (parley.Usage{}) || s.Calls[0].Cost != nil ||
		s.Session.Statistics.Unknown != 1 ||
		s.Session.Statistics.Unpriced != 1 {
		t.Errorf("unknown became known: %+v, %+v", s.Calls[0], s.Session.Statistics)
	}
	if s.Turns[0].Cost != nil {
		t.Errorf("the turn's cost is %s; want unknown", s.Turns[0].Cost)
	}
}

func stepOverlap(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	before := w.snapshot(t, claim.Fence.SessionID)
	refusals := map[string]func() error{
		"a second step beside a streaming one": func() error {
			_, err := w.store.BeginStep(w.ctx, claim.Fence, w.stepBegin(2, 1))
			return err
		},
		"parking while streaming": func() error {
			_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
			return err
		},
		"completing while streaming": func() error {
			_, err := w.store.FinishTurn(w.ctx, claim.Fence, *completed())
			return err
		},
		"a settle without one of the rows": func() error {
			settle := settlement(begin, "x")
			settle.Blocks = nil
			_, err := w.store.SettleStep(w.ctx, claim.Fence, settle)
			return err
		},
		"a settle of a row that does not exist": func() error {
			settle := settlement(begin, "x")
			settle.Blocks = append(settle.Blocks, said(parley.NewID(), "y"))
			_, err := w.store.SettleStep(w.ctx, claim.Fence, settle)
			return err
		},
	}
	for name, run := range refusals {
		if err := run(); err == nil {
			t.Errorf("%s is accepted", name)
			return
		}
		w.unchanged(t, name, claim.Fence.SessionID, before)
	}
	w.settle(t, claim.Fence, settlement(begin, "hello"))
	before = w.snapshot(t, claim.Fence.SessionID)
	if _, err := w.store.SettleStep(w.ctx, claim.Fence, settlement(begin, "again")); err == nil {
		t.Error("a step settled twice")
	}
	w.unchanged(t, "a second settle", claim.Fence.SessionID, before)
}

func stepLong(t *testing.T, w *world) {
	session := w.session(t)
	for range 12 {
		w.exchange(t, session, "again", "and again")
	}
	s := w.check(t, session)
	if len(s.Record) != 24 || len(s.Turns) != 12 || s.Session.Statistics.OutputTokens != 48 {
		t.Errorf("%d messages, %d turns, %+v", len(s.Record), len(s.Turns), s.Session.Statistics)
	}
	tail, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, session, 21, 4, parley.MaxPageBytes)
	must(t, "ContextTail", err)
	if len(tail) != 4 || tail[0].Sequence != 20 || tail[3].Sequence != 17 {
		t.Errorf("the tail before 21 begins at %d and has %d messages", tail[0].Sequence, len(tail))
	}
}
