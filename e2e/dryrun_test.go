package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/pgtest"
)

// On either database, a dry run, a preview and a look at the context change no row, except
// in the tables that the server fills in the background.
func TestDryRunWritesNothing(t *testing.T) { onEach(t, dryRunWritesNothing) }

func dryRunWritesNothing(t *testing.T, at place) {
	s := startAt(t, at)
	c := s.connect()
	agent, err := c.CreateAgent(
		t.Context(),
		client.AgentInput{
			Name:     "Clock",
			Settings: parley.Settings{Model: "sim/tool", Tools: new(client.ToolNames("current_time"))},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.CreateSession(t.Context(), client.SessionInput{AgentID: agent.Slug, Title: "Times"})
	if err != nil {
		t.Fatal(err)
	}
	chat := func(text string) {
		if out, errOut, err := at.parley(t, "chat", "--session", session.ID.String(), text); err != nil {
			t.Fatalf("%v: %s %s", err, out, errOut)
		}
	}
	chat("What time is it?")
	before := s.settledDump(t, at)
	post := func(path, accept, body string, status int) (http.Header, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", accept)
		request.Header.Set("Authorization", "Bearer "+s.key())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(response.Body); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != status {
			t.Fatalf("%s: %d %s", path, response.StatusCode, answer.String())
		}
		return response.Header, answer.String()
	}
	messages := "/v1/sessions/" + session.ID.String() + "/messages"
	var ran struct {
		DryRun   bool `json:"dry_run"`
		Turn     parley.Turn
		Messages []parley.Message
		Calls    []parley.Call
	}
	header, answer := post(
		messages,
		"application/json",
		`{"content":{"text":"And now?"},"dry_run":true,"tool_results":[{"name":"current_time","result":{"utc":"half `+
			`past nine"}}]}`,
		200,
	)
	if err := json.Unmarshal([]byte(answer), &ran); err != nil {
		t.Fatal(err)
	}
	if header.Get("Parley-Dry-Run") != "true" || !ran.DryRun || ran.Turn.Status != parley.TurnCompleted ||
		len(ran.Messages) != 5 ||
		len(ran.Calls) != 2 ||
		ran.Calls[0].Usage.InputTokens == nil {
		t.Fatalf("the dry run: %s", answer)
	}
	if text := string(
		ran.Messages[4].Content,
	); !strings.Contains(text, "half past nine") || ran.Messages[0].Sequence != 6 ||
		!ran.Messages[4].ContentHash.IsZero() {
		t.Errorf("the answer is %s, the message has sequence %d", text, ran.Messages[0].Sequence)
	}
	if _, answer = post(
		messages,
		"application/json",
		`{"content":{"text":"And now?"},"dry_run":true}`,
		200,
	); !strings.Contains(
		answer,
		"this is a dry run",
	) {
		t.Errorf("a tool without a script ran: %s", answer)
	}
	_, frames := post(
		messages,
		"text/event-stream",
		`{"content":{"text":"Stream it."},"model":"sim/echo","dry_run":true}`,
		200,
	)
	if !strings.Contains(frames, "event: step.generating") || !strings.Contains(frames, "event: session.completed") ||
		strings.Contains(frames, "\nid: ") {
		t.Errorf("the frames: %s", frames)
	}
	_, answer = post(
		"/v1/sessions",
		"application/json",
		`{"agent_id":"clock","model":"sim/echo","message":{"content":{"text":"Nobody was here."}},"dry_run":true}`,
		200,
	)
	if !strings.Contains(answer, "Nobody was here.") {
		t.Errorf("a dry session: %s", answer)
	}
	_, answer = post(messages, "application/json", `{"content":{"text":"x"},"dry_run":true,"role":"assistant"}`, 422)
	if !strings.Contains(answer, "role") {
		t.Errorf("a dry assistant: %s", answer)
	}
	changed := foretold(t, c, session.ID)
	out, errOut, err := at.parley(t, "sessions", "preview", session.ID.String(), "--model", "sim/echo")
	if err != nil || !strings.Contains(out, "the change: input ") {
		t.Errorf("a change, foretold to people: %v: %s %s", err, out, errOut)
	}
	if after := s.dump(t, at); !slices.Equal(before, after) {
		t.Errorf("rows changed: before %v\nafter %v", before, after)
	}
	changed(chat)
	if sessions, err := c.Sessions(t.Context(), client.SessionsQuery{}); err != nil || len(sessions.Data) != 1 {
		t.Errorf("%d sessions, %v", len(sessions.Data), err)
	}
}

// foretold previews the next request after a pin, a mark and another policy. The returned function makes those changes
// and compares the request that is then sent.
func foretold(t *testing.T, c *client.Client, id parley.ID) func(chat func(text string)) {
	t.Helper()
	record, err := c.Messages(t.Context(), id, client.MessagesQuery{})
	if err != nil || len(record.Data) != 5 || record.Data[3].Role != parley.RoleToolResult {
		t.Fatalf("%d messages, %v", len(record.Data), err)
	}
	const text = "And after that?"
	answer, result := record.Data[4].ID, record.Data[3].ID
	policy := parley.Policy{Kind: parley.PolicyRecent, Limit: 1}
	patch := parley.SettingsPatch{Policy: parley.Change[*parley.Policy]{Set: true, Value: &policy}}
	shown, err := c.PreviewMessage(t.Context(), id, client.PreviewInput{
		MessageInput: client.UserMessage(text),
		Change: &client.ChangeInput{
			Marks: []client.ChangedMarksInput{
				{MessageID: result, Pinned: new(true)}, {MessageID: answer, SetAside: new(true)},
			},
			Session: &patch,
		},
	}, client.PreviewMessageQuery{})
	if err != nil || shown.Change == nil || !strings.HasPrefix(shown.Policy, "recent(1)") {
		t.Fatalf("the change: %+v, %v", shown, err)
	}
	return func(chat func(text string)) {
		t.Helper()
		_, err := c.UpdateSession(t.Context(), id, client.SessionPatch{SettingsPatch: patch})
		for at, marks := range map[parley.ID]client.MarksPatch{
			result: {Pinned: new(true)}, answer: {SetAside: new(true)},
		} {
			if err == nil {
				_, err = c.MarkMessage(t.Context(), at, marks, client.MarkMessageQuery{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		chat(text)
		calls, err := c.Calls(t.Context(), id, client.CallsQuery{Order: "asc"})
		if err != nil {
			t.Fatal(err)
		}
		sent, err := c.Call(t.Context(), calls.Data[2].ID)
		if err != nil || !sent.Exact || !bytes.Equal(sent.Request, shown.Request) {
			t.Errorf("foretold %s\nsent %s, %v", shown.Request, sent.Request, err)
		}
	}
}

// settledDump waits until two dumps are the same.
func (s *server) settledDump(t *testing.T, at place) []string {
	t.Helper()
	last := s.dump(t, at)
	for deadline := time.Now().Add(startDeadline); ; {
		if time.Now().After(deadline) {
			t.Fatalf("the tables do not come to rest: %v", last)
		}
		next := s.dump(t, at)
		if slices.Equal(last, next) {
			return next
		}
		last = next
	}
}

// behind names the tables that the server fills in the background: derived ones, and the
// record of who read what; and what dry runs used. Of the audit, only changes are compared.
var behind = regexp.MustCompile(`^(processes|audit.*|linked_heads|search_.*|dry_calls)$`)

// dump returns a line per table with its name, a hash of its rows and their number, and the
// changes that the audit lists.
func (s *server) dump(t *testing.T, at place) (tables []string) {
	t.Helper()
	driver, source, list := "sqlite", "file:"+filepath.Join(
		at.dir,
		"parley.db",
	)+"?mode=ro", "SELECT name, name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "+
		"AND name NOT LIKE '%_fts%' ORDER BY 1"
	if at.database != "" {
		address, err := url.Parse(at.database)
		if err != nil {
			t.Fatal(err)
		}
		driver, source = "pgx", databases.Cluster(t).
			URL(pgtest.Superuser, strings.TrimPrefix(address.Path, "/"))
			// no policy hides rows from it
		list = "SELECT table_name, 'parley.' || quote_ident(table_name) FROM information_schema.tables " +
			"WHERE table_schema = 'parley' AND table_type = 'BASE TABLE' ORDER BY 1"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names := query(t, db, list)
	for _, name := range names {
		if behind.MatchString(name[0]) {
			continue
		}
		hash := sha256.New()
		var lines []string
		for _, row := range query(t, db, "SELECT * FROM "+name[1]) { //nolint:gosec // a name from the catalogue
			lines = append(lines, strings.Join(row, "\x1f"))
		}
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Fprintln(hash, line)
		}
		tables = append(tables, fmt.Sprintf("%s %x %d", name[0], hash.Sum(nil)[:8], len(lines)))
	}
	out, errOut, err := at.parley(t, "audit", "--changes")
	if err != nil {
		t.Fatalf("%v: %s %s", err, out, errOut)
	}
	return append(tables, spaces.ReplaceAllString(previewed.ReplaceAllString(out, ""), "  "))
}

// previewed matches the audit's lines of requests that changed nothing, although they are no GET.
var (
	previewed = regexp.MustCompile(`(?m)^.*  previewMessage  .*\n`)
	spaces    = regexp.MustCompile(` {2,}`) // columns are as wide as what is in them
)

func query(t *testing.T, db *sql.DB, text string) (all [][]string) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, value := range values {
			row[i] = fmt.Sprintf("%v", value)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
