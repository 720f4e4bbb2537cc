package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// library is a store with a reading session and one to read.
type library struct {
	*testing.T
	store          *sqlite.Store
	scope          store.Scope
	reader, shared parley.ID
	owner          parley.Principal
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{T: t}
	store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	l.must(err)
	t.Cleanup(func() { l.must(store.Close()) })
	l.store = store
	l.scope.WorkspaceID, err = store.Workspace(t.Context(), parley.DefaultWorkspace)
	l.must(err)
	l.owner, err = store.LocalOwner(t.Context(), l.scope.WorkspaceID)
	l.must(err)
	l.reader, l.shared = l.session(), l.session()
	_, _, err = store.Share(
		t.Context(),
		l.scope,
		parley.Share{SessionID: l.shared, ReaderID: l.reader, SharedBy: l.owner.Author()},
	)
	l.must(err)
	return l
}

func (l *library) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *library) session() parley.ID {
	l.Helper()
	agent, err := l.store.Agent(l.Context(), l.scope.WorkspaceID, parley.BuiltinAgentSlug)
	l.must(err)
	id := parley.NewID()
	_, err = l.store.EnsureSession(
		l.Context(),
		l.scope,
		store.NewSession{
			Session: parley.Session{ID: id, WorkspaceID: l.scope.WorkspaceID, AgentID: agent.ID, OwnerID: l.owner.ID,
				Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground},
		},
		parley.ID{},
	)
	l.must(err)
	return id
}

func (l *library) write(role parley.Role, content string, internal bool) {
	l.Helper()
	_, err := l.store.PostMessage(
		l.Context(),
		l.scope,
		l.shared,
		store.NewMessage{
			ID:       parley.NewID(),
			Role:     role,
			Author:   l.owner.Author(),
			Content:  json.RawMessage(content),
			Internal: internal,
		},
		parley.ID{},
	)
	l.must(err)
}

func (l *library) read(arguments string) readMessages {
	l.Helper()
	raw, err := newReadSession(
		l.store,
	).Call(l.Context(), tool.Call{WorkspaceID: l.scope.WorkspaceID, SessionID: l.reader, TurnID: parley.NewID(),
		Arguments: json.RawMessage(fmt.Sprintf(`{"session":%q%s}`, l.shared, arguments))})
	l.must(err)
	var got readMessages
	l.must(json.Unmarshal(raw.JSON, &got))
	return got
}

func sequences(got readMessages) string {
	var out []string
	for _, m := range got.Read {
		out = append(out, fmt.Sprint(m.Sequence))
	}
	return strings.Join(out, " ")
}

func TestReadSessionShowsTheLatest(t *testing.T) {
	l := newLibrary(t)
	l.write(parley.RoleUser, `{"text":"one"}`, false)
	l.write(parley.RoleAssistant, `{"text":"two"}`, false)
	l.write(parley.RoleUser, `{"text":"nobody's business"}`, true)
	l.write(parley.RoleToolCall, `{"arguments":{},"id":"c","name":"look"}`, false)
	l.write(parley.RoleAssistant, `{"text":"five"}`, false)
	for arguments, want := range map[string]string{
		"": "1 2 5, earlier false", `,"last":3`: "1 2 5, earlier false", `,"last":2`: "2 5, earlier true",
		`,"view":"all"`: "1 2 4 5, earlier false", `,"view":"all","last":2`: "4 5, earlier true",
	} {
		got := l.read(arguments)
		if is := fmt.Sprintf("%s, earlier %t", sequences(got), got.Earlier); is != want {
			t.Errorf("%s: read %s; want %s", arguments, is, want)
		}
	}
}

// A result stays within its bound, however long the messages are.
func TestReadSessionIsBounded(t *testing.T) {
	l := newLibrary(t)
	long := func(n int) string {
		return string(append(parley.AppendJSONString([]byte(`{"text":`), strings.Repeat("ü", n/2)), '}'))
	}
	for range 3 {
		l.write(parley.RoleAssistant, long(maxSessionBytes/2), false)
	}
	if got := l.read(""); sequences(got) != "2 3" || !got.Earlier {
		t.Errorf("read %s, earlier %t", sequences(got), got.Earlier)
	}
	l.write(parley.RoleAssistant, long(3*maxSessionBytes), false)
	got := l.read("")
	if sequences(got) != "4" || !got.Earlier || len(got.Read[0].Content) > 2*maxSessionBytes ||
		got.Read[0].Content[0] != '"' {
		t.Errorf("read %s with %d bytes, earlier %t", sequences(got), len(got.Read[0].Content), got.Earlier)
	}
}
