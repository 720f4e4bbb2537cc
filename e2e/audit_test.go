package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// TestKilledBetweenChangeAndAudit is failure 73: whenever a kill -9 hits under load, every
// surviving change has its audit entry, and every entry its change.
func TestKilledBetweenChangeAndAudit(t *testing.T) { onEach(t, killedBetweenChangeAndAudit) }

func killedBetweenChangeAndAudit(t *testing.T, at place) {
	const kills, writers = 3, 8
	random := rand.New(rand.NewPCG(20260303, 1)) //nolint:gosec // instants, not secrets
	for range kills {
		s := startAt(t, at, "--lease", shortLease.String())
		lives := make([]changed, writers)
		for i := range lives {
			lives[i].session = newSession(t, s.client, "sim/echo").ID
		}
		ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
		var all, begun sync.WaitGroup
		key := s.key()
		begun.Add(writers)
		for i := range lives {
			all.Go(func() { lives[i].write(ctx, s.url, key, sync.OnceFunc(begun.Done)) }) // ends with the server
		}
		begun.Wait()
		select {
		case <-time.After(time.Duration(random.IntN(500)) * time.Millisecond):
		case <-ctx.Done():
		}
		s.kill()
		all.Wait()
		cancel()
		again := startAt(t, at, "--lease", shortLease.String())
		for i := range lives {
			lives[i].check(t, again.client)
		}
		again.terminate()
	}
}

// changed is what one client changed in its own session, as far as it knows.
type changed struct {
	session parley.ID
	posted  []parley.ID // messages
	titles  int         // how often the title was changed
}

// write posts messages and changes the title until the server is gone. It calls begun once the first is posted.
func (c *changed) write(ctx context.Context, url, key string, begun func()) {
	defer begun()
	var posted parley.Message
	at := url + "/v1/sessions/" + c.session.String()
	for send(ctx, key, http.MethodPost, at+"/messages", `{"content":{"text":"one more"},"respond":false}`,
		&posted) == nil {
		c.posted = append(c.posted, posted.ID)
		begun()
		if send(
			ctx,
			key,
			http.MethodPatch,
			at,
			`{"title":"title `+strconv.Itoa(c.titles+1)+`"}`,
			&parley.Session{},
		) != nil {
			return
		}
		c.titles++
	}
}

// send sends JSON and reads the response, which must be a success.
func send[T any](ctx context.Context, key, method, url, body string, answer *T) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return errors.New(response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func (c *changed) check(t *testing.T, server *client.Client) {
	t.Helper()
	if len(c.posted) == 0 {
		t.Error("nothing was posted before the kill; the test proves nothing")
	}
	entries := map[string]map[parley.ID]int{}
	query := client.AuditQuery{Session: []parley.ID{c.session}, Limit: 1000, Changes: new(true)}
	for e, err := range server.AllAudit(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		if entries[e.Action] == nil {
			entries[e.Action] = map[parley.ID]int{}
		}
		entries[e.Action][e.TargetID]++
	}
	there := map[parley.ID]bool{}
	for _, m := range record(t, server, c.session) {
		there[m.ID] = true
		if n := entries["postMessage"][m.ID]; n != 1 {
			t.Errorf("a message of the record has %d entries", n)
		}
	}
	for id := range entries["postMessage"] {
		if !there[id] {
			t.Error("an entry reports a message that does not exist")
		}
	}
	for _, id := range c.posted {
		if !there[id] {
			t.Error("an answered message was lost")
		}
	}
	session, err := server.Session(t.Context(), c.session)
	if err != nil {
		t.Fatal(err)
	}
	titles := entries["updateSession"][parley.ID{}]
	if want := "title " + strconv.Itoa(titles); titles < c.titles || titles > 0 && session.Title != want {
		t.Errorf(
			"the title is %q, changed %d times for its client, and %d times in the audit",
			session.Title,
			c.titles,
			titles,
		)
	}
	if entries["createSession"][parley.ID{}] != 1 {
		t.Errorf("the session has %d entries of its creation", entries["createSession"][parley.ID{}])
	}
}
