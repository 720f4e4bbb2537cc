package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

const (
	clockBound = 2 * time.Minute // for each wait of TestClocksApart
	slowWords  = 300
	slowAnswer = `[[{"text":"word ","repeat":300,"token_ms":10}]]` // three seconds of the simulator
)

// timed is a process with a wrong clock, and its client.
type timed struct {
	*process
	*client.Client
}

// TestClocksApart is failure 41: of two processes on one database one has a clock ten
// minutes late and the other ten minutes early, and nothing changes.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	db := postgresDatabase(t)
	run := func(name string, off time.Duration) timed {
		env := append(
			db.environment[:len(db.environment):len(db.environment)],
			fmt.Sprintf("%s=%d", clockVariable, int(off.Seconds())),
		)
		p := newProcess(t, name, t.ArtifactDir(), env, "--lease", shortLease.String())
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		token, err := p.token()
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(client.Options{URL: "http://" + p.addr, Key: token, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return timed{p, c}
	}
	late, early := run("late", -clocksApart), run("early", clocksApart)
	ctx, cancel := context.WithTimeout(t.Context(), clockBound)
	defer cancel()

	// A turn that takes longer than the lease stays where it is.
	posted := late.begins(ctx, t)
	if after := early.rests(ctx, t, posted.Message.SessionID); after.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", after.Status)
	}
	turns, err := early.Turns(ctx, posted.Message.SessionID, client.TurnsQuery{})
	if err != nil || len(turns.Data) != 1 || turns.Data[0].Attempt != 1 {
		t.Errorf("a turn of a live process: %+v, %v; want it run once", turns.Data, err)
	}
	answeredInOrder(ctx, t, late, early)

	// A dead process's turns are taken over when its lease ends, no earlier and no later.
	posted = early.begins(ctx, t)
	early.kill()
	if took := late.takesOver(ctx, t, posted); took > shortLease+clocksApart/20 {
		t.Errorf("it was taken over after %s", took)
	}
	late.rests(ctx, t, posted.Message.SessionID)
	completed := 0
	for _, m := range late.record(ctx, t, posted.Message.SessionID) {
		var said parley.AssistantContent
		if m.Role != parley.RoleAssistant {
			continue
		}
		if err := json.Unmarshal(m.Content, &said); err != nil {
			t.Fatal(err)
		}
		whole := strings.Repeat("word ", slowWords)
		switch {
		case m.Status == parley.MessageCompleted && said.Text == whole:
			completed++
		case m.Status == parley.MessageCompleted, !strings.HasPrefix(whole, said.Text):
			t.Errorf(
				"message %d (%s) has %d bytes of an answer of %d",
				m.Sequence,
				m.Status,
				len(said.Text),
				len(whole),
			)
		}
	}
	if completed != 1 {
		t.Errorf("%d complete answers", completed)
	}
	if err := late.terminate(); err != nil {
		t.Error(err)
	}
}

// answeredInOrder requires that messages posted to either process are answered in order of
// posting, with times near the true ones.
func answeredInOrder(ctx context.Context, t *testing.T, late, early timed) {
	t.Helper()
	session, err := early.CreateSession(ctx, client.SessionInput{Settings: parley.Settings{Model: "sim/echo"}})
	if err != nil {
		t.Fatal(err)
	}
	var want, asked []string
	for i := range 10 {
		word := string(rune('a' + i))
		want = append(want, word)
		through := late
		if i%2 == 1 {
			through = early
		}
		if _, err := through.PostMessage(ctx, session.ID, client.UserMessage(word)); err != nil {
			t.Fatal(err)
		}
	}
	late.rests(ctx, t, session.ID)
	for _, m := range late.record(ctx, t, session.ID) {
		if m.Role == parley.RoleUser {
			var said parley.UserContent
			if err := json.Unmarshal(m.Content, &said); err != nil {
				t.Fatal(err)
			}
			asked = append(asked, said.Text)
		}
		if off := time.Since(m.CreatedAt.Std()).Abs(); off > clocksApart/2 {
			t.Errorf("message %d was made %s from now", m.Sequence, off)
		}
	}
	if strings.Join(asked, "") != strings.Join(want, "") {
		t.Errorf("asked in the order %v; want %v", asked, want)
	}
	turns, err := early.Turns(ctx, session.ID, client.TurnsQuery{})
	if err != nil || len(turns.Data) != len(want) {
		t.Fatalf("%d turns, %v", len(turns.Data), err)
	}
	for i := 1; i < len(turns.Data); i++ {
		if newer, older := turns.Data[i-1], turns.Data[i]; newer.StartedAt < older.StartedAt {
			t.Errorf("turns are listed newest first, and %s comes before %s", newer.StartedAt, older.StartedAt)
		}
	}
}

// begins posts a slow turn to a new session and waits for its first text.
func (p timed) begins(ctx context.Context, t *testing.T) client.Posted {
	t.Helper()
	session, err := p.CreateSession(ctx, client.SessionInput{Settings: parley.Settings{Model: "sim/script"}})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := p.Post(ctx, session.ID, client.UserMessage(slowAnswer))
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range p.WatchSession(ctx, session.ID, client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventStepGenerating {
			return posted
		}
	}
	t.Fatal("the stream ended before the turn began")
	return posted
}

// rests waits until a session has no unfinished turn.
func (p timed) rests(ctx context.Context, t *testing.T, id parley.ID) parley.Session {
	t.Helper()
	for {
		session, err := p.Session(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if session.TurnID.IsZero() {
			return session
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// takesOver waits until a turn runs for the second time.
func (p timed) takesOver(ctx context.Context, t *testing.T, posted client.Posted) time.Duration {
	t.Helper()
	for began := time.Now(); ; pause(ctx, 20*time.Millisecond) {
		turn, err := p.Turn(ctx, posted.Message.TurnID)
		if err != nil {
			t.Fatal(err)
		}
		if turn.Attempt > 1 {
			return time.Since(began)
		}
	}
}

func (p timed) record(ctx context.Context, t *testing.T, session parley.ID) []parley.Message {
	t.Helper()
	page, err := p.Messages(ctx, session, client.MessagesQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}
