package httpapi

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley"
	"parley/live"
)

// quiet is a source where nothing ever happens.
type quiet struct{}

func (quiet) Events(context.Context, parley.Scope, parley.ID, int64, int) ([]parley.Event, error) {
	return nil, nil
}

func (quiet) Heads(_ context.Context, ids []parley.ID) ([]parley.HeadState, error) {
	heads := make([]parley.HeadState, len(ids))
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

// relayed runs a server with one endless stream in front of a hub, and hands
// over the client's end of a connection that has asked for it. Ended is closed
// when the handler has returned.
func relayed(t *testing.T, test func(client net.Conn, hub *live.Hub, session parley.ID, ended <-chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		hub := live.New(quiet{}, live.Options{Log: log})
		a, session, ended := &api{hub: hub, log: log}, parley.NewID(), make(chan struct{})
		listener := pipes{make(chan net.Conn), make(chan struct{})}
		server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			watcher := hub.Watch(live.WatchRequest{Sessions: []live.Place{{SessionID: session, After: 0}}})
			defer watcher.Close()
			s := newStream(w)
			if s.flush() == nil {
				a.relay(&exchange{w: w, r: r}, s, watcher)
			}
		}), log)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }() // ended by Close below
		client, connection := net.Pipe()
		listener.connections <- connection
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		test(client, hub, session, ended)
		hub.Close()
		_ = client.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
		<-ended
	})
}

// An idle stream says that it is there every 15 seconds, for hours: no deadline
// of the server cuts it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	relayed(t, func(client net.Conn, _ *live.Hub, _ parley.ID, _ <-chan struct{}) {
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
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
			if at := time.Since(start); at != time.Duration(n)*Heartbeat {
				t.Fatalf("beat %d after %s", n, at)
			}
		}
	})
}

// A reader that never reads is cut off when one write has taken WriteTimeout.
func TestReaderThatNeverReadsIsCutOff(t *testing.T) {
	t.Parallel()
	relayed(t, func(client net.Conn, hub *live.Hub, session parley.ID, ended <-chan struct{}) {
		answer, err := http.ReadResponse(bufio.NewReaderSize(client, 16), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer // its body is never read
		synctest.Wait()
		hub.Committed(parley.Commit{SessionID: session, Events: []parley.Event{{
			SessionID: session, Sequence: 1, Type: parley.EventMessageCreated, CreatedAt: 1, Data: []byte(`{"text":"` + strings.Repeat("x", 64<<10) + `"}`),
		}}})
		start := time.Now()
		<-ended
		if took := time.Since(start); took < WriteTimeout/2 || took > WriteTimeout {
			t.Errorf("cut off after %s, want at most %s", took, WriteTimeout)
		}
	})
}

// Data stays on one line, whatever the event's JSON looks like.
func TestFrameIsOneLineOfData(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	got := string(appendFrame(nil, &live.Frame{Kind: live.EventFrame, Event: parley.Event{
		SessionID: id, Sequence: 4, Type: "x.y", CreatedAt: 1, Data: []byte("{\n\"a\":\r\n1}"),
	}}))
	wanted := "event: x.y\nid: 4\ndata: {\"session_id\":\"" + id.String() + "\",\"sequence\":4,\"type\":\"x.y\",\"created_at\":\"1970-01-01T00:00:00.001Z\",\"data\":{\"a\":1}}\n\n"
	if got != wanted {
		t.Errorf("got  %q\nwant %q", got, wanted)
	}
}
