package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/client"
)

// homeDeadline is how long a killed process's turn may take to end: the lease of its turns,
// the time for which an errand belongs to its taker, and some for the rest.
const homeDeadline = shortLease + grace + 10*time.Second

// lookouts is how many tool sessions a turn of these tests opens at once.
const lookouts = 3

// crew creates a captain who sends scouts, each of whom reports for about 0.1 s, and
// starts the captain's turn.
func crew(t *testing.T, c *client.Client) (parley.Session, client.Posted) {
	t.Helper()
	ctx := t.Context()
	if _, err := c.Agent(ctx, "captain"); err != nil {
		_, err := c.CreateAgent(ctx, client.AgentInput{Name: "Scout", Settings: parley.Settings{Model: "sim/script"}})
		if err == nil {
			_, err = c.CreateAgent(
				ctx,
				client.AgentInput{
					Name: "Captain",
					Settings: parley.Settings{Model: "sim/script", Tools: &[]parley.ToolRef{
						{Agent: &parley.AgentTool{Name: "ask_scout", Description: "Sends a scout.", Agent: "scout"}},
					}},
				},
			)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	session, err := c.CreateSession(ctx, client.SessionInput{AgentID: "captain"})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := c.Post(ctx, session.ID, client.UserMessage(orders(t)))
	if err != nil {
		t.Fatal(err)
	}
	return session, posted
}

const report = `[[{"text":"seen ","repeat":25,"token_ms":4}]]`

// orders is a script that sends the scouts, each with a script of its own.
func orders(t *testing.T) string {
	t.Helper()
	type call struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	var first []map[string]call
	for range lookouts {
		first = append(first, map[string]call{"tool_call": {"ask_scout", map[string]string{"task": report}}})
	}
	text, err := json.Marshal([]any{first, []map[string]string{{"text": "All are back."}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkCrew requires that the turn completed, with one result per call, each from a session
// that ran to its end, and that there is no other session.
func checkCrew(t *testing.T, c *client.Client, session parley.ID, within time.Duration) {
	t.Helper()
	if s := settled(t, c, session, within); s.Status != parley.SessionCompleted {
		t.Fatalf("the session is %s", s.Status)
	}
	results := map[string]int{}
	calls := map[string]parley.ID{}
	messages := record(t, c, session)
	for _, m := range messages {
		switch {
		case m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted:
			calls[m.ToolCallID] = m.ID
		case m.Role == parley.RoleToolResult:
			results[m.ToolCallID]++
			if want := `"result":{"text":"` + strings.Repeat(
				"seen ",
				25,
			) + `"}`; !strings.Contains(
				string(m.Content),
				want,
			) {
				t.Errorf("a result is %s", m.Content)
			}
		}
	}
	if last := messages[len(messages)-1]; last.Role != parley.RoleAssistant || text(t, last) != "All are back." {
		t.Errorf("the record ends with %s %s", last.Role, last.Content)
	}
	tree, err := c.SessionTree(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != lookouts || len(results) != lookouts || len(tree.Data) != lookouts+1 {
		t.Fatalf("%d calls, %d with results, %d sessions in the tree", len(calls), len(results), len(tree.Data))
	}
	for id, message := range calls {
		if results[id] != 1 {
			t.Errorf("a call has %d results", results[id])
		}
		if child, err := c.Session(
			t.Context(),
			parley.ChildID(message),
		); err != nil || child.Status != parley.SessionCompleted ||
			child.Statistics.Turns != 1 {
			t.Errorf("the session of a call: %v, %s after %d turns", err, child.Status, child.Statistics.Turns)
		}
	}
}

// TestKillAmongToolSessions kills the process at random instants while tool sessions work
// for a turn: the turn completes with one result per call.
func TestKillAmongToolSessions(t *testing.T) { onEach(t, killAmongToolSessions) }

func killAmongToolSessions(t *testing.T, at place) {
	kills := 12
	if testing.Short() {
		kills = 2
	}
	random := rand.New(rand.NewPCG(20261121, 4)) //nolint:gosec // instants, not secrets
	for range kills {
		s := startAt(t, at, "--lease", shortLease.String())
		session, posted := crew(t, s.client)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(400))*time.Millisecond)
		for range s.client.WatchSession(ctx, session.ID,
			client.WatchSessionQuery{After: posted.EventSequence}) { // until the instant has come
		}
		cancel()
		s.kill()
		again := startAt(t, at, "--lease", shortLease.String())
		checkCrew(t, again.client, session.ID, homeDeadline)
		again.terminate()
	}
}

// TestKillWhenAToolSessionEnds kills the process as soon as the first tool session reports
// its end, while its result is on its way to the parent.
func TestKillWhenAToolSessionEnds(t *testing.T) { onEach(t, killWhenAToolSessionEnds) }

func killWhenAToolSessionEnds(t *testing.T, at place) {
	for range 3 {
		s := startAt(t, at, "--lease", shortLease.String())
		session, posted := crew(t, s.client)
		awaitFrame(t, s.client, session.ID, posted.EventSequence, parley.EventSessionWaiting)
		children := childrenOf(t, s.client, session.ID)
		awaitFrame(t, s.client, children[0].ID, 0, parley.EventSessionCompleted)
		s.kill()
		again := startAt(t, at, "--lease", shortLease.String())
		checkCrew(t, again.client, session.ID, homeDeadline)
		again.terminate()
	}
}

// TestKillBetweenEndAndHome locks the parent so that no result can reach it, and then kills
// the process.
func TestKillBetweenEndAndHome(t *testing.T) {
	t.Parallel()
	at := shared(t)
	s := startAt(t, at, "--lease", shortLease.String())
	session, posted := crew(t, s.client)
	awaitFrame(t, s.client, session.ID, posted.EventSequence, parley.EventSessionWaiting)
	connection, err := pgx.Connect(t.Context(), at.database)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"BEGIN", "SET LOCAL ROLE parley_system",
		"SELECT 1 FROM parley.heads WHERE session_id = '" + session.ID.String() + "' FOR UPDATE"} {
		if _, err := connection.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	children := childrenOf(t, s.client, session.ID)
	for _, child := range children {
		awaitFrame(t, s.client, child.ID, 0, parley.EventSessionCompleted)
	}
	if len(children) != lookouts {
		t.Errorf("%d children", len(children))
	}
	for _, m := range record(t, s.client, session.ID) {
		if m.Role == parley.RoleToolResult {
			t.Errorf("a result reached the parent despite the lock: %s", m.Content)
		}
	}
	s.kill()
	if err := connection.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := startAt(t, at, "--lease", shortLease.String())
	checkCrew(t, again.client, session.ID, homeDeadline)
	again.terminate()
}

func childrenOf(t *testing.T, c *client.Client, session parley.ID) []parley.Session {
	t.Helper()
	page, err := c.Sessions(t.Context(), client.SessionsQuery{Parent: []parley.ID{session}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// awaitFrame watches a session until a frame of a given type.
func awaitFrame(t *testing.T, c *client.Client, session parley.ID, after int64, kind parley.EventType) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range c.WatchSession(ctx, session, client.WatchSessionQuery{After: after}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == kind {
			return
		}
	}
	t.Fatalf("the stream ended before %s", kind)
}
