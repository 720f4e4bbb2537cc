package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// One record as blocks and as chat: reasoning after text keeps its place, a call
// stands with its answer, a result with its call's id.
func TestTranscriptAndChat(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script","tools":["current_time"]}`).ID.String()
	s.told(session, fmt.Sprintf(
		`{"content":{"text":%q}}`,
		`[[{"text":"A"},{"reasoning":"B"},{"text":"C"},{"tool_call":{"name":"current_time"}}],[{"text":"D"},`+
			`{"error":{"class":"stream"}}]]`,
	))
	messages := "/v1/sessions/" + session + "/messages?view="

	transcript := want[page[engine.Entry]](s, 200, "GET", messages+"transcript", "").Data
	if len(transcript) != 2 || transcript[0].Message == nil || transcript[1].Status != parley.MessageFailed {
		t.Fatalf("transcript %+v", transcript)
	}
	var kinds []string
	for _, block := range transcript[1].Blocks {
		var text string
		if json.Unmarshal(block.Content, &text) != nil {
			text = ""
		}
		kinds = append(kinds, string(block.Type)+" "+text)
		if block.Timestamp == 0 || block.Status == "" || block.MessageID.IsZero() {
			t.Errorf("block %+v lacks message, status or time", block)
		}
	}
	if want := []string{
		"content A",
		"reasoning_content B",
		"content C",
		"tool_call ",
		"content D",
		"error ",
	}; !slices.Equal(
		kinds,
		want,
	) {
		t.Errorf("blocks %q, want %q", kinds, want)
	}
	var call engine.BlockCall
	var result parley.ToolResultContent
	if err := json.Unmarshal(transcript[1].Blocks[3].Content, &call); err != nil || call.Name != "current_time" {
		t.Errorf("the call's block: %+v, %v", call, err)
	}
	if err := json.Unmarshal(call.Result, &result); err != nil || !result.Success || result.ExecutionTimeMS == nil {
		t.Errorf("its result: %s, %v", call.Result, err)
	}

	chat := want[page[engine.ChatMessage]](s, 200, "GET", messages+"chat", "").Data
	var roles []engine.ChatRole
	for _, message := range chat {
		roles = append(roles, message.Role)
	}
	if !slices.Equal(
		roles,
		[]engine.ChatRole{engine.ChatUser, engine.ChatAssistant, engine.ChatTool, engine.ChatAssistant},
	) {
		t.Fatalf("chat %v", roles)
	}
	if asks := chat[1]; asks.Content != "AC" || asks.Reasoning != "B" || len(asks.ToolCalls) != 1 ||
		asks.ToolCalls[0].ID != chat[2].ToolCallID ||
		chat[2].Content == "" {
		t.Errorf("the step with the call: %+v, answered by %+v", asks, chat[2])
	}
	if last := chat[3]; last.Content != "D" || last.Error == nil || last.Error.Class != parley.ClassStream {
		t.Errorf("the failed step: %+v", last)
	}
}

// The pieces in which an answer became durable, numbered, with the provider's
// chunks and the time; together they are its text.
func TestVersionsOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/lorem-40-30"}`).ID.String()
	s.told(session, `{"content":{"text":"Go"}}`)
	answer := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages?role=assistant", "").Data[0]
	versions := want[page[parley.Version]](s, 200, "GET", "/v1/messages/"+answer.ID.String()+"/versions", "").Data
	text, chunks := "", 0
	for i, version := range versions {
		if version.N != i+1 || version.Offset != len(text) || version.End != version.Offset+len(version.Text) ||
			version.Chunks < chunks ||
			version.CreatedAt == 0 {
			t.Errorf("version %+v behind %d bytes and %d chunks", version, len(text), chunks)
		}
		text, chunks = text+version.Text, version.Chunks
	}
	var content parley.AssistantContent
	if err := json.Unmarshal(answer.Content, &content); err != nil || len(versions) < 2 || text != content.Text {
		t.Errorf("%d versions of %d bytes, the answer has %d: %v", len(versions), len(text), len(content.Text), err)
	}
}

// The record cannot be changed; the marks can, one by one.
func TestTheRecordStays(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"message":{"content":{"text":"Hello"}}}`).ID.String()
	s.finished(session)
	before := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "").Data
	for _, message := range before {
		path := "/v1/messages/" + message.ID.String()
		if got := s.do("PATCH", path, `{"content":{"text":"Other"}}`); got.status != 409 {
			t.Errorf("editing a %s: status %d %s", message.Role, got.status, got.body)
		}
		if got := s.do("DELETE", path, ""); got.status != 409 {
			t.Errorf("removing a %s: status %d %s", message.Role, got.status, got.body)
		}
		want[parley.Message](s, 200, "PUT", path+"/marks", `{"pinned":true}`)
		if got := s.do("PATCH", path, `{"marks":{"pinned":true}}`); got.status != 422 {
			t.Errorf("a second way to mark: status %d %s", got.status, got.body)
		}
		marked := want[parley.Message](s, 200, "PUT", path+"/marks", `{"context_edge":true}`)
		if !marked.Marks.Pinned || !marked.Marks.ContextEdge || marked.ContentHash != message.ContentHash {
			t.Errorf("marked %+v", marked)
		}
	}
	// The edge at the answer is where the next window begins; what is pinned stays before it.
	s.told(session, `{"content":{"text":"Next"}}`)
	if ranges := s.lastCall(
		session,
	).Manifest.Ranges; len(ranges) < 2 || ranges[0].To != before[0].Sequence || ranges[0].Reason != "pinned" ||
		ranges[1].From != before[1].Sequence {
		t.Errorf(
			"the window is %+v, want the pinned %d and all from %d on",
			ranges,
			before[0].Sequence,
			before[1].Sequence,
		)
	}
}

// TestSearchesAreBlocks: the transcript shows a search of the web as a block of its own kind, with what was asked and
// found, and other calls as calls.
func TestSearchesAreBlocks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	messages := "/v1/sessions/" + s.session(`{}`).ID.String() + "/messages"
	for _, tool := range []string{parley.WebSearchTool, "read_file"} {
		for _, body := range []string{
			`{"role":"tool_call","content":{"id":"of ` + tool + `","name":"` + tool +
				`","arguments":{"query":"plums"}}}`,
			`{"role":"tool_result","tool_call_id":"of ` + tool + `","content":{"result":"Plums are fruit."}}`,
		} {
			want[parley.Message](s, 201, "POST", messages, body)
		}
	}
	kinds := map[engine.BlockType]string{}
	for _, entry := range want[page[engine.Entry]](s, 200, "GET", messages+"/transcript", "").Data {
		for _, block := range entry.Blocks {
			kinds[block.Type] += string(block.Content)
		}
	}
	for kind, tool := range map[engine.BlockType]string{
		engine.BlockSearch: parley.WebSearchTool, engine.BlockToolCall: "read_file",
	} {
		if got := kinds[kind]; !strings.Contains(got, `"name":"`+tool+`"`) ||
			!strings.Contains(got, `"result":"Plums are fruit."`) ||
			!strings.Contains(got, `"query":"plums"`) {
			t.Errorf("the block %s is %s", kind, got)
		}
	}
}
