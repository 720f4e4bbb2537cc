package storetest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func messageIDs(rows []parley.Message) []string {
	return ids(rows, func(m parley.Message) parley.ID { return m.ID })
}

func testMessages(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"each filter finds its messages":        testMessageFilters,
		"the queue stands at the end":           testMessageQueue,
		"pages hold still while others arrive":  testMessagePages,
		"pages end where they are large":        testLargePages,
		"what is written is read back":          testMessageRoundTrip,
		"marks change and nothing else":         testMarks,
		"versions are slices of the settled":    testVersions,
		"a message without a flush has one":     testVersionsAlone,
		"the context's tail ends at the edge":   testContextTail,
		"what is longer than a page of a tail":  testContextTailLong,
		"the context's tail sees settled alone": testContextTailSettled,
	})
}

// varied returns a session with every kind of message that lists distinguish, and its whole record.
func (w *world) varied(t *testing.T) (parley.ID, []parley.Message) {
	t.Helper()
	id := w.session(t)
	w.exchange(t, id, "first", "answer")
	w.post(t, id, w.say("a note", alone, func(m *store.NewMessage) { m.Internal = true }))
	w.post(t, id, w.say("of a loop", alone, func(m *store.NewMessage) { m.Iteration, m.AgentType = 2, "critic" }))
	summary, err := parley.EncodeContent(parley.TextContent{Text: "so far"})
	must(t, "EncodeContent", err)
	w.post(t, id, w.say("", alone, func(m *store.NewMessage) { m.Role, m.Content = parley.RoleSummary, summary }))
	posted, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("use tools"), w.process)
	must(t, "PostMessage", err)
	fence := posted.Claim.Fence
	for i, call := range w.callTools(t, fence, 1, 2) {
		settle := w.toolSettle(1, call)
		settle.ToolName = "tool" + strconv.Itoa(i+1)
		_, err := w.store.SettleTool(w.ctx, fence, settle)
		must(t, "SettleTool", err)
	}
	begin := w.begin(t, fence, 2)
	settle := settlement(begin, "half an ans")
	settle.Call.Outcome = parley.CallFailed
	settle.Blocks[0].Status, settle.Blocks[0].Error = parley.MessageFailed, &parley.Failure{
		Class:    parley.ClassStream,
		Sentence: "It broke off.",
	}
	settle.End = failed(parley.ClassStream)
	w.settle(t, fence, settle)
	record := w.check(t, id).Record
	if len(record) != 12 {
		t.Fatalf("the record has %d messages; the test needs 12", len(record))
	}
	return id, record
}

func testMessageFilters(t *testing.T, w *world) {
	id, record := w.varied(t)
	yes, no, zero, two := true, false, 0, 2
	turn := record[len(record)-1].TurnID
	for name, test := range map[string]struct {
		query store.MessageQuery
		keeps func(parley.Message) bool
	}{
		"none": {store.MessageQuery{}, func(parley.Message) bool { return true }},
		"user": {store.MessageQuery{Roles: []parley.Role{parley.RoleUser}}, func(m parley.Message) bool {
			return m.Role == parley.RoleUser
		}},
		"two roles": {store.MessageQuery{Roles: []parley.Role{parley.RoleToolResult, parley.RoleSummary}},
			func(m parley.Message) bool {
				return m.Role == parley.RoleToolResult || m.Role == parley.RoleSummary
			}},
		"a role twice": {store.MessageQuery{Roles: []parley.Role{parley.RoleUser, parley.RoleUser}},
			func(m parley.Message) bool {
				return m.Role == parley.RoleUser
			}},
		"completed": {store.MessageQuery{Status: parley.MessageCompleted}, func(m parley.Message) bool {
			return m.Status == parley.MessageCompleted
		}},
		"failed": {store.MessageQuery{Status: parley.MessageFailed}, func(m parley.Message) bool {
			return m.Status == parley.MessageFailed
		}},
		"cancelled": {store.MessageQuery{Status: parley.MessageCancelled}, func(parley.Message) bool {
			return false
		}},
		"internal":     {store.MessageQuery{Internal: &yes}, func(m parley.Message) bool { return m.Internal }},
		"not internal": {store.MessageQuery{Internal: &no}, func(m parley.Message) bool { return !m.Internal }},
		"turn":         {store.MessageQuery{TurnID: turn}, func(m parley.Message) bool { return m.TurnID == turn }},
		"no such turn": {store.MessageQuery{TurnID: parley.NewID()}, func(parley.Message) bool { return false }},
		"iteration":    {store.MessageQuery{Iteration: &two}, func(m parley.Message) bool { return m.Iteration == 2 }},
		"no iteration": {store.MessageQuery{Iteration: &zero}, func(m parley.Message) bool { return m.Iteration == 0 }},
		"tool": {store.MessageQuery{ToolName: "tool2"}, func(m parley.Message) bool {
			return m.ToolName == "tool2"
		}},
		"agent type": {store.MessageQuery{AgentType: "critic"}, func(m parley.Message) bool {
			return m.AgentType == "critic"
		}},
		"several": {store.MessageQuery{TurnID: turn, Roles: []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
			ToolName: "tool1", Internal: &no}, func(m parley.Message) bool {
			return m.TurnID == turn && m.ToolName == "tool1" &&
				(m.Role == parley.RoleToolCall || m.Role == parley.RoleToolResult)
		}},
	} {
		for _, descending := range []bool{false, true} {
			want := slices.DeleteFunc(slices.Clone(record), func(m parley.Message) bool { return !test.keeps(m) })
			if descending {
				slices.Reverse(want)
			}
			var got []parley.Message
			query := test.query
			query.Descending, query.Limit = descending, 2
			for range mostPages {
				page, err := w.store.Messages(w.ctx, w.scope, id, query)
				must(t, name, err)
				refs, err := w.store.MessageIDs(w.ctx, w.scope, id, query)
				must(t, name, err)
				if diff := cmp.Diff(
					messageIDs(page),
					ids(refs, func(r store.MessageRef) parley.ID { return r.ID }),
				); diff != "" {
					t.Fatalf("%s: ids alone (-messages +ids):\n%s", name, diff)
				}
				got = append(got, page...)
				if len(page) < query.Limit {
					break
				}
				query.AfterSequence = page[len(page)-1].Sequence
			}
			if diff := cmp.Diff(messageIDs(want), messageIDs(got)); diff != "" {
				t.Errorf("%s, descending %t (-want +got):\n%s", name, descending, diff)
			}
		}
	}
	for _, m := range record {
		if diff := cmp.Diff(m, w.message(t, m.ID)); diff != "" {
			t.Errorf("a message in the list differs from the message alone (-list +alone):\n%s", diff)
		}
	}
}

func testMessageQueue(t *testing.T, w *world) {
	claim := w.started(t, "work")
	id := claim.Session.ID
	var queued []parley.ID
	for i := range 5 {
		queued = append(queued, w.post(t, id, w.say("waiting "+strconv.Itoa(i))).Message.ID)
	}
	queued = append([]parley.ID{w.post(t, id, w.say("now", during(parley.DuringInterrupt))).Message.ID}, queued...)
	record, err := w.store.Messages(w.ctx, w.scope, id, store.MessageQuery{RecordOnly: true})
	must(t, "Messages", err)
	want := append(messageIDs(record), texts(queued)...)

	for _, limit := range []int{1, 2, 3, 100} {
		var got []string
		query := store.MessageQuery{Limit: limit}
		for range mostPages {
			page, err := w.store.Messages(w.ctx, w.scope, id, query)
			must(t, "Messages", err)
			refs, err := w.store.MessageIDs(w.ctx, w.scope, id, query)
			must(t, "MessageIDs", err)
			for i, m := range page {
				if ref := refs[i]; ref.ID != m.ID || ref.Sequence != m.Sequence ||
					(ref.Position == nil) != (m.Position == nil) ||
					ref.Position != nil && *ref.Position != *m.Position {
					t.Errorf("reference %+v of message %s at %d, %v", ref, m.ID, m.Sequence, m.Position)
				}
			}
			got = append(got, messageIDs(page)...)
			if len(page) < limit {
				break
			}
			last := page[len(page)-1]
			query.AfterSequence, query.AfterPosition = last.Sequence, last.Position
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	for name, test := range map[string]struct {
		query store.MessageQuery
		want  []string
	}{
		"descending":     {store.MessageQuery{Descending: true}, messageIDs(record)},
		"queued alone":   {store.MessageQuery{Status: parley.MessageQueued}, texts(queued)},
		"completed":      {store.MessageQuery{Status: parley.MessageCompleted}, messageIDs(record)},
		"role of nobody": {store.MessageQuery{Roles: []parley.Role{parley.RoleSummary, parley.RoleSystem}}, []string{}},
	} {
		got, err := w.store.Messages(w.ctx, w.scope, id, test.query)
		must(t, name, err)
		found := messageIDs(got)
		if name == "descending" {
			slices.Reverse(found)
		}
		if diff := cmp.Diff(test.want, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err = w.store.RemoveQueued(w.ctx, w.scope, queued[2])
	must(t, "RemoveQueued", err)
	got, err := w.store.Messages(w.ctx, w.scope, id, store.MessageQuery{Status: parley.MessageQueued})
	must(t, "Messages", err)
	if slices.Contains(messageIDs(got), queued[2].String()) {
		t.Error("a removed entry is still listed in the queue")
	}
	if m := w.message(t, queued[2]); m.Status != parley.MessageCancelled {
		t.Errorf("a removed entry is %s", m.Status)
	}
}

func testMessagePages(t *testing.T, w *world) {
	id := w.session(t)
	for i := range 6 {
		w.exchange(t, id, "question "+strconv.Itoa(i), "answer")
	}
	forward := store.MessageQuery{Limit: 5}
	for next := int64(1); next <= 20; {
		page, err := w.store.Messages(w.ctx, w.scope, id, forward)
		must(t, "Messages", err)
		if len(page) == 0 {
			t.Fatalf("the record ends before sequence %d", next)
		}
		for _, m := range page {
			if m.Sequence != next {
				t.Fatalf("got sequence %d, want %d", m.Sequence, next)
			}
			next++
		}
		forward.AfterSequence = next - 1
		w.exchange(t, id, "another", "answer")
	}
	backward := store.MessageQuery{Limit: 5, Descending: true}
	for next := w.sessionState(t, id).LastSequence; next > 0; {
		page, err := w.store.Messages(w.ctx, w.scope, id, backward)
		must(t, "Messages", err)
		for _, m := range page {
			if m.Sequence != next {
				t.Fatalf("got sequence %d, want %d, descending", m.Sequence, next)
			}
			next--
		}
		backward.AfterSequence = next + 1
		w.exchange(t, id, "another", "answer")
	}
}

func testLargePages(t *testing.T, w *world) {
	id := w.session(t)
	for range 5 {
		w.post(t, id, w.say(strings.Repeat("large ", 100), alone))
	}
	w.post(t, id, w.say("small", alone))
	for bound, want := range map[int]int{0: 6, 1: 2, 1000: 2, 1500: 3, 1 << 20: 6} {
		for _, descending := range []bool{false, true} {
			page, err := w.store.Messages(
				w.ctx,
				w.scope,
				id,
				store.MessageQuery{MaxBytes: bound, Descending: descending, RecordOnly: true},
			)
			must(t, "Messages", err)
			if descending && bound > 1 && bound < 1<<20 {
				want++ // the page begins with the small one
			}
			if len(page) != want {
				t.Errorf("%d bytes, descending %t: %d messages, want %d", bound, descending, len(page), want)
			}
		}
	}
}

func testMessageRoundTrip(t *testing.T, w *world) {
	id := w.session(t)
	prompt, top := "Only in French.", 0.25
	note := w.say("Ünïcode 🦜 \u2028 \"quoted\"", alone, func(m *store.NewMessage) {
		m.ContextNote, m.AgentType, m.Iteration, m.Internal = "It is Tuesday.", "critic \x1f one", 4, true
		m.Metadata = json.RawMessage(`{"a":{"b":[1,"2",null]}}`)
		m.Settings = parley.Settings{
			Model:        "sim/echo",
			SystemPrompt: &prompt,
			Parameters:   parley.Parameters{TopP: &top},
		}
		m.Author = parley.Author{Kind: parley.AuthorService, ID: parley.NewID(), Name: "a name with spaces"}
	})
	posted := w.post(t, id, note)
	got := w.message(t, posted.Message.ID)
	if diff := cmp.Diff(posted.Message, got); diff != "" {
		t.Errorf("reading differs from the result (-result +read):\n%s", diff)
	}
	if got.ContextNote != note.ContextNote || got.AgentType != note.AgentType || got.Iteration != 4 || !got.Internal ||
		got.Author != note.Author ||
		string(got.Metadata) != string(note.Metadata) ||
		string(got.Content) != string(note.Content) {
		t.Errorf("read back: %+v", got)
	}
	if diff := cmp.Diff(note.Settings, got.Settings); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}

	answered, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("go"), w.process)
	must(t, "PostMessage", err)
	fence := answered.Claim.Fence
	begin := w.begin(t, fence, 1)
	content, err := parley.EncodeContent(parley.AssistantContent{Reasoning: "hm", Text: "done"})
	must(t, "EncodeContent", err)
	cacheWrite := int64(5)
	settle := settlement(begin, "done")
	settle.Call.Usage.CacheWriteTokens = &cacheWrite
	settle.Blocks[0].Content, settle.Blocks[0].ProviderData, settle.Blocks[0].Usage = content, []byte(
		"\x00\xffsignature\x00",
	), &settle.Call.Usage
	settle.Blocks[0].TokenEstimate, settle.Blocks[0].Metadata = 77, json.RawMessage(`{"finish":"stop"}`)
	settle.End = completed()
	w.settle(t, fence, settle)
	got = w.message(t, begin.Call.MessageID)
	if string(got.ProviderData) != "\x00\xffsignature\x00" || got.TokenEstimate != 77 ||
		string(got.Metadata) != `{"finish":"stop"}` ||
		string(got.Content) != string(content) || got.Step != 1 ||
		got.Model != modelID ||
		got.TurnID != fence.TurnID ||
		got.Author != w.author() {
		t.Errorf("the answer read back: %+v", got)
	}
	if diff := cmp.Diff(&settle.Call.Usage, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// marked returns a change of all marks.
func marked(marks parley.Marks) parley.MarksChange {
	return parley.MarksChange{Pinned: &marks.Pinned, ContextEdge: &marks.ContextEdge, SetAside: &marks.SetAside}
}

func testMarks(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	before := w.check(t, id)
	target := before.Record[1]
	marks := parley.Marks{Pinned: true, ContextEdge: true, SetAside: true}
	answer, err := w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, target.ID, marked(marks))
	must(t, "MarkMessage", err)
	want := target
	want.Marks = marks
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	after := w.check(t, id)
	if diff := cmp.Diff(want, after.Record[1]); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if len(after.Events) != len(before.Events)+1 {
		t.Fatalf("%d events after a mark; want one more than %d", len(after.Events), len(before.Events))
	}
	event := after.Events[len(after.Events)-1]
	var data struct {
		MessageID parley.ID    `json:"message_id"`
		Marks     parley.Marks `json:"marks"`
	}
	if err := json.Unmarshal(
		event.Data,
		&data,
	); err != nil || event.Type != parley.EventMessageMarked || data.MessageID != target.ID ||
		data.Marks != marks {
		t.Errorf("the event: %s %s (%v)", event.Type, event.Data, err)
	}
	_, err = w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, target.ID, marked(marks))
	must(t, "the same marks again", err)
	w.unchanged(t, "marking a second time", id, after)
	cleared, err := w.store.MarkMessage(w.ctx, w.scope, parley.ID{}, target.ID, marked(parley.Marks{}))
	must(t, "clearing", err)
	if cleared.Marks != (parley.Marks{}) {
		t.Errorf("cleared marks are set: %+v", cleared.Marks)
	}
	w.check(t, id)
}

func testVersions(t *testing.T, w *world) {
	claim := w.started(t, "tell me")
	begin := w.begin(t, claim.Fence, 1)
	id := begin.Call.MessageID
	const reasoning, text = "Let me think.", "Grüße, wie geht’s?"
	pieces := []parley.Version{
		{N: 1, Kind: parley.KindReasoning, Offset: 0, End: 6, Chunks: 1, Text: reasoning[:6]},
		{N: 2, Kind: parley.KindReasoning, Offset: 6, End: len(reasoning), Chunks: 3, Text: reasoning[6:]},
		{N: 3, Kind: parley.KindText, Offset: 0, End: 4, Chunks: 4, Text: text[:4]},
		{N: 4, Kind: parley.KindText, Offset: 4, End: 9, Chunks: 6, Text: text[4:9]},
	}
	for i := range pieces {
		pieces[i].MessageID = id
		appended, err := w.store.AppendVersions(w.ctx, []store.FencedVersion{{Fence: claim.Fence, Version: pieces[i]}})
		must(t, "AppendVersions", err)
		if skipped(appended) != 0 {
			t.Fatalf("piece %d was skipped: %+v", i, appended)
		}
	}
	got, err := w.store.Versions(w.ctx, w.scope, id)
	must(t, "Versions", err)
	for i := range min(len(got), len(pieces)) {
		pieces[i].CreatedAt = got[i].CreatedAt // set by the store
		if got[i].CreatedAt == 0 || i > 0 && got[i].CreatedAt < got[i-1].CreatedAt {
			t.Errorf("piece %d has the time %v", i+1, got[i].CreatedAt)
		}
	}
	if diff := cmp.Diff(pieces, got); diff != "" {
		t.Errorf("while it streams (-want +got):\n%s", diff)
	}
	settle := settlement(begin, text)
	content, err := parley.EncodeContent(parley.AssistantContent{Reasoning: reasoning, Text: text})
	must(t, "EncodeContent", err)
	settle.Blocks[0].Content, settle.Blocks[0].Chunks, settle.End = content, 9, completed()
	w.settle(t, claim.Fence, settle)
	got, err = w.store.Versions(w.ctx, w.scope, id)
	must(t, "Versions", err)
	want := append(
		slices.Clone(pieces),
		parley.Version{MessageID: id, N: 5, Kind: parley.KindText, Offset: 9, End: len(text), Chunks: 9,
			Text: text[9:], CreatedAt: w.message(t, id).UpdatedAt},
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
}

func testVersionsAlone(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	record := w.check(t, id).Record
	for i, text := range []string{"question", "answer"} {
		got, err := w.store.Versions(w.ctx, w.scope, record[i].ID)
		must(t, "Versions", err)
		if len(got) != 1 || got[0].N != 1 || got[0].Kind != parley.KindText || got[0].Offset != 0 ||
			got[0].End != len(text) ||
			got[0].Text != text ||
			got[0].CreatedAt != record[i].UpdatedAt {
			t.Errorf("versions of %q: %+v", text, got)
		}
	}
	claim := w.started(t, "tools")
	call := w.callTools(t, claim.Fence, 1, 1)[0]
	for _, m := range w.check(t, claim.Session.ID).Record {
		got, err := w.store.Versions(w.ctx, w.scope, m.ID)
		must(t, "Versions", err)
		switch m.Role {
		case parley.RoleToolCall:
			if m.ToolCallID != call || len(got) != 1 || got[0].Kind != parley.KindArguments ||
				got[0].Text != `{"n":0}` ||
				got[0].End != len(`{"n":0}`) {
				t.Errorf("versions of the call: %+v", got)
			}
		case parley.RoleAssistant:
			if len(got) != 0 {
				t.Errorf("an empty text has versions: %+v", got)
			}
		}
	}
}

func testContextTail(t *testing.T, w *world) {
	id := w.session(t)
	for i := range 5 {
		w.exchange(t, id, "question "+strconv.Itoa(i), "answer")
	}
	tail := func(before int64, limit int) (sequences []int64) {
		t.Helper()
		messages, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, before, limit, parley.MaxPageBytes)
		must(t, "ContextTail", err)
		sequences = []int64{}
		for _, m := range messages {
			sequences = append(sequences, m.Sequence)
		}
		return sequences
	}
	newest, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 0, 1, parley.MaxPageBytes)
	must(t, "ContextTail", err)
	size := newest[0].Size()
	short, more, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 0, 50, size)
	must(t, "ContextTail", err)
	if len(short) != 1 || short[0].Sequence != 10 || !more {
		t.Errorf("a page of %d bytes has %d rows, and more: %t; want the newest alone", size, len(short), more)
	}
	size += 10 // with a question, which is longer
	if short, more, err = w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 0, 50, size); len(short) != 2 || !more {
		t.Errorf("a page of %d bytes has %d rows, and more: %t, %v; want two", size, len(short), more, err)
	}
	if short, more, err = w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 3, 50, parley.MaxPageBytes); more {
		t.Errorf("more after the %d rows at the beginning, %v", len(short), err)
	}
	record := w.check(t, id).Record
	for name, test := range map[string]struct {
		got, want []int64
	}{
		"a page":          {tail(0, 3), []int64{10, 9, 8}},
		"the next page":   {tail(8, 3), []int64{7, 6, 5}},
		"more than there": {tail(3, 50), []int64{2, 1}},
		"before all":      {tail(1, 50), []int64{}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, sequence := range []int{3, 7} {
		_, err := w.store.MarkMessage(
			w.ctx,
			w.scope,
			parley.ID{},
			record[sequence-1].ID,
			marked(parley.Marks{ContextEdge: true}),
		)
		must(t, "MarkMessage", err)
	}
	for name, test := range map[string]struct {
		got, want []int64
	}{
		"from the end":    {tail(0, 50), []int64{10, 9, 8, 7}},
		"up to the edge":  {tail(8, 50), []int64{7}},
		"behind the edge": {tail(7, 50), []int64{}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("with edges at 3 and 7, %s (-want +got):\n%s", name, diff)
		}
	}
}

// A row that is longer than a page ends it unread, whoever wrote it; a page that is large
// enough has it.
func testContextTailLong(t *testing.T, w *world) {
	const most, enough = 500, 5000
	id := w.session(t)
	w.exchange(t, id, "question", strings.Repeat("long ", most))
	w.exchange(t, id, "question", "answer")
	fork := w.fork(t, id, 4).ID
	w.exchange(t, fork, "question", "answer")
	for _, test := range []struct {
		session     parley.ID
		before      int64
		limit, most int
		want        []int64
		more        bool
	}{
		{id, 0, 50, most, []int64{4, 3}, true},
		{id, 3, 50, most, nil, true},
		{id, 3, 1, most, nil, true},
		{id, 3, 50, enough, []int64{2, 1}, false},
		{fork, 0, 50, most, []int64{6, 5, 4, 3}, true},
		{fork, 3, 50, most, nil, true},
		{fork, 3, 50, enough, []int64{2, 1}, false},
	} {
		rows, more, err := w.store.ContextTail(
			w.ctx, w.scope.WorkspaceID, test.session, test.before, test.limit, test.most,
		)
		must(t, "ContextTail", err)
		var got []int64
		for _, m := range rows {
			got = append(got, m.Sequence)
		}
		if !cmp.Equal(got, test.want) || more != test.more {
			t.Errorf("%d bytes before %d: %v, more %t; want %v, %t", test.most, test.before, got, more, test.want,
				test.more)
		}
	}
}

func testContextTailSettled(t *testing.T, w *world) {
	id := w.session(t)
	w.post(t, id, w.say("for nobody", alone, func(m *store.NewMessage) { m.Internal = true }))
	posted, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("question"), w.process)
	must(t, "PostMessage", err)
	w.begin(t, posted.Claim.Fence, 1)
	w.post(t, id, w.say("queued"))
	messages, _, err := w.store.ContextTail(w.ctx, w.scope.WorkspaceID, id, 0, 50, parley.MaxPageBytes)
	must(t, "ContextTail", err)
	if diff := cmp.Diff([]string{posted.Message.ID.String()}, messageIDs(messages)); diff != "" {
		t.Errorf("beside an internal, a streaming and a queued message (-want +got):\n%s", diff)
	}
}
