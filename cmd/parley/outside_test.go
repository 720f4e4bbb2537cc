package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/store"
)

// An agent outside goes on after the server was restarted in the middle of its
// message, and whoever watches then sees all of it.
func TestOutsideMessageOutlivesTheServer(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); outlivesTheServer(t, nil) })
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		outlivesTheServer(t, map[string]string{"PARLEY_DATABASE_URL": databases.New(t)})
	})
}

func outlivesTheServer(t *testing.T, env map[string]string) {
	t.Helper()
	dir, log := t.TempDir(), &lockedLog{}
	ctx := t.Context()
	srv, c := opened(t, dir, env, log)
	session, err := c.CreateSession(ctx, client.SessionInput{Title: "Crawler"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.PostMessage(ctx, session.ID, client.MessageInput{
		Role: parley.RoleAssistant, Status: parley.MessageStreaming, Settings: parley.Settings{Model: "crawler/2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AppendMessage(ctx, m.ID, client.AppendInput{Offset: 0, Text: new("Before ")}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := srv.close(); err != nil {
		t.Fatal(err)
	}

	srv, c = opened(t, dir, env, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	watching, stop := context.WithTimeout(ctx, turnTime)
	defer stop()
	seen := ""
	for frame, err := range c.WatchSession(watching, session.ID, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventStepGenerating {
			var d struct {
				Offset int    `json:"offset"`
				Delta  string `json:"delta"`
			}
			if err := json.Unmarshal(frame.Data, &d); err != nil {
				t.Fatal(err)
			}
			seen = seen[:d.Offset] + d.Delta
		}
		switch {
		case seen == "Before ": // before anything was appended to this process
			_, err := c.AppendMessage(ctx, m.ID, client.AppendInput{Offset: 99, Text: new("x")})
			var e *parley.Error
			if !errors.As(err, &e) || e.End == nil || *e.End != 7 {
				t.Fatalf("the conflict does not say where to go on: %v", err)
			}
			if _, err := c.AppendMessage(
				ctx,
				m.ID,
				client.AppendInput{Offset: *e.End, Text: new("and after.")},
			); err != nil {
				t.Fatal(err)
			}
		case seen == "Before and after." && frame.Type == parley.EventStepGenerating:
			if _, err := c.SettleMessage(ctx, m.ID, client.SettleInput{Status: parley.MessageCompleted}); err != nil {
				t.Fatal(err)
			}
		}
		if frame.Type.EndsTurn() {
			break
		}
	}
	if got, err := c.Session(
		ctx,
		session.ID,
	); err != nil || got.Status != parley.SessionCompleted ||
		seen != "Before and after." {
		t.Errorf("saw %q; the session is %s, %v", seen, got.Status, err)
	}
}

// A session is recorded from standard input, shared, and read by the agent of
// another one; what is not shared is not found.
func TestShareOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, nil, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	say := func(in string, args ...string) string {
		t.Helper()
		var out, complained bytes.Buffer
		if code := run(
			t.Context(),
			append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(in), out: &out, err: &complained},
		); code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complained.String())
		}
		return out.String()
	}
	ctx := t.Context()
	reader, err := c.CreateAgent(
		ctx,
		client.AgentInput{
			Name: "Reader",
			Settings: parley.Settings{
				Model:  "sim/script",
				Tools:  new(client.ToolNames("read_session")),
				Grants: &[]parley.Grant{{Tool: "*", Effect: parley.GrantAllow}},
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	made := func(title string) string {
		t.Helper()
		s, err := c.CreateSession(ctx, client.SessionInput{Title: title, AgentID: reader.Slug})
		if err != nil {
			t.Fatal(err)
		}
		return s.ID.String()
	}
	developer, qa, secret := made("developer"), made("qa"), made("secret")
	say(
		"I tried the cache first. 😀\x00\n",
		"sessions",
		"record",
		developer,
		"--model",
		"dev/1",
		"--agent-type",
		"developer",
	)
	shown := say("", "sessions", "show", developer)
	if !strings.Contains(shown, "I tried the cache first. 😀\uFFFD") || !strings.Contains(shown, "dev/1") {
		t.Errorf("recorded: %s", shown)
	}
	say("", "sessions", "share", developer, qa)
	if list := say("", "sessions", "shares", developer); !strings.Contains(list, qa) {
		t.Errorf("shares: %s", list)
	}
	if list := say("", "sessions", "shares", qa, "--in"); !strings.Contains(list, developer) {
		t.Errorf("shares of the reader: %s", list)
	}
	ask := func(arguments string) string {
		t.Helper()
		id, err := parley.ParseID(qa)
		if err != nil {
			t.Fatal(err)
		}
		result := ""
		script := `[[{"tool_call":{"name":"read_session","arguments":` + arguments + `}}],[{"text":"Read."}]]`
		for frame, err := range c.PostMessageStream(ctx, id, client.UserMessage(script)) {
			if err != nil {
				t.Fatal(err)
			}
			if frame.Type == parley.EventToolCompleted {
				var told struct {
					MessageID parley.ID `json:"message_id"`
				}
				if err := json.Unmarshal(frame.Data, &told); err != nil {
					t.Fatal(err)
				}
				page, err := c.Messages(
					ctx,
					id,
					client.MessagesQuery{Role: []parley.Role{"tool_result"}, Order: "desc", Limit: 1},
				)
				if err != nil || len(page.Data) != 1 || page.Data[0].ID != told.MessageID {
					t.Fatalf("%v: %+v", err, page.Data)
				}
				result = string(page.Data[0].Content)
			}
		}
		return result
	}
	for arguments, wanted := range map[string]string{
		`{"session":"` + developer + `"}`:                       "I tried the cache first.",
		`{"session":"` + developer + `","view":"all","last":1}`: `"role":"assistant"`,
		`{}`:                           "developer",
		`{"session":"` + secret + `"}`: "this session does not exist, or is not shared",
		`{"session":"` + parley.NewID().String() + `"}`: "this session does not exist, or is not shared",
		`{"session":"no id"}`:                           "this session does not exist, or is not shared",
		`{"session":"` + developer + `","last":0}`:      "must lie between 1 and 200",
	} {
		if got := ask(arguments); !strings.Contains(got, wanted) {
			t.Errorf("read_session %s: %s", arguments, got)
		}
	}
	say("", "sessions", "unshare", developer, qa)
	if got := ask(`{"session":"` + developer + `"}`); !strings.Contains(got, "this session does not exist") {
		t.Errorf("after the end of the share: %s", got)
	}
	read := 0
	id, err := parley.ParseID(developer)
	if err != nil {
		t.Fatal(err)
	}
	workspace, err := srv.store.Workspace(ctx, parley.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := srv.store.Audit(ctx, workspace, store.AuditQuery{SessionID: id, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Action == "read_session" && entry.TargetID.String() == qa {
			read++
		}
	}
	if read != 2 {
		t.Errorf("the audit tells of %d readings; want 2: %+v", read, entries)
	}
}

// TestWholeRunes: what is sent never cuts a character, and nothing stays behind.
func TestWholeRunes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		last bool
		want int
	}{{"", false, 0}, {"abc", false, 3}, {"ü", false, 2}, {"\xc3", false, 0}, {"a\xc3", false, 1},
		{"a\xf0\x9f\x98", false, 1}, {"\xc3", true, 1}, {"\x80\x80", false, 2},
		{strings.Repeat("a", recordPiece-1) + "ü", false, recordPiece - 1}} {
		if got := wholeRunes([]byte(c.text), c.last); got != c.want {
			t.Errorf("%.10q, last %t: %d; want %d", c.text, c.last, got, c.want)
		}
	}
}
