package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

var columns = regexp.MustCompile(` {2,}`)

// The command line prints a session's status and what of its input came from a
// provider's cache as the server has them.
func TestStatusAndCachedShareArePrinted(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, nil, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	say := func(args ...string) string {
		t.Helper()
		var out, complained bytes.Buffer
		if code := run(
			t.Context(),
			append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(""), out: &out, err: &complained},
		); code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complained.String())
		}
		return out.String()
	}
	// row is the cells of the table's line that begins with name.
	row := func(table, name string) []string {
		t.Helper()
		for line := range strings.Lines(table) {
			if cells := columns.Split(strings.TrimRight(line, "\n"), -1); cells[0] == name {
				return cells
			}
		}
		t.Fatalf("no line of %q in\n%s", name, table)
		return nil
	}
	idle, err := c.CreateSession(t.Context(), client.SessionInput{Title: "idle", AgentID: "parley"})
	if err != nil {
		t.Fatal(err)
	}
	say("chat", "--model", "sim/echo", strings.Repeat("All is well. ", 1_000))
	page, err := c.Sessions(t.Context(), client.SessionsQuery{})
	if err != nil || len(page.Data) != 2 {
		t.Fatalf("%d sessions, %v", len(page.Data), err)
	}
	busy := page.Data[slices.IndexFunc(page.Data, func(s parley.Session) bool { return s.ID != idle.ID })].ID.String()
	if first := row(say("usage", "--by", "model"), "total"); first[3] != "0 (0 %)" {
		t.Errorf("with no hit the share is %q", first[3])
	}
	say("chat", "--session", busy, "Go on.")
	list := say("sessions", "list")
	for id, want := range map[string]parley.SessionStatus{idle.ID.String(): parley.SessionPending,
		busy: parley.SessionCompleted} {
		if got := row(list, id); got[1] != string(want) {
			t.Errorf("session %s is listed as %q; want %q", id, got[1], want)
		}
		if shown := say("sessions", "show", id); !strings.HasPrefix(shown, id+"  "+string(want)+"  ") {
			t.Errorf("session %s is shown as %.80q; want it %s", id, shown, want)
		}
	}
	report, err := c.Usage(t.Context(), client.UsageQuery{})
	if err != nil || report.Total.CachedTokens == 0 {
		t.Fatalf("the second request shares its beginning with the first, and the report is %+v, %v", report, err)
	}
	want := fmt.Sprintf("%d (%d %%)", report.Total.CachedTokens, 100*report.Total.CachedTokens/report.Total.InputTokens)
	if total := row(say("usage", "--by", "model"), "total"); total[3] != want || total[4] != "1" {
		t.Errorf("usage prints %q; want the share %q and one hit", total, want)
	}
	id, err := parley.ParseID(busy)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := c.Turns(t.Context(), id, client.TurnsQuery{})
	if err != nil || len(turns.Data) != 2 {
		t.Fatalf("%d turns, %v", len(turns.Data), err)
	}
	table := say("turns", "list", busy)
	for i := range turns.Data {
		turn := &turns.Data[i]
		if got := row(table, turn.ID.String()); got[1] != "completed" || got[4] != fmt.Sprint(turn.Usage.CachedTokens) {
			t.Errorf("turn %d is printed as %q; want it completed, with %d cached", i+1, got, turn.Usage.CachedTokens)
		}
	}
}

// A message that did not end as it should says so beside its author.
func TestHeadlinesSayWhatWentWrong(t *testing.T) {
	t.Parallel()
	for status, want := range map[parley.MessageStatus]string{
		parley.MessageCompleted: "#3  assistant  by Ada  x/y",
		parley.MessageFailed:    "#3  assistant  by Ada  x/y  failed",
		parley.MessageCancelled: "#3  assistant  by Ada  x/y  cancelled",
	} {
		m := parley.Message{
			Sequence: 3,
			Role:     parley.RoleAssistant,
			Author:   parley.Author{Name: "Ada"},
			Model:    "x/y",
			Status:   status,
		}
		if got := headline(m); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}
