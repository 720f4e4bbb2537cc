package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/bounded"
)

// asked is the status of the answer to a GET, and whether the server ends the
// connection with it.
func asked(t *testing.T, c *http.Client, url, token string) (status int, last bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Close
}

// TestDrain is failure 42: a server that is told to end is not ready at once,
// answers everything else for as long as it was told to, lets no connection live
// on, finishes its turn before the eyes of its watcher, and leaves what comes
// meanwhile to others.
func TestDrain(t *testing.T) {
	t.Parallel()
	reached, goOn := make(chan struct{}), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"To the \"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		close(reached)
		<-goOn
		_, _ = io.WriteString(
			w,
			"data: {\"choices\":[{\"index\":0,"+
				"\"delta\":{\"content\":\"end.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		)
	}))
	defer provider.Close()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(
		t,
		dir,
		map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": provider.URL + "/v1", "PARLEY_DRAIN_WAIT": "1s"},
		log,
	)
	defer c.Close()
	token, err := localToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{Model: "openai/slow"}})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := c.Post(t.Context(), session.ID, client.UserMessage("go"))
	if err != nil {
		t.Fatal(err)
	}
	bounded.Receive(t, reached, "the tool to run")
	ended := make(chan parley.EventType, 1)
	go func() { // ends with the turn
		from := client.WatchSessionQuery{After: posted.EventSequence}
		for frame, err := range c.WatchSession(t.Context(), session.ID, from) {
			if err != nil || frame.Type.EndsTurn() {
				ended <- frame.Type
				return
			}
		}
	}()
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	if status, last := asked(t, plain, c.URL()+"/readyz", token); status != http.StatusOK || last {
		t.Fatalf("before the drain: %d, the connection closes: %v", status, last)
	}
	closed := make(chan error, 1)
	go func() { closed <- srv.close() }() // ends with the drain
	for ready := http.StatusOK; ready != http.StatusServiceUnavailable; {
		ready, _ = asked(t, plain, c.URL()+"/readyz", token)
	}
	if status, last := asked(t, plain, c.URL()+"/v1/sessions", token); status != http.StatusOK || !last {
		t.Errorf(
			"while draining: %d, the connection closes: %v; want an answer, the last on its connection",
			status,
			last,
		)
	}
	other, err := c.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{Model: "openai/slow"}})
	if err != nil {
		t.Fatal(err)
	}
	later, err := c.Post(t.Context(), other.ID, client.UserMessage("for somebody else"))
	if err != nil {
		t.Fatal(err)
	}
	if turns, err := c.Turns(
		t.Context(),
		other.ID,
		client.TurnsQuery{},
	); err != nil || len(turns.Data) != 1 ||
		turns.Data[0].ID != later.Message.TurnID ||
		turns.Data[0].Status != parley.TurnQueued {
		t.Errorf("what was posted while draining: %+v, %v; want its turn left in the queue", turns.Data, err)
	}
	close(goOn)
	if last := bounded.Receive(t, ended, "the turn to end"); last != parley.EventSessionCompleted {
		t.Errorf("the watcher's stream ended with %q", last)
	}
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(turnTime):
		t.Fatal("the drain does not end")
	}
	if said := log.text.String(); strings.Contains(said, "level=ERROR") || strings.Contains(said, "level=WARN") {
		t.Errorf("a drain in good order logs %s", said)
	}
	if conn, err := net.DialTimeout("tcp", strings.TrimPrefix(c.URL(), "http://"), turnTime); err == nil {
		t.Error("after the drain a connection was taken", conn.Close())
	}
}

// TestWorkerAnswersProbesOnly: a process that runs turns has no API to be asked.
func TestWorkerAnswersProbesOnly(t *testing.T) {
	t.Parallel()
	var refusal error
	metrics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	handler := probes(func(context.Context) error { return refusal }, metrics)
	status := func(method, path string) int {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		return answer.Code
	}
	refusal = errors.New("draining")
	if got := status(http.MethodGet, "/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("a process that is not ready answers %d", got)
	}
	refusal = nil
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/metrics": http.StatusOK, "/v1/sessions": http.StatusNotFound, "/": http.StatusNotFound} {
		if got := status(http.MethodGet, path); got != want {
			t.Errorf("GET %s: %d; want %d", path, got, want)
		}
	}
	if got := status(http.MethodPost, "/v1/sessions"); got != http.StatusNotFound {
		t.Errorf("a post: %d", got)
	}
}
