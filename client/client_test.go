package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// serve answers every request with one handler.
func serve(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL, Key: "pk_test", Workspace: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRequestsCarryKeyAndWorkspace(t *testing.T) {
	t.Parallel()
	var got http.Header
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, `{"data":[],"next":null}`)
	})
	if _, err := c.Sessions(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "Bearer pk_test" || got.Get("Parley-Workspace") != "acme" {
		t.Errorf("headers %v", got)
	}
}

func TestProblemsBecomeErrors(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(
			w,
			`{"code":"invalid","detail":"content.text: is empty","errors":[{"field":"content.text","message":"is `+
				`empty"}]}`,
		)
	})
	_, err := c.Session(t.Context(), parley.NewID())
	var known *parley.Error
	if !errors.As(err, &known) || known.Code != parley.CodeInvalid || known.Field != "content.text" ||
		known.Message != "content.text: is empty" {
		t.Errorf("got %#v", err)
	}
}

func TestAnswersThatAreNotParleys(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"an error page": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a page":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
	} {
		c := serve(t, handler)
		if _, err := c.Session(t.Context(), parley.NewID()); parley.ErrorCode(err) != parley.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Principal(
		t.Context(),
	); parley.ErrorCode(err) != parley.CodeUnavailable ||
		!strings.Contains(err.Error(), "parley serve") {
		t.Errorf("got %v", err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"localhost:7878", "ftp://host", "http://", "::"} {
		if _, err := client.New(client.Options{URL: address}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestFrames reads comments, live frames, durable ones and a line longer than
// the reader's buffer, and ends without an error behind the turn's terminal event.
func TestFrames(t *testing.T) {
	t.Parallel()
	session, message := parley.NewID(), parley.NewID()
	long := strings.Repeat("x", 200_000)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") != "3" {
			t.Errorf("asked for %s", r.URL)
		}
		fmt.Fprintf(
			w,
			": heartbeat\n\nevent: step.generating\ndata: "+
				"{\"session_id\":%q,"+
				"\"type\":\"step.generating\","+
				"\"data\":{\"message_id\":%q,\"kind\":\"text\",\"offset\":0,\"end\":%d,\"delta\":%q}}\n\n",
			session,
			message,
			len(long),
			long,
		)
		fmt.Fprintf(
			w,
			"event: session.completed\nid: 4\ndata: "+
				"{\"session_id\":%q,\"data\":{\"turn\":{\"status\":\"completed\"}}}\n\n",
			session,
		)
	})
	var types []parley.EventType
	for frame, err := range c.Watch(t.Context(), session, 3) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, frame.Type)
		if frame.SessionID != session {
			t.Errorf("frame of session %s", frame.SessionID)
		}
		switch frame.Type {
		case parley.EventStepGenerating:
			delta, err := frame.Delta()
			if diff := cmp.Diff(
				event.StepGenerating{MessageID: message, Kind: parley.KindText, End: len(long), Delta: long},
				delta,
			); err != nil ||
				diff != "" {
				t.Errorf("delta: %v %s", err, diff)
			}
		case parley.EventSessionCompleted:
			turn, err := frame.Turn()
			if err != nil || turn.Status != parley.TurnCompleted || frame.ID != 4 {
				t.Errorf("turn %v, %v, id %d", turn.Status, err, frame.ID)
			}
		}
	}
	if diff := cmp.Diff(
		[]parley.EventType{parley.EventStepGenerating, parley.EventSessionCompleted},
		types,
	); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenStreamIsAnError(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "event: step.started\nid: 1\ndata: {\"data\":{}}\n\n")
	})
	var last error
	for _, err := range c.Watch(t.Context(), parley.NewID(), 0) {
		last = err
	}
	if parley.ErrorCode(last) != parley.CodeUnavailable {
		t.Errorf("a stream that ended without its turn's end gave %v", last)
	}
}
