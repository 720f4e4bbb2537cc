package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// TestKillDuringALoop: however often the process is killed, every iteration of a loop
// completes exactly once, in order, and so does the loop.
func TestKillDuringALoop(t *testing.T) { onEach(t, killDuringALoop) }

func killDuringALoop(t *testing.T, at place) {
	const iterations, kills = 12, 5
	random := rand.New(rand.NewPCG(20260101, 7)) //nolint:gosec // instants, not secrets
	s := startAt(t, at, "--lease", shortLease.String())
	session := newSession(t, s.client, "sim/lorem-40-5")
	loop, err := s.client.StartLoop(
		t.Context(),
		session.ID,
		client.LoopInput{Prompt: "Once more.", Max: new(iterations), Context: parley.LoopContext{Recent: 1}},
		client.IdempotencyKey("one"),
	)
	if err != nil {
		t.Fatal(err)
	}
	var seen int64
	for range kills { // each process completes an iteration, so that none looks like a crash loop
		seen = untilProgress(t, s.client, session.ID, seen, func(p event.LoopProgress) bool { return p.Iteration > 1 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(300))*time.Millisecond)
		for range s.client.WatchSession(ctx, session.ID,
			client.WatchSessionQuery{After: seen}) { // until the instant has come
		}
		cancel()
		s.kill()
		s = startAt(t, at, "--lease", shortLease.String())
		if repeat, err := s.client.StartLoop(
			t.Context(),
			session.ID,
			client.LoopInput{Prompt: "Once more.", Max: new(iterations), Context: parley.LoopContext{Recent: 1}},
			client.IdempotencyKey("one"),
		); err != nil ||
			repeat.ID != loop.ID {
			t.Fatalf("the repeated start gives loop %s, %v", repeat.ID, err)
		}
	}
	untilProgress(
		t,
		s.client,
		session.ID,
		seen,
		func(p event.LoopProgress) bool { return p.State != parley.LoopRunning },
	)
	checkLoop(t, s.client, session.ID, loop.ID, iterations)
	s.terminate()
}

// untilProgress watches until a matching progress event of a loop.
func untilProgress(
	t *testing.T,
	server *client.Client,
	session parley.ID,
	after int64,
	fits func(event.LoopProgress) bool,
) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range server.WatchSession(ctx, session, client.WatchSessionQuery{After: after}) {
		if err != nil {
			t.Fatal(err)
		}
		if progress, ok := frame.Event.(*event.LoopProgress); ok && fits(*progress) {
			return frame.ID
		}
	}
	t.Fatal("no further event of the loop")
	return 0
}

// checkLoop requires that a loop ran all of its iterations, each once.
func checkLoop(t *testing.T, server *client.Client, session, id parley.ID, iterations int) {
	t.Helper()
	loop, err := server.Loop(t.Context(), id)
	if err != nil || loop.State != parley.LoopExhausted || loop.Iteration != iterations {
		t.Fatalf("the loop is %+v, %v", loop, err)
	}
	turns, err := server.Turns(t.Context(), session, client.TurnsQuery{Order: "asc", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for n := range iterations {
		want = append(want, fmt.Sprint(n+1, " completed"))
	}
	for _, turn := range turns.Data {
		got = append(got, fmt.Sprint(turn.Iteration, " ", turn.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the turns (-want +got):\n%s", diff)
	}
	asked, answered := map[int]int{}, map[int]int{}
	for _, m := range record(t, server, session) {
		switch {
		case m.Role == parley.RoleUser:
			asked[m.Iteration]++
		case m.Status == parley.MessageCompleted:
			answered[m.Iteration]++
			if !strings.HasPrefix(text(t, m), "Simulated:") {
				t.Errorf("iteration %d answers %q", m.Iteration, text(t, m))
			}
		}
	}
	for n := 1; n <= iterations; n++ {
		if asked[n] != 1 || answered[n] != 1 {
			t.Errorf("iteration %d was asked %d times and answered %d times", n, asked[n], answered[n])
		}
	}
}
