package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/bounded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

// turnTime is what no turn of these tests takes.
const turnTime = 20 * time.Second

// lockedLog keeps what a server logs.
type lockedLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// opened is a server on a directory of its own, closed by the caller, with a
// client of the machine's own user.
func opened(t *testing.T, dir string, env map[string]string, log io.Writer) (*server, *client.Client) {
	t.Helper()
	set, err := loadSettings(&flags{data: dir}, environment(env))
	if err != nil {
		t.Fatal(err)
	}
	set.Addr = "127.0.0.1:0"
	srv := &server{
		settings: set,
		env:      environment(env),
		log:      slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if err := srv.open(t.Context()); err != nil {
		t.Fatal(errors.Join(err, srv.close()))
	}
	c, err := (&flags{data: dir}).connect(environment(nil))
	if err != nil {
		t.Fatal(errors.Join(err, srv.close()))
	}
	return srv, c
}

// plain reads a path as it is on the wire; of a stream, what comes up to the
// terminal event.
func plain(t *testing.T, c *client.Client, token, path string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	var got strings.Builder
	piece := make([]byte, 4096)
	for {
		n, err := response.Body.Read(piece)
		got.Write(piece[:n])
		if err != nil ||
			strings.Contains(got.String(), "event: "+string(parley.EventSessionFailed)) &&
				strings.HasSuffix(got.String(), "\n\n") {
			return got.String()
		}
	}
}

// TestSecretsStayInside: a provider that repeats the key it was sent, in
// whatever it says went wrong, does not bring it into an answer, an event, the
// log or a file; nor are keys of Parley's own kept or logged, only their hashes.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const secret = "Unusual+Credential/0123=="
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a request cut off asks for nothing
		header := r.Header.Get("Authorization")
		key := strings.TrimPrefix(header, "Bearer ")
		if key != secret {
			t.Errorf("the provider was sent %q", header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case bytes.Contains(body, []byte(`"refused"`)):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s in %s"}}`, key, header)
		case bytes.Contains(body, []byte(`"spelled"`)):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "no such address: https://host/?k=%s", url.QueryEscape(key))
		case bytes.Contains(body, []byte(`"elsewhere"`)):
			http.Redirect(w, r, "http://127.0.0.1:1/?api_key="+url.QueryEscape(key), http.StatusFound)
		case bytes.Contains(body, []byte(`"midway"`)):
			fmt.Fprintf(
				w,
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"So far\"}}]}\n\ndata: "+
					"{\"error\":{\"message\":\"bad key %s\",\"type\":\"server_error\"}}\n\n",
				key,
			)
		default:
			t.Errorf("asked for %s", body)
		}
	}))
	defer provider.Close()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, map[string]string{"OPENAI_API_KEY": secret, "OPENAI_BASE_URL": provider.URL + "/v1"}, log)
	token, err := localToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for _, model := range []string{"refused", "spelled", "elsewhere", "midway"} {
		session, err := c.CreateSession(
			t.Context(),
			client.SessionInput{Settings: parley.Settings{Model: parley.ModelID("openai/" + model)}},
		)
		if err != nil {
			t.Fatal(err)
		}
		posted, err := c.Post(t.Context(), session.ID, client.UserMessage("go"))
		if err != nil {
			t.Fatal(err)
		}
		at := "/v1/sessions/" + session.ID.String()
		events := plain(t, c, token, at+"/events?after=0")
		if !strings.Contains(events, string(parley.EventSessionFailed)) {
			t.Fatalf("%s: the turn did not fail: %s", model, events)
		}
		turn := plain(t, c, token, "/v1/turns/"+posted.Message.TurnID.String())
		if model != "elsewhere" && !strings.Contains(turn, "[redacted]") {
			t.Errorf("%s: the error does not tell what was said: %s", model, turn)
		}
		calls, err := c.Calls(t.Context(), session.ID, client.CallsQuery{})
		if err != nil || len(calls.Data) == 0 {
			t.Fatalf("%d calls, %v", len(calls.Data), err)
		}
		for _, path := range []string{at, at + "/messages", at + "/turns", at + "/calls",
			"/v1/calls/" + calls.Data[0].ID.String(), "/v1/messages/" + posted.Message.ID.String()} {
			seen.WriteString(plain(t, c, token, path))
		}
		seen.WriteString(events + turn)
	}
	made, err := c.CreateKey(t.Context(), client.KeyInput{Name: "test", Role: parley.RoleMember})
	if err != nil {
		t.Fatal(err)
	}
	if who := plain(t, c, made.Secret, "/v1/principal"); !strings.Contains(who, `"member"`) {
		t.Fatalf("the new key is %s", who)
	}
	seen.WriteString(plain(t, c, token, "/v1/keys") + plain(t, c, token, "/v1/models") + plain(t, c, token, "/readyz"))
	c.Close()
	if err := srv.close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"an answer": seen.String(), "the log": log.text.String()}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(dir, file.Name())) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		places[file.Name()] = string(content)
	}
	for place, text := range places {
		for _, spelling := range []string{secret, url.QueryEscape(secret), "Unusual"} {
			if strings.Contains(text, spelling) {
				t.Errorf("%s holds the provider's key as %q", place, spelling)
			}
		}
		if strings.Contains(text, made.Secret) {
			t.Errorf("%s holds a key", place)
		}
		if strings.Contains(text, token) && place != tokenFile {
			t.Errorf("%s holds the local token", place)
		}
	}
}

// TestServerLeavesNothingBehind: a server that was busy (a turn that its
// provider lets hang, cancelled; a watcher that still listens) closes without a
// goroutine, a file of its address or a lock left.
func TestServerLeavesNothingBehind(t *testing.T) { //nolint:paralleltest // it counts goroutines
	t.Run("SQLite", func(t *testing.T) { leavesNothingBehind(t, "") })
	t.Run("PostgreSQL", func(t *testing.T) { leavesNothingBehind(t, databases.New(t)) })
}

func leavesNothingBehind(t *testing.T, database string) {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"So far\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // and then it hangs until it is left
	}))
	defer provider.Close()
	before := goleak.IgnoreCurrent()
	dir := t.TempDir()
	srv, c := opened(
		t,
		dir,
		map[string]string{
			"OPENAI_API_KEY":      "k",
			"OPENAI_BASE_URL":     provider.URL + "/v1",
			"PARLEY_DATABASE_URL": database,
			"PARLEY_DRAIN_WAIT":   "0s",
		},
		io.Discard,
	)
	session, err := c.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{Model: "openai/hangs"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	var last client.Frame
	for frame, err := range c.PostMessageStream(ctx, session.ID, client.UserMessage("go")) {
		if err != nil {
			t.Fatal(err)
		}
		if last = frame; frame.Type == parley.EventStepGenerating {
			if _, err := c.CancelTurn(ctx, session.ID, client.CancelInput{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last.Type != parley.EventSessionCancelled {
		t.Fatalf("the turn ended with %s", last.Type)
	}
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with the server
		defer close(ended)
		for frame, err := range c.WatchSession(ctx, session.ID, client.WatchSessionQuery{}) {
			if err == nil && frame.Type == parley.EventSessionCancelled {
				close(listening)
			}
		}
	}()
	bounded.Receive(t, listening, "the stream to begin")
	if err := srv.close(); err != nil {
		t.Error(err)
	}
	bounded.Receive(t, ended, "the stream to end")
	c.Close()
	goleak.VerifyNone(t, before)
	if _, err := os.Stat(filepath.Join(dir, urlFile)); err == nil {
		t.Error("the file with the address is still there")
	}
	again, c := opened(
		t,
		dir,
		map[string]string{"PARLEY_DATABASE_URL": database, "PARLEY_DRAIN_WAIT": "0s"},
		io.Discard,
	)
	c.Close()
	if err := again.close(); err != nil {
		t.Error(err)
	}
}
