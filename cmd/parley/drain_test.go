package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"parley"
	"parley/client"
)

// asked is the answer to a GET on a connection of its own kept alive if the
// server lets it.
func asked(t *testing.T, c *http.Client, url, token string) *http.Response {
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
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response
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
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"end.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer provider.Close()
	dir := t.TempDir()
	srv, c := opened(t, dir, map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": provider.URL + "/v1", "PARLEY_DRAIN_WAIT": "1s"}, io.Discard)
	defer c.Close()
	token, err := localToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.CreateSession(t.Context(), client.SessionInput{Model: "openai/slow"})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := c.PostMessage(t.Context(), session.ID, client.UserMessage("go"), "")
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	ended := make(chan parley.EventType, 1)
	go func() { // ends with the turn
		for frame, err := range c.Watch(t.Context(), session.ID, posted.EventSequence) {
			if err != nil || frame.Type.EndsTurn() {
				ended <- frame.Type
				return
			}
		}
	}()
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	if ready := asked(t, plain, c.URL()+"/readyz", token); ready.StatusCode != http.StatusOK || ready.Close {
		t.Fatalf("before the drain: %s, the connection closes: %v", ready.Status, ready.Close)
	}
	closed := make(chan error, 1)
	go func() { closed <- srv.close() }() // ends with the drain
	for asked(t, plain, c.URL()+"/readyz", token).StatusCode != http.StatusServiceUnavailable {
	}
	if answer := asked(t, plain, c.URL()+"/v1/sessions", token); answer.StatusCode != http.StatusOK || !answer.Close {
		t.Errorf("while draining: %s, the connection closes: %v; want an answer, the last on its connection", answer.Status, answer.Close)
	}
	other, err := c.CreateSession(t.Context(), client.SessionInput{Model: "openai/slow"})
	if err != nil {
		t.Fatal(err)
	}
	later, err := c.PostMessage(t.Context(), other.ID, client.UserMessage("for somebody else"), "")
	if err != nil {
		t.Fatal(err)
	}
	if turns, err := c.Turns(t.Context(), other.ID, nil); err != nil || len(turns.Data) != 1 || turns.Data[0].ID != later.Message.TurnID || turns.Data[0].Status != parley.TurnQueued {
		t.Errorf("what was posted while draining: %+v, %v; want its turn left in the queue", turns.Data, err)
	}
	close(goOn)
	if last := <-ended; last != parley.EventSessionCompleted {
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
	if _, err := (&http.Client{}).Get(c.URL() + "/healthz"); err == nil { //nolint:noctx // refused at once
		t.Error("after the drain a connection was taken")
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
		handler.ServeHTTP(answer, httptest.NewRequest(method, path, nil)) //nolint:noctx // no server
		return answer.Code
	}
	refusal = errors.New("draining")
	if got := status(http.MethodGet, "/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("a process that is not ready answers %d", got)
	}
	refusal = nil
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/healthz": http.StatusOK, "/metrics": http.StatusOK, "/v1/sessions": http.StatusNotFound, "/": http.StatusNotFound} {
		if got := status(http.MethodGet, path); got != want {
			t.Errorf("GET %s: %d; want %d", path, got, want)
		}
	}
	if got := status(http.MethodPost, "/v1/sessions"); got != http.StatusNotFound {
		t.Errorf("a post: %d", got)
	}
}
