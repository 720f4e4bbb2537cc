package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/inflight"
	"example.org/parley/live"
	"example.org/parley/protocol"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// quiet is a source where nothing ever happens.
type quiet struct{}

func (quiet) Events(context.Context, store.Scope, parley.ID, int64, int) ([]parley.Event, error) {
	return nil, nil
}

func (quiet) Heads(_ context.Context, ids []parley.ID) ([]store.HeadState, error) {
	heads := make([]store.HeadState, len(ids))
	for i, id := range ids {
		heads[i].SessionID = id
	}
	return heads, nil
}

// pipes is a listener of in-memory connections.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// piped serves the client's end of one in-memory connection inside a bubble of
// synthetic time.
func piped(t *testing.T, handler http.Handler, client func(net.Conn)) {
	t.Helper()
	listener := pipes{make(chan net.Conn), make(chan struct{})}
	server := NewServer(handler, slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // ended by Close below
	near, far := net.Pipe()
	listener.connections <- far
	client(near)
	_ = near.Close()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	synctest.Wait()
}

// relayed runs a server with one endless stream in front of a hub, and hands
// over the client's end of a connection that has asked for it. Ended is closed
// when the handler has returned.
func relayed(t *testing.T, test func(client net.Conn, hub *live.Hub, session parley.ID, ended <-chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		hub := live.New(quiet{}, live.Options{Log: log})
		a := &api{log: log, gate: newGate(&Options{Loopback: true, InsecureLocal: true})}
		session, ended := parley.NewID(), make(chan struct{})
		start := time.Now() // everybody may watch
		a.gate.now, a.gate.guardedAt = func() time.Time { return start }, start
		anybody := parley.Principal{ID: parley.NewID(), WorkspaceID: parley.NewID(), Role: parley.RoleAdmin}
		a.gate.owners[parley.DefaultWorkspace] = anybody
		streams := stream.New(engine.New(engine.Options{}), hub)
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			watched, err := streams.Follow(
				r.Context(),
				anybody,
				stream.Request{Sessions: []stream.Place{{SessionID: session}}},
			)
			if err != nil {
				t.Error(err)
				return
			}
			defer watched.Close()
			s := newSSE(w)
			if s.Flush() == nil {
				x := &exchange{w: w, r: r, principal: anybody}
				a.relay(x, s, watched) //nolint:contextcheck // the exchange holds the request with its context
			}
		})
		piped(t, handler, func(client net.Conn) {
			if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			test(client, hub, session, ended)
			hub.Close()
		})
		<-ended
	})
}

// An idle stream says that it is there every 15 seconds, for hours: no deadline
// of the server cuts it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	relayed(t, func(client net.Conn, _ *live.Hub, _ parley.ID, _ <-chan struct{}) {
		answer, err := http.ReadResponse( //nolint:bodyclose // it is endless; the connection is closed instead
			bufio.NewReader(client),
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		start, lines := time.Now(), bufio.NewReader(answer.Body)
		const beats = 4 * 60 * 2 // two hours
		for n := 1; n <= beats; n++ {
			for _, wanted := range []string{": still here\n", "\n"} {
				line, err := lines.ReadString('\n')
				if err != nil || line != wanted {
					t.Fatalf("beat %d: %q %v", n, line, err)
				}
			}
			if at := time.Since(start); at != time.Duration(n)*stream.Heartbeat {
				t.Fatalf("beat %d after %s", n, at)
			}
		}
	})
}

// A reader that never reads is cut off when one write has taken protocol.WriteTimeout.
func TestReaderThatNeverReadsIsCutOff(t *testing.T) {
	t.Parallel()
	relayed(t, func(client net.Conn, hub *live.Hub, session parley.ID, ended <-chan struct{}) {
		answer, err := http.ReadResponse( //nolint:bodyclose // it is endless; the connection is closed instead
			bufio.NewReaderSize(client, 16),
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer // its body is never read
		synctest.Wait()
		hub.Committed(store.Commit{SessionID: session, Events: []parley.Event{
			{
				SessionID: session,
				Sequence:  1,
				Type:      parley.EventMessageCreated,
				CreatedAt: 1,
				Data:      []byte(`{"text":"` + strings.Repeat("x", 64<<10) + `"}`),
			},
		}})
		start := time.Now()
		<-ended
		if took := time.Since(start); took < protocol.WriteTimeout/2 || took > protocol.WriteTimeout {
			t.Errorf("cut off after %s, want at most %s", took, protocol.WriteTimeout)
		}
	})
}

// Nor does an ordinary answer wait for its reader for ever.
func TestAnswerThatIsNeverReadIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, ended := &api{
			log:    slog.New(slog.DiscardHandler),
			mux:    http.NewServeMux(),
			memory: inflight.NewBytes(heldAtOnce, heldOfOne),
		}, make(
			chan struct{},
		)
		a.register(
			[]route{
				{
					method: http.MethodGet,
					paths:  []string{"/large"},
					name:   "get",
					open:   true,
					serve: func(_ *api, x *exchange) error {
						defer close(ended)
						return x.sendBytes(http.StatusOK, make([]byte, 1<<20))
					},
				},
			},
		)
		piped(t, a, func(client net.Conn) {
			start := time.Now()
			if _, err := io.WriteString(client, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-ended
			if took := time.Since(start); took != AnswerTimeout {
				t.Errorf("cut off after %s, want %s", took, AnswerTimeout)
			}
		})
	})
}

// Data stays on one line, whatever the event's JSON looks like.
func TestFrameIsOneLineOfData(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	got := string(appendFrame(nil, &live.Frame{Kind: live.EventFrame, Event: parley.Event{
		SessionID: id, Sequence: 4, Type: "x.y", CreatedAt: 1, Data: []byte("{\n\"a\":\r\n1}"),
	}}))
	wanted := "event: x.y\nid: 4\ndata: {\"session_id\":\"" + id.String() +
		"\",\"sequence\":4,\"type\":\"x.y\",\"created_at\":\"1970-01-01T00:00:00.001Z\",\"data\":{\"a\":1}}\n\n"
	if got != wanted {
		t.Errorf("got  %q\nwant %q", got, wanted)
	}
}

// A body that does not come is waited for BodyTimeout, headers for HeaderTimeout,
// whether a route reads the body, drops it or there is no route at all.
func TestSlowRequestsAreCutOff(t *testing.T) {
	t.Parallel()
	const body = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
	for _, c := range []struct {
		name, sent string
		after      time.Duration
		status     int // 0: the connection just closes
	}{
		{"headers", "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", HeaderTimeout, 0},
		{"body", "POST /reads HTTP/1.1\r\n" + body, BodyTimeout, http.StatusUnprocessableEntity},
		{"body of a read", "GET /reads HTTP/1.1\r\n" + body, BodyTimeout, http.StatusUnprocessableEntity},
		{"chunked body", "POST /reads HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/json\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", BodyTimeout,
			http.StatusUnprocessableEntity},
		{"body for nobody", "POST /nothing HTTP/1.1\r\n" + body, BodyTimeout, http.StatusNotFound},
		{"body with a wrong method", "PUT /reads HTTP/1.1\r\n" + body, BodyTimeout, http.StatusMethodNotAllowed},
		{"body with a wrong parameter", "POST /reads?x=1 HTTP/1.1\r\n" + body, BodyTimeout,
			http.StatusUnprocessableEntity},
		{"body of another site", "POST /reads HTTP/1.1\r\nOrigin: http://evil.example\r\n" + body, BodyTimeout,
			http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &api{
					log:    slog.New(slog.DiscardHandler),
					mux:    http.NewServeMux(),
					memory: inflight.NewBytes(heldAtOnce, heldOfOne),
				}
				a.register([]route{
					{method: http.MethodPost, paths: []string{"/reads"}, name: "post", open: true, serve: serveHealth},
					{method: http.MethodGet, paths: []string{"/reads"}, name: "get", open: true, serve: serveHealth},
				})
				piped(t, a, func(client net.Conn) {
					start := time.Now()
					if _, err := io.WriteString(client, c.sent); err != nil {
						t.Fatal(err)
					}
					answer, err := http.ReadResponse( //nolint:bodyclose // the connection is closed instead
						bufio.NewReader(client),
						nil,
					)
					if c.status == 0 && err == nil || c.status != 0 && (err != nil || answer.StatusCode != c.status) {
						t.Errorf("answer %+v %v, want status %d", answer, err, c.status)
					}
					if took := time.Since(start); took != c.after {
						t.Errorf("after %s, want %s", took, c.after)
					}
				})
			})
		})
	}
}
