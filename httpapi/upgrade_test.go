package httpapi

import (
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// previous is a server of today on a database that the release before 0.0.20's
// migrations filled: two people, ada and ben, with sessions, a fork, a tool session, a
// file, keys, an audit, and a question that waits for ben.
type previous struct {
	*testServer
	ada, ben, own string // bearers
	before        int    // entries of its audit
}

// scripted is a message that has the scripted model call a tool and then say a word.
func scripted(tool string, arguments map[string]string) string {
	script, _ := json.Marshal([]any{
		[]any{map[string]any{"tool_call": map[string]any{"name": tool, "arguments": arguments}}},
		[]any{map[string]any{"text": "Done."}}})
	return string(script)
}

func openPrevious(t *testing.T) *previous {
	t.Helper()
	return openOld(t, "previous.db.gz")
}

// openOld is openPrevious with another database of a release before.
func openOld(t *testing.T, name string) *previous {
	t.Helper()
	root, data := t.TempDir(), t.TempDir()
	packed, err := os.Open("../sqlite/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, sqlite.DatabaseFile)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	p := &previous{
		ada: "pk_" + strings.Repeat("a", 64),
		ben: "pk_" + strings.Repeat("b", 64),
		own: "Bearer " + testToken,
	}
	for name, secret := range map[string]string{"ada": p.ada,
		"ben": p.ben} { // the secrets that were made then are nowhere
		hash := parley.HashOf([]byte(secret))
		if _, err := db.ExecContext(t.Context(), "UPDATE keys SET hash = ? WHERE name = ?", hash[:], name); err != nil {
			t.Fatal(err)
		}
	}
	p.ada, p.ben = "Bearer "+p.ada, "Bearer "+p.ben
	project := filepath.Join(root, "demo")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE projects SET path = ?", project); err != nil {
		t.Fatal(err)
	}
	// The question has waited since, and has a day.
	if _, err := db.ExecContext(
		t.Context(),
		"UPDATE approvals SET expires_at = ? WHERE state = 'pending'",
		time.Now().Add(time.Hour).UnixMilli(),
	); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM audit").Scan(&p.before); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p.testServer = startServerIn(t, root, data, testModels, nil)
	return p
}

// titled is the session of a title.
func (p *previous) titled(title, bearer string) parley.Session {
	p.Helper()
	for _, session := range want[page[parley.Session]](p.testServer, 200, "GET", "/v1/sessions", "", "Authorization",
		bearer).Data {
		if session.Title == title {
			return session
		}
	}
	p.Fatalf("no session is titled %q", title)
	return parley.Session{}
}

// says posts a message and waits until the turn ends or asks; it returns the question, if any.
func (p *previous) says(session parley.Session, text, bearer string) parley.Approval {
	p.Helper()
	path := "/v1/sessions/" + session.ID.String()
	posted := p.do("POST", path+"/messages", fmt.Sprintf(`{"content":{"text":%q}}`, text), "Authorization", bearer)
	if posted.status/100 != 2 {
		p.Fatalf("the post: %d %s", posted.status, posted.body)
	}
	stream := p.stream("GET", path+"/events?after="+posted.header.Get(eventSequenceHeader), "", "Authorization", bearer)
	for {
		frame, err := stream.next()
		if err != nil {
			p.Fatal(err)
		}
		switch frame.event {
		case "session.completed":
			return parley.Approval{}
		case "approval.created":
			return p.waits(session, bearer)
		case "session.failed", "session.cancelled":
			p.Fatalf("the turn ended with %s %s", frame.event, frame.data.Data)
		}
	}
}

// waits returns the only question of a session or of one below it.
func (p *previous) waits(session parley.Session, bearer string) parley.Approval {
	p.Helper()
	found := want[page[parley.Approval]](
		p.testServer,
		200,
		"GET",
		"/v1/sessions/"+session.ID.String()+"/approvals?status=pending",
		"",
		"Authorization",
		bearer,
	).Data
	if len(found) != 1 {
		p.Fatalf("%d approvals wait", len(found))
	}
	return found[0]
}

// approves answers a question once and waits for the end of a session's turn.
func (p *previous) approves(session parley.Session, asked parley.Approval, bearer string) {
	p.Helper()
	path := "/v1/sessions/" + session.ID.String()
	at := want[parley.Session](p.testServer, 200, "GET", path, "", "Authorization", bearer).LastEvent
	want[parley.Approval](
		p.testServer,
		200,
		"POST",
		"/v1/approvals/"+asked.ID.String(),
		approveOnce,
		"Authorization",
		bearer,
	)
	p.stream("GET", fmt.Sprintf("%s/events?after=%d", path, at), "", "Authorization", bearer).until("session.completed")
}

// intact verifies the whole database after its audit has been linked.
func (p *previous) intact() {
	p.Helper()
	for until := time.Now().Add(patience); ; {
		if want[parley.Anchor](
			p.testServer,
			200,
			"GET",
			"/v1/audit/anchor",
			"",
			"Authorization",
			p.own,
		).Number >= int64(
			p.before,
		) {
			break
		}
		if time.Now().After(until) {
			p.Fatal("the audit of before is not linked")
		}
	}
	body := "{}"
	for range 1000 {
		step := want[parley.VerifyStep](p.testServer, 200, "POST", "/v1/verify", body, "Authorization", p.own)
		if len(step.Findings) > 0 {
			p.Fatalf("found: %+v", step.Findings)
		}
		if step.Done {
			return
		}
		next, err := step.Next.MarshalText()
		if err != nil {
			p.Fatal(err)
		}
		body = `{"place":"` + string(next) + `"}`
	}
	p.Fatal("the verification does not end")
}

// versions returns the chain versions of a session's own rows, in order.
func (p *previous) versions(session parley.Session) (versions []int) {
	p.Helper()
	_, rows, there, err := p.store.RecordRows(p.Context(), session.WorkspaceID, session.ID, 0, parley.MaxPage)
	if err != nil || !there {
		p.Fatalf("the record: there %v, %v", there, err)
	}
	for i := range rows {
		versions = append(versions, rows[i].Input.Version)
	}
	return versions
}

// TestADatabaseOfThePreviousReleaseGoesOn: record, chain and audit verify, a waiting question can be answered, and old
// sessions continue in the second version of the chain.
func TestADatabaseOfThePreviousReleaseGoesOn(t *testing.T) {
	t.Parallel()
	p := openPrevious(t)
	p.intact()
	of, fork, waiting := p.titled("Ada's", p.ada), p.titled("Ada's fork", p.ada), p.titled("Ben's", p.ben)

	asked := p.waits(waiting, p.ben)
	if asked.ToolName != "write_file" || asked.Reason != parley.AskedByRule || asked.Approvers != 1 {
		t.Errorf("what waited is %+v", asked)
	}
	p.approves(waiting, asked, p.ben)
	if written, err := os.ReadFile(filepath.Join(p.root, "demo", "b.txt")); err != nil || string(written) != "b" {
		t.Errorf(
			"the approved call wrote %q, %v: %s",
			written,
			err,
			p.do(
				"GET",
				"/v1/sessions/"+waiting.ID.String()+"/messages?limit=3&order=desc",
				"",
				"Authorization",
				p.ben,
			).body,
		)
	}

	for session, bearer := range map[*parley.Session]string{&of: p.ada, &fork: p.ada, &waiting: p.ben} {
		old := p.versions(*session)
		if approval := p.says(*session, scripted("current_time", map[string]string{}), bearer); !approval.ID.IsZero() {
			t.Errorf("%s: what ran unasked is asked about because of %s", session.Title, approval.Reason)
		}
		now := p.versions(*session)
		if len(old) == 0 || old[0] != 1 || len(now) <= len(old) || now[len(now)-1] != parley.ChainVersion {
			t.Errorf("%s: the rows' versions were %v, and are %v", session.Title, old, now)
		}
	}
	exported := p.do("GET", "/v1/sessions/"+of.ID.String()+"/export", "", "Authorization", p.ada)
	if exported.status != 200 || strings.Count(
		string(exported.body), `"content":{"parts":[{"text":"It is late.","type":"text"}],"text":"It is late."}`) != 1 {
		t.Errorf("the export: %d %d bytes", exported.status, len(exported.body))
	}
	files := want[page[parley.File]](p.testServer, 200, "GET", "/v1/files", "", "Authorization", p.ada).Data
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	if content := p.do(
		"GET",
		"/v1/files/"+files[0].ID.String()+"/content",
		"",
		"Authorization",
		p.ada,
	); string(
		content.body,
	) != "Notes of the demo.\n" {
		t.Errorf("the file holds %q", content.body)
	}
	if got := p.do("PATCH", "/v1/agents/actor", `{"description":"x"}`, "Authorization", p.ben); got.status != 403 {
		t.Errorf("a member changes an agent from before: %d", got.status)
	}
	p.intact()
}

// TestSessionsOfThePreviousReleaseAreNotWidened (failure 69): they have accepted the agents as they were, and nothing
// from agents that were created later.
func TestSessionsOfThePreviousReleaseAreNotWidened(t *testing.T) {
	t.Parallel()
	p := openPrevious(t)
	write := scripted("write_file", map[string]string{"path": "c.txt", "text": "c"})
	waiting, help := p.titled("Ben's", p.ben), p.titled("Ben's with help", p.ben)
	p.approves(waiting, p.waits(waiting, p.ben), p.ben)
	freely := `{"grants":[{"tool":"write_file","effect":"allow"}]}`
	want[parley.Agent](p.testServer, 200, "PATCH", "/v1/agents/actor", freely, "Authorization", p.ada)
	asked := p.says(waiting, write, p.ben)
	if asked.Reason != parley.AskedAgentChange {
		t.Fatalf("a widened agent asks in a session of before because of %q", asked.Reason)
	}
	p.approves(waiting, asked, p.ben)

	want[parley.Agent](p.testServer, 200, "PATCH", "/v1/agents/below", freely, "Authorization", p.ada)
	task := scripted("help", map[string]string{"task": write})
	asked = p.says(help, task, p.ben)
	if asked.Reason != parley.AskedAgentChange {
		t.Fatalf("a widened agent below asks in a session of before because of %q", asked.Reason)
	}
	p.approves(help, asked, p.ben)

	want[parley.Agent](p.testServer, 200, "PATCH", "/v1/agents/below", `{"slug":"was-below"}`, "Authorization", p.ada)
	p.agent(
		`{"name":"Below","model":"sim/script","tools":["write_file"],"grants":[{"tool":"write_file",`+
			`"effect":"allow"}]}`,
		p.ada,
	)
	asked = p.says(help, task, p.ben)
	if asked.Reason != parley.AskedToolChange {
		t.Fatalf("another agent under the same name asks in a session of before because of %q", asked.Reason)
	}
}

// exported is what a test compares of a row of an export.
type exported struct {
	Sequence    int64                `json:"sequence"`
	Role        parley.Role          `json:"role"`
	Status      parley.MessageStatus `json:"status"`
	ContentHash string               `json:"content_hash"`
	Content     json.RawMessage      `json:"content"`
}

// short is a content without the parts that an answer has beside the short form.
func (p *previous) short(row exported) json.RawMessage {
	p.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(row.Content, &members); err != nil {
		p.Fatal(err)
	}
	switch row.Role {
	case parley.RoleUser, parley.RoleAssistant, parley.RoleToolResult:
		if members["parts"] == nil {
			p.Errorf("message %d has no parts: %s", row.Sequence, row.Content)
		}
		delete(members, "parts")
	}
	raw, err := parley.EncodeJSON(members)
	if err == nil {
		raw, err = parley.CanonicalJSON(raw)
	}
	if err != nil {
		p.Fatal(err)
	}
	return raw
}

// kept returns a session's messages as they are stored.
func (p *previous) kept(session parley.Session) []parley.Message {
	p.Helper()
	rows, err := p.store.Messages(p.Context(), store.Scope{WorkspaceID: session.WorkspaceID}, session.ID,
		store.MessageQuery{RecordOnly: true, Limit: parley.MaxPage})
	if err != nil {
		p.Fatal(err)
	}
	return rows
}

// TestADatabaseFromBeforePartsIsReadAlike: a database written by the release before parts verifies and is not
// rewritten. Its exports have the same contents and hashes as that release's, apart from the added parts, and its
// sessions continue.
func TestADatabaseFromBeforePartsIsReadAlike(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../sqlite/testdata/before_parts.json")
	if err != nil {
		t.Fatal(err)
	}
	var before map[string][]exported
	if err := json.Unmarshal(raw, &before); err != nil {
		t.Fatal(err)
	}
	p := openOld(t, "before_parts.db.gz")
	p.intact()
	compare := func() {
		for title, rows := range before {
			bearer := p.ada
			if title == "Ben's" || title == "Outside" {
				bearer = p.ben
			}
			path := "/v1/sessions/" + p.titled(title, bearer).ID.String() + "/export"
			var now struct{ Messages []exported }
			if err := json.Unmarshal(p.do("GET", path, "", "Authorization", bearer).body, &now); err != nil {
				t.Fatal(err)
			}
			now.Messages = slices.DeleteFunc(now.Messages, func(row exported) bool { return row.Sequence == 0 })
			for i := range now.Messages {
				now.Messages[i].Content = p.short(now.Messages[i])
			}
			if len(now.Messages) < len(rows) {
				t.Fatalf("%s: %d rows are exported; there were %d", title, len(now.Messages), len(rows))
			}
			if diff := cmp.Diff(rows, now.Messages[:len(rows)]); diff != "" {
				t.Errorf("%s is exported otherwise (-before +now):\n%s", title, diff)
			}
			for i, m := range p.kept(p.titled(title, bearer)) {
				if i < len(rows) && string(m.Content) != string(rows[i].Content) {
					t.Errorf("%s: what was %s is stored as %s", title, rows[i].Content, m.Content)
				}
				if i >= len(rows) && storetest.InShort(m.Role, m.Content) {
					t.Errorf("%s goes on in the short form: %s", title, m.Content)
				}
			}
		}
	}
	compare()
	for _, title := range []string{"Everything said", "Tools", "Tools, again", "Long"} {
		p.says(p.titled(title, p.ada), `[[{"text":"It goes on."}]]`, p.ada)
	}
	compare()
	p.intact()
}
