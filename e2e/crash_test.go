package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// twoHundredTokens is a turn of about 200 tokens with a tool call in its middle.
const twoHundredTokens = `[
  [{"text":"alpha ","repeat":60,"token_ms":2},{"tool_call":{"name":"current_time","arguments":{}}}],
  [{"text":"omega ","repeat":140,"token_ms":2}]
]`

// The lease of crash tests, and how much longer the recovery may take.
const (
	shortLease = 2 * time.Second
	grace      = 2 * time.Second
	recovered  = shortLease + grace + 2*time.Second // the rest of the turn itself takes 0.4 s
)

// TestKillAtRandomInstants is failures 30 to 33: whenever a kill -9 hits, the message
// exists, the turn resumes or settles within the lease and two seconds, no text is repeated
// and no tool call has two results.
func TestKillAtRandomInstants(t *testing.T) { onEach(t, killAtRandomInstants) }

func killAtRandomInstants(t *testing.T, at place) {
	kills := 50
	if testing.Short() {
		kills = 5
	}
	const lanes = 5 // most of their time is waiting for leases
	for n := range lanes {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			lane := at.beside(t)
			random := rand.New(rand.NewPCG(20260101, uint64(n))) //nolint:gosec // instants, not secrets
			for range kills / lanes {
				after := time.Duration(random.IntN(700)) * time.Millisecond
				inTime(
					t,
					fmt.Sprintf("recovery, killed after %s,", after),
					recovered,
					func() time.Duration { return killOnce(t, lane, after) },
				)
			}
		})
	}
}

// killOnce returns the time from the next start until the turn was settled.
func killOnce(t *testing.T, at place, after time.Duration) (took time.Duration) {
	t.Helper()
	s := startAt(t, at, "--lease", shortLease.String())
	session := newSession(t, s.client, "sim/script")
	posted, err := s.client.Post(t.Context(), session.ID, client.UserMessage(twoHundredTokens))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), after)
	for range s.client.WatchSession(ctx, session.ID,
		client.WatchSessionQuery{After: posted.EventSequence}) { // until the instant has come
	}
	cancel()
	s.kill()

	again := startAt(t, at, "--lease", shortLease.String())
	started := time.Now()
	settled(t, again.client, session.ID, turnDeadline)
	took = time.Since(started)
	messages := record(t, again.client, session.ID)
	if messages[0].ID != posted.Message.ID || text(t, messages[0]) != twoHundredTokens {
		t.Fatalf("killed after %s: the user's message is not what was posted", after)
	}
	checkNothingRepeated(t, after, messages)
	watched := newFold(t)
	for frame, err := range again.client.WatchSession(t.Context(), session.ID, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if watched.take(frame); frame.Type.EndsTurn() {
			break
		}
	}
	watched.check(messages)
	again.terminate()
	return took
}

// checkNothingRepeated compares the answer of a killed turn with its script: completed rows
// have exactly its text, interrupted ones a beginning of it.
func checkNothingRepeated(t *testing.T, after time.Duration, messages []parley.Message) {
	t.Helper()
	first, second := strings.Repeat("alpha ", 60), strings.Repeat("omega ", 140)
	completed := map[string]int{}
	calls := 0
	for _, m := range messages {
		if m.Status == parley.MessageStreaming {
			t.Fatalf("killed after %s: message %d still streams", after, m.Sequence)
		}
		switch m.Role {
		case parley.RoleToolCall:
			if m.Status == parley.MessageCompleted {
				calls++
			}
		case parley.RoleAssistant:
			got := text(t, m)
			switch m.Status {
			case parley.MessageCompleted:
				completed[got]++
			case parley.MessageFailed:
				if want := fmt.Sprintf(
					"%d characters of this answer were kept; up to %d more",
					len(got),
					parley.MaxUnkept,
				); m.Error == nil ||
					m.Error.Class != parley.ClassInterrupted ||
					!strings.HasPrefix(m.Error.Detail, want) {
					t.Errorf(
						"killed after %s: message %d failed with %+v; want it to say that %s",
						after,
						m.Sequence,
						m.Error,
						want,
					)
				}
				if !strings.HasPrefix(first, got) && !strings.HasPrefix(second, got) {
					t.Errorf("killed after %s: interrupted text %q", after, got)
				}
			}
		}
	}
	if completed[first] != 1 || completed[second] != 1 || calls != 1 {
		t.Errorf(
			"killed after %s: completed answers %v, calls %d; want each text once and one call",
			after,
			completed,
			calls,
		)
	}
}

// TestTerminateUnderLoad is failure 42: a drain loses nothing, and unfinished turns continue
// at the next start.
func TestTerminateUnderLoad(t *testing.T) { onEach(t, terminateUnderLoad) }

func terminateUnderLoad(t *testing.T, at place) {
	s := startAt(t, at)
	const sessions = 40
	ids := make([]parley.ID, sessions)
	for i := range ids {
		session := newSession(t, s.client, "sim/lorem-300-10")
		ids[i] = session.ID
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("one")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("two")); err != nil {
			t.Fatal(err)
		}
	}
	s.terminate()
	again := startAt(t, at)
	for _, id := range ids {
		after := settled(t, again.client, id, turnDeadline)
		if after.Status != parley.SessionCompleted {
			t.Errorf("session %s is %s", id, after.Status)
		}
		answered := 0
		for _, m := range record(t, again.client, id) {
			if m.Role == parley.RoleAssistant && m.Status == parley.MessageCompleted {
				answered++
			}
		}
		if answered != 2 {
			t.Errorf("session %s has %d answers to 2 messages", id, answered)
		}
	}
}
