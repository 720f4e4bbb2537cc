package client_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// TestFrames reads comments, live frames, durable ones and a line longer than the reader's buffer, and ends without an
// error behind the turn's terminal event.
func TestFrames(t *testing.T) {
	t.Parallel()
	session, message := parley.NewID(), parley.NewID()
	long := strings.Repeat("x", 200_000)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "text/event-stream" || r.URL.RawQuery != "flush_ms=5" {
			t.Errorf("asked for %s %q", r.URL, r.Header.Get("Accept"))
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
		fmt.Fprintf(w, "event: new.kind\nid: 3\ndata: {\"session_id\":%q,\"data\":{\"a\":1}}\n\n", session)
		fmt.Fprintf(
			w,
			"event: session.completed\nid: 4\ndata: "+
				"{\"session_id\":%q,\"data\":{\"turn\":{\"status\":\"completed\"}}}\n\n",
			session,
		)
	})
	var types []parley.EventType
	pace := client.Flush(5 * time.Millisecond)
	for frame, err := range c.PostMessageStream(t.Context(), session, client.UserMessage("go"), pace) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, frame.Type)
		if frame.SessionID != session {
			t.Errorf("frame of session %s", frame.SessionID)
		}
		switch told := frame.Event.(type) {
		case *event.StepGenerating:
			want := &event.StepGenerating{MessageID: message, Kind: parley.KindText, End: len(long), Delta: long}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("delta: %s", diff)
			}
		case *event.SessionCompleted:
			if told.Turn.Status != parley.TurnCompleted || frame.ID != 4 {
				t.Errorf("turn %v, id %d", told.Turn.Status, frame.ID)
			}
		case nil:
			if string(frame.Data) != `{"a":1}` {
				t.Errorf("an event of a kind that is not known came as %s", frame.Data)
			}
		}
	}
	want := []parley.EventType{parley.EventStepGenerating, "new.kind", parley.EventSessionCompleted}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
}

// An event that is told twice, because its stream broke behind it, is read once; a turn's stream is taken up again by
// the same key, a session's behind the last event.
func TestBrokenStreamsAreTakenUpAgain(t *testing.T) {
	t.Parallel()
	session := parley.NewID()
	told := func(w io.Writer, id int, kind parley.EventType) {
		fmt.Fprintf(w, "event: %s\nid: %d\ndata: {\"session_id\":%q,\"data\":{}}\n\n", kind, id, session)
	}
	var connections atomic.Int32
	var keys, after atomic.Pointer[string]
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		key, from := r.Header.Get("Idempotency-Key"), r.Header.Get("Last-Event-ID")
		told(w, 7, parley.EventStepStarted)
		if connections.Add(1) == 1 {
			keys.Store(&key)
			return
		}
		after.Store(&from)
		if first := *keys.Load(); r.Method == http.MethodPost && (key == "" || key != first) {
			t.Errorf("repeated with the key %q after %q", key, first)
		}
		told(w, 8, parley.EventSessionCompleted)
	})
	read := func(frames func(func(client.Frame, error) bool)) (ids []int64) {
		for frame, err := range frames {
			if err != nil {
				t.Error(err)
				return ids
			}
			again := slices.Contains(ids, frame.ID) // a reader that does not drop it would go on for ever
			if ids = append(ids, frame.ID); again || frame.Type.EndsTurn() {
				return ids
			}
		}
		return ids
	}
	if got := read(
		c.PostMessageStream(t.Context(), session, client.UserMessage("go")),
	); !cmp.Equal(
		got,
		[]int64{7, 8},
	) {
		t.Errorf("a turn's events came as %v", got)
	}
	connections.Store(0)
	got := read(c.WatchSession(t.Context(), session, client.WatchSessionQuery{}))
	if !cmp.Equal(got, []int64{7, 8}) || *after.Load() != "7" {
		t.Errorf("a session's events came as %v, the second time after %q", got, *after.Load())
	}
}

// A stream that brings nothing new any more ends with an error, and so does one that is asked for once.
func TestStreamsThatStayBrokenAreErrors(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		connections.Add(1)
		_, _ = io.WriteString(w, "event: step.started\nid: 1\ndata: {\"data\":{}}\n\n")
	})
	for want, options := range map[int32][]client.Option{1 + client.DefaultRetries: nil, 1: {client.Once()}} {
		connections.Store(0)
		var last error
		for _, err := range c.WatchSession(t.Context(), parley.NewID(), client.WatchSessionQuery{}, options...) {
			last = err
		}
		if parley.ErrorCode(last) != parley.CodeUnavailable || connections.Load() != want {
			t.Errorf("%d connections ended with %v; want %d", connections.Load(), last, want)
		}
	}
}

// The workspace's feed goes on behind the last event of each session.
func TestTheFeedIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	session := parley.NewID()
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("session"))
		fmt.Fprintf(w, "event: step.started\nid: %d\ndata: {\"session_id\":%q,\"data\":{}}\n\n", 5+len(asked), session)
	})
	places := client.WatchWorkspaceQuery{Session: []string{session.String() + ":5"}}
	for frame, err := range c.WatchWorkspace(t.Context(), places) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.ID == 7 {
			break
		}
	}
	if want := []string{session.String() + ":5", session.String() + ":6"}; !cmp.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}
