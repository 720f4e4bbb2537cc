package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// recalled calls a tool of the shared session's own record.
func (l *library) recalled(name string, sessionID parley.ID, arguments string) (tool.Result, error) {
	l.Helper()
	found, ok := Record(l.store).Tool(name)
	if !ok {
		l.Fatalf("there is no tool %s", name)
	}
	return found.Call(l.Context(), tool.Call{WorkspaceID: l.scope.WorkspaceID, SessionID: sessionID,
		TurnID: parley.NewID(), Arguments: json.RawMessage(arguments)})
}

// kept reads with read_result from the shared session; text is what follows the description.
func (l *library) kept(arguments string) (got keptText, text string) {
	l.Helper()
	result, err := l.recalled(parley.ReadResultTool, l.shared, arguments)
	l.must(err)
	raw := result.JSON
	if len(result.Pieces) == 2 {
		raw, text = result.Pieces[0].Object, result.Pieces[1].Text
	}
	l.must(json.Unmarshal(raw, &got))
	return got, text
}

// numbered returns lines "line 1" to "line n".
func numbered(n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprint("line ", i+1))
	}
	return strings.Join(lines, "\n")
}

// writeResult writes a call, and its result as the second message.
func (l *library) writeResult(text string) {
	l.Helper()
	l.write(parley.RoleToolCall, `{"arguments":{},"id":"c","name":"look"}`, false)
	_, err := l.store.PostMessage(l.Context(), l.scope, l.shared, store.NewMessage{
		ID:         parley.NewID(),
		Role:       parley.RoleToolResult,
		Author:     l.owner.Author(),
		ToolCallID: "c",
		ToolName:   "look",
		Content: json.RawMessage(
			`{"error":null,"execution_time_ms":1,"result":` + quotedJSON(text) + `,"success":true}`,
		),
	}, parley.ID{})
	l.must(err)
}

func quotedJSON(text string) string { return string(parley.AppendJSONString(nil, text)) }

func TestReadResultReadsLinesAndCharacters(t *testing.T) {
	l := newLibrary(t)
	l.writeResult(numbered(5000)) // message 2
	got, text := l.kept(`{"id":2,"from":10,"to":12}`)
	if text != "line 10\nline 11\nline 12\n" || got.Lines != 5000 || got.Tool != "look" || got.Next == nil ||
		*got.Next != 13 {
		t.Errorf("read %q, %+v", text, got)
	}
	var whole strings.Builder
	for next := 1; next > 0; {
		got, text := l.kept(fmt.Sprintf(`{"id":2,"from":%d}`, next))
		if len(text) > recallBytes {
			t.Fatalf("an answer holds %d bytes", len(text))
		}
		whole.WriteString(text)
		if next = 0; got.Next != nil {
			next = *got.Next
		}
	}
	if whole.String() != numbered(5000) {
		t.Errorf("read piece by piece it has %d bytes", whole.Len())
	}
	if _, text := l.kept(`{"id":2,"unit":"characters","from":6,"to":8}`); text != "1\nl" {
		t.Errorf("characters 6 to 8 are %q", text)
	}
	if _, err := l.recalled(parley.ReadResultTool, l.shared, `{"id":2,"from":5001}`); parley.ErrorCode(err) !=
		parley.CodeInvalid {
		t.Errorf("behind the end: %v", err)
	}
}

// A line that no answer holds is read on by characters.
func TestReadResultReadsLongLines(t *testing.T) {
	l := newLibrary(t)
	l.writeResult("first\n" + strings.Repeat("ü", 10_000) + "\nlast")
	var whole strings.Builder
	for arguments := `{"id":2}`; arguments != ""; {
		got, text := l.kept(arguments)
		whole.WriteString(text)
		if arguments = ""; got.Next != nil {
			arguments = fmt.Sprintf(`{"id":2,"unit":%q,"from":%d}`, got.Unit, *got.Next)
		}
	}
	if want := "first\n" + strings.Repeat("ü", 10_000) + "\nlast"; whole.String() != want {
		t.Errorf("read %d bytes of %d", whole.Len(), len(want))
	}
}

func TestReadResultFindsTexts(t *testing.T) {
	l := newLibrary(t)
	l.writeResult(numbered(5000))
	got, _ := l.kept(`{"id":2,"search":"LINE 4321"}`)
	if got.Found == nil || len(*got.Found) != 1 || (*got.Found)[0].Line != 4321 ||
		!strings.Contains((*got.Found)[0].Text, "line 4320\nline 4321\nline 4322") || got.More {
		t.Errorf("found %+v", got)
	}
	_, text := l.kept(fmt.Sprintf(`{"id":2,"unit":"characters","from":%d,"to":%[1]d}`, (*got.Found)[0].Character))
	if text != "l" {
		t.Errorf("character %d is %q", (*got.Found)[0].Character, text)
	}
	if got, _ := l.kept(`{"id":2,"search":"line"}`); len(*got.Found) != mostFound || !got.More {
		t.Errorf("found %d places, more %t", len(*got.Found), got.More)
	}
	if got, _ := l.kept(`{"id":2,"search":".*"}`); len(*got.Found) != 0 {
		t.Errorf("a pattern was taken for one: %+v", got)
	}
}

// TestRecallStaysInItsOwnRecord: no tool reads another session, or what is internal, set aside or failed.
func TestRecallStaysInItsOwnRecord(t *testing.T) {
	l := newLibrary(t)
	l.write(parley.RoleUser, `{"text":"the harbour is open"}`, false)
	l.write(parley.RoleUser, `{"text":"the harbour is secret"}`, true)
	l.write(parley.RoleUser, `{"text":"the harbour is set aside"}`, false)
	rows, err := l.store.Messages(t.Context(), l.scope, l.shared, store.MessageQuery{Limit: 10})
	l.must(err)
	aside := true
	_, err = l.store.MarkMessage(t.Context(), l.scope, l.shared, rows[2].ID, parley.MarksChange{SetAside: &aside})
	l.must(err)
	for {
		left, err := l.store.IndexSessions(t.Context(), []parley.ID{l.shared})
		if l.must(err); len(left) == 0 {
			break
		}
	}
	for _, c := range []struct {
		of        parley.ID
		name      string
		arguments string
		want      string // the sequences
	}{
		{l.shared, parley.ReadConversationTool, `{"from":1}`, "1"},
		{l.shared, parley.ReadConversationTool, `{"from":2,"to":3}`, ""},
		{l.shared, parley.SearchConversationTool, `{"query":"harbour"}`, "1"},
		{l.reader, parley.ReadConversationTool, `{"from":1}`, ""},
		{l.reader, parley.SearchConversationTool, `{"query":"harbour"}`, ""},
	} {
		result, err := l.recalled(c.name, c.of, c.arguments)
		l.must(err)
		var got struct{ Messages []quotation }
		l.must(json.Unmarshal(result.JSON, &got))
		var sequences []string
		for _, m := range got.Messages {
			sequences = append(sequences, fmt.Sprint(m.Sequence))
		}
		if is := strings.Join(sequences, " "); is != c.want {
			t.Errorf("%s %s quotes %q; want %q", c.name, c.arguments, is, c.want)
		}
	}
	for id, of := range map[int]parley.ID{1: l.reader, 2: l.shared, 3: l.shared, 4: l.shared} {
		_, err := l.recalled(parley.ReadResultTool, of, fmt.Sprintf(`{"id":%d}`, id))
		if parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("message %d: %v", id, err)
		}
	}
}

// An answer about many long messages is bounded, and says where to read on.
func TestReadConversationIsBounded(t *testing.T) {
	l := newLibrary(t)
	for range 12 {
		l.write(parley.RoleAssistant, `{"text":`+quotedJSON(strings.Repeat("word ", 2000))+`}`, false)
	}
	seen := 0
	for from := int64(1); from > 0; {
		result, err := l.recalled(parley.ReadConversationTool, l.shared, fmt.Sprintf(`{"from":%d}`, from))
		l.must(err)
		var got struct {
			Messages []quotation
			Next     *int64
		}
		l.must(json.Unmarshal(result.JSON, &got))
		if len(result.JSON) > 2*recallBytes {
			t.Fatalf("an answer has %d bytes", len(result.JSON))
		}
		for _, m := range got.Messages {
			if seen++; m.Sequence != int64(seen) || m.Bytes != 10_000 {
				t.Errorf("message %d has %d bytes", m.Sequence, m.Bytes)
			}
		}
		if from = 0; got.Next != nil {
			from = *got.Next
		}
	}
	if seen != 12 {
		t.Errorf("%d messages were read", seen)
	}
}
