package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
)

const (
	// toolTurn is a turn of five messages: the user's, an answer with a call, its
	// result, the last answer.
	toolTurn = `[
  [{"text":"alpha ","repeat":60},{"tool_call":{"name":"current_time","arguments":{}}}],
  [{"text":"omega ","repeat":140}]
]`
	toolTurnRows = 5
	meanwhile    = `[[{"text":"I am listening."}]]`

	// The summaries of crash tests take 2.4 s, at a constant number of words.
	slowSummary  = "sim/lorem-60-40"
	summaryWords = 60
)

// TestKillDuringACompaction: whenever a process is killed while it writes a summary, the
// next one resumes the compaction, the partial summary is not in the record, and one
// summary of whole turns enters it. Meanwhile the conversation continues.
func TestKillDuringACompaction(t *testing.T) { onEach(t, killDuringACompaction) }

func killDuringACompaction(t *testing.T, at place) {
	const turns = 3
	kills := parley.MaxCompactionAttempts - 1
	if testing.Short() {
		kills = 1
	}
	random := rand.New(rand.NewPCG(20260101, 47)) //nolint:gosec // instants, not secrets
	s := startAt(t, at, "--lease", shortLease.String())
	session := s.longTalk(t, turns)
	asked, err := s.client.CompactSession(t.Context(), session, client.CompactInput{})
	if err != nil {
		t.Fatal(err)
	}
	var told compactionTold
	for attempt := 1; ; attempt++ {
		told = untilCompaction(t, s.client, session, told.event, parley.EventCompactionStarted)
		if told.ID != asked.ID || told.Attempt != attempt || told.CoversFrom != 1 ||
			told.CoversThrough < (turns-1)*toolTurnRows {
			t.Fatalf("attempt %d of compaction %s is reported as %+v", attempt, asked.ID, told)
		}
		if _, err := s.client.Post(t.Context(), session, client.UserMessage(meanwhile)); err != nil {
			t.Fatal(err)
		}
		if attempt > kills {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(600))*time.Millisecond)
		for range s.client.WatchSession(ctx, session,
			client.WatchSessionQuery{After: told.event}) { // until the instant has come
		}
		cancel()
		s.kill()
		s = startAt(t, at, "--lease", shortLease.String())
		if found := summaries(record(t, s.client, session)); len(found) != 0 {
			t.Fatalf("after kill %d the record has a summary: %s", attempt, found[0].Content)
		}
	}
	settled(t, s.client, session, turnDeadline)
	if c, err := s.client.Compaction(t.Context(), session); err != nil || c.State != parley.CompactionRunning {
		t.Errorf("when the conversation has gone on the compaction is %s, %v", c.State, err)
	}
	done := untilCompaction(t, s.client, session, told.event, parley.EventCompactionCompleted)
	if done.ID != asked.ID || done.CoversFrom != told.CoversFrom || done.CoversThrough != told.CoversThrough {
		t.Errorf("what began as %+v ended as %+v", told, done)
	}
	checkSummary(t, s.client, session, &done)
	checkAttempts(t, s.client, session, kills)
	s.terminate()
}

// longTalk runs a number of turns with a tool in a new session, whose summaries are written
// slowly, on request.
func (s *server) longTalk(t *testing.T, turns int) parley.ID {
	t.Helper()
	status, answer := s.ask(
		t,
		http.MethodPost,
		"/v1/sessions",
		`{"model":"sim/script","context_policy":{"kind":"summary"},"compaction":{"model":"`+slowSummary+`"}}`,
	)
	var session parley.Session
	if err := json.Unmarshal([]byte(answer), &session); err != nil || status != http.StatusCreated {
		t.Fatalf("a new session: %d %s", status, answer)
	}
	for range turns {
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage(toolTurn)); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, s.client, session.ID, turnDeadline)
	if rows := record(t, s.client, session.ID); len(rows) != turns*toolTurnRows {
		t.Fatalf("%d turns have %d messages", turns, len(rows))
	}
	return session.ID
}

// compactionTold is an event's data about a compaction.
type compactionTold struct {
	event         int64
	ID            parley.ID `json:"compaction_id"`
	MessageID     parley.ID `json:"message_id"`
	Attempt       int       `json:"attempt"`
	CoversFrom    int64     `json:"covers_from"`
	CoversThrough int64     `json:"covers_through"`
}

// untilCompaction watches until an event about a compaction; a failed compaction ends the
// test.
func untilCompaction(
	t *testing.T,
	server *client.Client,
	session parley.ID,
	after int64,
	kind parley.EventType,
) (told compactionTold) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range server.WatchSession(ctx, session, client.WatchSessionQuery{After: after}) {
		if err != nil {
			t.Fatalf("%s was not told: %v", kind, err)
		}
		switch frame.Type {
		case kind:
			if err := json.Unmarshal(frame.Data, &told); err != nil {
				t.Fatal(err)
			}
			told.event = frame.ID
			return told
		case parley.EventCompactionStarted, parley.EventCompactionCompleted, parley.EventCompactionFailed:
			t.Fatalf("the report is %s, %s", frame.Type, frame.Data)
		}
	}
	t.Fatalf("%s was not told", kind)
	return told
}

func summaries(rows []parley.Message) []parley.Message {
	return slices.DeleteFunc(slices.Clone(rows), func(m parley.Message) bool { return m.Role != parley.RoleSummary })
}

// checkSummary requires one complete summary in the record, which covers whole turns.
func checkSummary(t *testing.T, server *client.Client, session parley.ID, told *compactionTold) {
	t.Helper()
	rows := record(t, server, session)
	found := summaries(rows)
	if len(found) != 1 || found[0].ID != told.MessageID || found[0].Status != parley.MessageCompleted ||
		found[0].CoversThrough == nil ||
		*found[0].CoversThrough != told.CoversThrough {
		t.Fatalf("the summaries of the record are %+v; told was %+v", found, told)
	}
	if words := strings.Fields(text(t, found[0])); words[0] != "Simulated:" || len(words) != summaryWords {
		t.Errorf("the summary has %d words: %q", len(words), words)
	}
	if next := rows[told.CoversThrough]; next.Role != parley.RoleUser {
		t.Errorf(
			"after the covered messages comes message %d, %s; want the beginning of a turn",
			next.Sequence,
			next.Role,
		)
	}
	covered, err := server.Covered(t.Context(), found[0].ID, client.CoveredQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(covered.Data) != int(told.CoversThrough) {
		t.Errorf("%d messages are covered through %d", len(covered.Data), told.CoversThrough)
	}
	open := map[string]bool{}
	for i, m := range covered.Data {
		if m.Sequence != int64(i+1) {
			t.Errorf("covered message %d is message %d of the record", i+1, m.Sequence)
		}
		switch m.Role {
		case parley.RoleToolCall:
			open[m.ToolCallID] = true
		case parley.RoleToolResult:
			delete(open, m.ToolCallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls are covered without their results: %v", open)
	}
}

// checkAttempts requires one interrupted call per kill and a complete one from the last
// attempt, and that the next turn's request contains the summary.
func checkAttempts(t *testing.T, server *client.Client, session parley.ID, kills int) {
	t.Helper()
	if _, err := server.Post(t.Context(), session, client.UserMessage(meanwhile)); err != nil {
		t.Fatal(err)
	}
	settled(t, server, session, turnDeadline)
	page, err := server.Calls(t.Context(), session, client.CallsQuery{Order: "asc", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for n := range kills {
		want = append(want, fmt.Sprint(n+1, " ", parley.CallInterrupted))
	}
	want = append(want, fmt.Sprint(kills+1, " ", parley.CallCompleted))
	for _, call := range page.Data {
		if call.Purpose == parley.PurposeCompaction {
			got = append(got, fmt.Sprint(call.Attempt, " ", call.Outcome))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the calls for the summary (-want +got):\n%s", diff)
	}
	last := page.Data[len(page.Data)-1]
	if !slices.ContainsFunc(last.Manifest.Ranges, func(r parley.ManifestRange) bool { return r.Reason == "summary" }) {
		t.Errorf("the next turn's request consists of %+v", last.Manifest.Ranges)
	}
}
