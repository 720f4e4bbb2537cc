package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

const (
	olderChat = `{"entries":[
		{"role":"user","content":"Plan the login","timestamp":"2025-01-02T10:00:00.000Z"},
		{"role":"assistant","content":"I split it in two","timestamp":"2025-01-02T10:00:09.500Z","media":["a.png"]}]}`
	olderTask = `{"taskId":"T-7","agentId":"dev-1","status":"completed","startedAt":"2025-01-03T08:00:00Z",
		"completedAt":"2025-01-03T09:00:00Z","messages":[
		{"timestamp":"2025-01-03T08:00:01Z","direction":"task_to_harness","type":"intention","content":"I add a form"},
		{"timestamp":"2025-01-03T08:00:02Z","direction":"harness_to_task","type":"approval","content":"Approved"},
		{"timestamp":"2025-01-03T08:01:00Z","direction":"task_to_harness","type":"progress","content":"writing",
		 "metadata":{"toolName":"write","toolInput":{"path":"a.ts"},"toolResult":"ok","cost":1}}]}`
	olderConversation = `{"id":"qa-task-login-T-7","type":"qa-task","featureId":"login","taskId":"T-7",
		"createdAt":"2025-01-04T08:00:00Z","updatedAt":"2025-01-04T08:10:00Z","status":"archived",
		"stats":{"totalMessages":2,"totalTokens":15},"messages":[
		{"id":"m1","timestamp":"2025-01-04T08:00:00Z","role":"user","content":"Test it"},
		{"id":"m2","timestamp":"2025-01-04T08:09:00Z","role":"assistant","content":"It holds",
		 "metadata":{"agentType":"qa","iteration":2,"internal":true,"tokens":{"input":10,"output":5}}}]}`
)

// importBody is the body of an import.
func importBody(t *testing.T, name, text string, dry bool) string {
	t.Helper()
	body, err := json.Marshal(engine.ImportInput{Name: name, Text: text, DryRun: dry})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// An older file becomes one session with its messages, authors, times, tools and tokens. A dry run makes none, and a
// second import changes nothing.
func TestOlderFilesAreImported(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name, text, key string
		roles           []parley.Role
	}{
		{
			"/home/ada/.dagent-worktrees/login/.dagent/chat.json", olderChat, parley.KeyFor("pm-feature", "login", ""),
			[]parley.Role{"user", "assistant"},
		},
		{
			".dagent-worktrees/login/.dagent/nodes/T-7/session.json", olderTask,
			parley.KeyFor("dev-task", "login", "T-7"),
			[]parley.Role{"assistant", "user", "assistant", "tool_call", "tool_result"},
		},
		{
			"qa.json", olderConversation, parley.KeyFor("qa-task", "login", "T-7"),
			[]parley.Role{"user", "assistant"},
		},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			count := func() int {
				return len(want[page[parley.Session]](s, 200, "GET", "/v1/sessions?archived=any", "").Data)
			}
			dry := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, file.name, file.text, true))
			if len(dry.Sessions) != 1 || dry.Sessions[0].Outcome != engine.ImportCreated ||
				!dry.Sessions[0].SessionID.IsZero() || count() != 0 {
				t.Fatalf("the dry run says %+v, and %d sessions exist", dry, count())
			}
			made := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, file.name, file.text, false))
			if made.Sessions[0].Outcome != engine.ImportCreated || made.Sessions[0].SessionID.IsZero() {
				t.Fatalf("the import says %+v", made)
			}
			id := made.Sessions[0].SessionID.String()
			again := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, file.name, file.text, false))
			if again.Sessions[0].Outcome != engine.ImportUnchanged || again.Sessions[0].SessionID.String() != id ||
				count() != 1 {
				t.Errorf("the second import says %+v, and %d sessions exist", again, count())
			}
			session := want[parley.Session](s, 200, "GET", "/v1/sessions/"+id, "")
			if session.Key != file.key || session.Visibility != parley.VisibilityPrivate ||
				session.Statistics.Messages != int64(len(file.roles)) {
				t.Errorf("the session has the key %s, is %s and has %d messages", session.Key, session.Visibility,
					session.Statistics.Messages)
			}
			messages := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+id+"/messages", "").Data
			for i, m := range messages {
				if m.Role != file.roles[i] || !m.Author.ID.IsZero() || m.Author.Name == "" || m.ContentHash.IsZero() {
					t.Errorf("message %d is %s by %+v", i, m.Role, m.Author)
				}
			}
			other := strings.NewReplacer("Plan the", "Plan a", "Approved", "Denied", "Test it", "Try it")
			changed := other.Replace(file.text)
			if got := s.do("POST", "/v1/imports", importBody(t, file.name, changed, false)); got.status != 409 {
				t.Errorf("a changed file: status %d %s", got.status, got.body)
			}
		})
	}
}

// What an older entry says beside its text is kept: tokens, iteration, type of agent, whether it is internal.
func TestImportKeepsWhatIsBesideTheText(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, "", olderConversation, false))
	at := "/v1/sessions/" + made.Sessions[0].SessionID.String()
	session := want[parley.Session](s, 200, "GET", at, "")
	if session.ArchivedAt == 0 || session.Statistics.InputTokens != 10 || session.Statistics.OutputTokens != 5 ||
		!strings.Contains(
			string(session.Metadata),
			`"import":{`,
		) || session.CreatedAt.String() != "2025-01-04T08:00:00.000Z" {
		t.Errorf("the session is %+v with the metadata %s", session, session.Metadata)
	}
	m := want[page[parley.Message]](s, 200, "GET", at+"/messages", "").Data[1]
	if m.AgentType != "qa" || m.Iteration != 2 || !m.Internal || m.Usage == nil || *m.Usage.InputTokens != 10 ||
		string(m.Metadata) != `{"id":"m2"}` {
		t.Errorf("the message is %+v with the metadata %s", m, m.Metadata)
	}
}

// An export imported into another server has the same hashes and verifies there; a changed one is refused, and the
// error names the place.
func TestAnExportIsImportedWithItsHashes(t *testing.T) {
	t.Parallel()
	from, to := startServer(t), startServer(t)
	session := from.session(`{"title":"Round trip","tags":["kept","` + engine.UnstoredTag + `","` +
		engine.EnvironmentTag + `x"]}`)
	at := "/v1/sessions/" + session.ID.String()
	for _, body := range []string{
		`{"respond":false,"content":{"text":"Look","links":["https://a.example/x"]},"metadata":{"b":1,"a":[2]}}`,
		`{"role":"assistant","content":{"text":"I look","reasoning":"hm"}}`,
		`{"role":"tool_call","content":{"id":"c1","name":"read","arguments":{"path":"a.md"}}}`,
		`{"role":"tool_result","tool_call_id":"c1","content":{"result":{"x":[1,null,"\u2028"]}}}`,
		`{"role":"assistant","internal":true,"content":{"text":""}}`,
	} {
		if got := from.do("POST", at+"/messages", body); got.status != 201 {
			t.Fatalf("%s: status %d %s", body, got.status, got.body)
		}
	}
	export := from.request("GET", at+"/export", "")
	defer export.Body.Close()
	text, err := io.ReadAll(export.Body)
	if err != nil {
		t.Fatal(err)
	}
	made := want[engine.Imported](to, 200, "POST", "/v1/imports", importBody(t, "e.json", string(text), false))
	there := "/v1/sessions/" + made.Sessions[0].SessionID.String()
	// Whoever imports a session does not take over what its owner let programs do with it.
	if tags := want[parley.Session](to, 200, "GET", there, "").Tags; !slices.Equal(tags, []string{"kept"}) {
		t.Errorf("it is tagged %q", tags)
	}
	one := want[page[parley.Message]](from, 200, "GET", at+"/messages", "").Data
	two := want[page[parley.Message]](to, 200, "GET", there+"/messages", "").Data
	if len(one) != 5 || len(two) != len(one) {
		t.Fatalf("%d messages of %d arrived", len(two), len(one))
	}
	for i := range one {
		if one[i].ContentHash != two[i].ContentHash || !bytes.Equal(one[i].Content, two[i].Content) ||
			one[i].CreatedAt != two[i].CreatedAt || one[i].Author.Name != two[i].Author.Name {
			t.Errorf("message %d is %+v and was %+v", i, two[i], one[i])
		}
	}
	again := want[engine.Imported](to, 200, "POST", "/v1/imports", importBody(t, "e.json", string(text), false))
	if again.Sessions[0].Outcome != engine.ImportUnchanged {
		t.Errorf("a second import is %s", again.Sessions[0].Outcome)
	}
	uploaded := want[parley.File](to, 201, "POST", "/v1/files?name=e.json", string(text))
	byFile := `{"file_id":"` + uploaded.ID.String() + `"`
	again = want[engine.Imported](to, 200, "POST", "/v1/imports", byFile+`}`)
	if again.Sessions[0].Outcome != engine.ImportUnchanged ||
		again.Sessions[0].SessionID != made.Sessions[0].SessionID {
		t.Errorf("the uploaded file: %+v", again.Sessions)
	}
	if got := to.do("POST", "/v1/imports", byFile+`,"text":"{}"}`); got.status != 422 {
		t.Errorf("a file and a text: status %d %s", got.status, got.body)
	}
	if got := from.do("POST", "/v1/imports", byFile+`}`); got.status != 404 {
		t.Errorf("a file of others: status %d %s", got.status, got.body)
	}
	verified(t, to)
	changed := strings.ReplaceAll(string(text), "I look", "I looked")
	got := to.do("POST", "/v1/imports", importBody(t, "e.json", changed, false))
	if got.status != 422 || !strings.Contains(string(got.body), "/messages/1/content_hash") {
		t.Errorf("a changed export: status %d %s", got.status, got.body)
	}
	// The import continues: it is a session like any other.
	if got := to.do("POST", there+"/messages", `{"respond":false,"content":{"text":"go on"}}`); got.status != 201 {
		t.Errorf("posting to an import: status %d %s", got.status, got.body)
	}
}

// TestImportsArePrivate: nobody else sees what somebody imports, even where new sessions are everybody's.
func TestImportsArePrivate(t *testing.T) {
	t.Parallel()
	s := newPeople(t)
	s.as(s.boss, 200, "PATCH", "/v1/workspace", `{"visibility":"workspace"}`)
	body := importBody(t, "chat.json", olderChat, false)
	made := want[engine.Imported](s.testServer, 200, "POST", "/v1/imports", body, "Authorization", s.vera)
	at := "/v1/sessions/" + made.Sessions[0].SessionID.String()
	s.as(s.vera, 200, "GET", at, "")
	s.as(s.mallory, 404, "GET", at, "")
	own := s.session(`{}`, "Authorization", s.vera).ID.String()
	s.as(s.mallory, 200, "GET", "/v1/sessions/"+own, "") // as the workspace says
}

// A file that cannot be imported is refused with its name, the place in it and a reason, and leaves nothing behind.
func TestHostileImportsAreRefused(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	entry := func(text string) string { return `{"entries":[` + text + `]}` }
	const when = `"timestamp":"2025-01-02T10:00:00Z"`
	for name, c := range map[string]struct{ text, place string }{
		"not JSON":  {`{"entries":`, "not a JSON object"},
		"a list":    {`[]`, "not a JSON object"},
		"no format": {`{"hello":1}`, "choose a session exported as JSON"},
		"a role":    {entry(`{"role":"root","content":"x",` + when + `}`), "/entries/0/role"},
		"a time": {
			entry(`{"role":"user","content":"x","timestamp":"9999-01-02T10:00:00Z"}`), "/entries/0/timestamp",
		},
		"no time":          {entry(`{"role":"user","content":"x"}`), "/entries/0/timestamp"},
		"a type":           {entry(`{"role":"user","content":7,` + when + `}`), "/entries/0/content"},
		"a NUL":            {entry(`{"role":"user","content":"a\u0000b",` + when + `}`), "/entries/0/content"},
		"half a surrogate": {entry(`{"role":"user","content":"\ud800",` + when + `}`), "/entries/0/content"},
		"a name twice":     {entry(`{"role":"user","role":"user","content":"x",` + when + `}`), "/entries/0/role"},
		"an id twice": {
			entry(`{"id":"a","role":"user","content":"x",` + when + `},` +
				`{"id":"a","role":"user","content":"x",` + when + `}`),
			"/entries/1/id",
		},
		"depth": {entry(`{"role":"user","content":"x",` + when + `,"deep":` + strings.Repeat("[", 70) +
			strings.Repeat("]", 70) + `}`), "nests deeper"},
		"tokens": {
			entry(`{"role":"user","content":"x",` + when + `,"metadata":{"tokens":{"input":-1}}}`),
			"/entries/0/metadata/tokens/input",
		},
		"too many": {entry(strings.Repeat(`0,`, 10_001) + `0`), "/entries"},
	} {
		got := s.do("POST", "/v1/imports", importBody(t, "bad.json", c.text, false))
		if got.status != 422 || !strings.Contains(string(got.body), c.place) ||
			!strings.Contains(string(got.body), "bad.json") {
			t.Errorf("%s: status %d %s", name, got.status, got.body)
		}
	}
	if n := len(want[page[parley.Session]](s, 200, "GET", "/v1/sessions", "").Data); n != 0 {
		t.Errorf("%d sessions are left behind", n)
	}
}

// System messages of a file are kept and shown in their place.
func TestImportKeepsSystemMessages(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	text := `{"entries":[{"role":"system","content":"Be brief","timestamp":"2025-01-02T10:00:00Z"},
		{"role":"user","content":[{"type":"text","text":"Hello"}],"timestamp":"2025-01-02T10:00:01Z"}]}`
	made := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, "chat.json", text, false))
	at := "/v1/sessions/" + made.Sessions[0].SessionID.String()
	for _, view := range []string{"flat", "chat"} {
		got := s.do("GET", at+"/messages?view="+view, "")
		if got.status != 200 || !strings.Contains(string(got.body), `"system"`) ||
			!strings.Contains(string(got.body), "Be brief") || !strings.Contains(string(got.body), "Hello") {
			t.Errorf("view %s: status %d %s", view, got.status, got.body)
		}
	}
}

// What an import answers and looks up is bounded, however many files its messages name, and so is what a failed message
// says about its failure.
func TestImportsOfManyFilesAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	file := func(messages, files int, failure *parley.Failure) string {
		t.Helper()
		var last parley.Hash
		rows := make([]parley.Message, messages)
		for i := range rows {
			content := parley.UserContent{}
			for range files {
				content.Parts = append(content.Parts, parley.Part{Type: parley.PartFile, FileID: parley.NewID()})
			}
			content.Parts = append(content.Parts, parley.Part{Type: parley.PartText, Text: "look"})
			m := &rows[i]
			*m = parley.Message{
				ID: parley.NewID(), Sequence: int64(i) + 1, Role: parley.RoleUser, Status: parley.MessageCompleted,
				Author: parley.Author{Kind: parley.AuthorPerson, Name: "Ada"}, Metadata: json.RawMessage(`{}`),
				ChainVersion: parley.ChainVersion, Error: failure, CreatedAt: 1_700_000_000_000,
			}
			var err error
			if m.Content, err = parley.EncodeContent(content); err != nil {
				t.Fatal(err)
			}
			if m.ContentHash, err = parley.ChainHash(last, m.ChainInput()); err != nil {
				t.Fatal(err)
			}
			last = m.ContentHash
		}
		text, err := parley.EncodeJSON(map[string]any{
			"session": map[string]string{"id": parley.NewID().String()}, "agent": map[string]string{"slug": "parley"},
			"messages": rows,
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	got := want[engine.Imported](s, 200, "POST", "/v1/imports", importBody(t, "", file(50, 4, nil), true))
	if left := got.Sessions[0].Left; len(left) != 100 || !strings.Contains(left[99].Text, "not complete") {
		t.Errorf("an import of 200 files that are not here leaves %d notes", len(left))
	}
	refused := func(what, text, says string) {
		t.Helper()
		got := s.do("POST", "/v1/imports", importBody(t, "", text, true))
		if got.status != 422 || !strings.Contains(string(got.body), says) {
			t.Errorf("%s: status %d %.300s", what, got.status, got.body)
		}
	}
	const most = 10_000 // files, as docs/import.md says
	refused(
		"very many files",
		file(most/parley.MaxMessageFiles+1, parley.MaxMessageFiles, nil),
		"more than 10000 files",
	)
	refused("a class of one's own", file(1, 0, &parley.Failure{Class: "own"}), "/messages/0/error/class")
	refused("a long sentence", file(1, 0, &parley.Failure{
		Class: parley.ClassModel, Sentence: strings.Repeat("x", parley.MaxTextBytes+1),
	}), "/messages/0/error")
}
