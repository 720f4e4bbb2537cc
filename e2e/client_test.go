package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// TestParallelSubmitsOfOneKey is failure 22: one key, one turn.
func TestParallelSubmitsOfOneKey(t *testing.T) { onEach(t, parallelSubmitsOfOneKey) }

func parallelSubmitsOfOneKey(t *testing.T, at place) {
	s := startAt(t, at)
	session := newSession(t, s.client, "sim/echo")
	const submits = 50
	ids := make([]parley.ID, submits)
	var wg sync.WaitGroup
	for i := range submits {
		c := s.connect()
		wg.Go(func() {
			posted, err := c.Post(t.Context(), session.ID, client.UserMessage("once"), client.IdempotencyKey("the-key"))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = posted.Message.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("one key made messages %s and %s", ids[0], id)
		}
	}
	settled(t, s.client, session.ID, turnDeadline)
	turns, err := s.client.Turns(t.Context(), session.ID, client.TurnsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if len(turns.Data) != 1 {
		t.Fatalf("one key made %d turns", len(turns.Data))
	}
	_, err = s.client.Post(
		t.Context(),
		session.ID,
		client.UserMessage("something else"),
		client.IdempotencyKey("the-key"),
	)
	if parley.ErrorCode(err) != parley.CodeKeyReused {
		t.Fatalf("another body under the key: %v", err)
	}
}

// TestWatcherThatComesAndGoes is failures 21 and 23: a client that disconnects every few
// frames still ends up with the text of the record.
func TestWatcherThatComesAndGoes(t *testing.T) { onEach(t, watcherThatComesAndGoes) }

func watcherThatComesAndGoes(t *testing.T, at place) {
	s := startAt(t, at, "--flush-live", "5ms")
	session := newSession(t, s.client, "sim/lorem-400-3")
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	watched := newFold(t)
	const enough = 5
	connections := 0
	for turns := 1; connections < enough; turns++ { // a busy machine merges a turn into few frames
		posted, err := s.client.Post(ctx, session.ID, client.UserMessage("go on"))
		if err != nil {
			t.Fatal(err)
		}
		if turns == 1 {
			watched.last = posted.EventSequence
		}
		for watched.ended < turns {
			connections++
			frames := 0
			for frame, err := range s.client.WatchSession(ctx, session.ID,
				client.WatchSessionQuery{After: watched.last}) {
				if err != nil {
					t.Fatal(err)
				}
				watched.take(frame)
				if frames++; frames == 3 || watched.ended == turns {
					break
				}
			}
		}
	}
	watched.check(record(t, s.client, session.ID))
}

// TestReaderThatNeverReads is failure 25: it is cut off without affecting others.
func TestReaderThatNeverReads(t *testing.T) { onEach(t, readerThatNeverReads) }

func readerThatNeverReads(t *testing.T, at place) {
	s := startAt(t, at, "--flush-live", "0s")
	session := newSession(t, s.client, "sim/script")
	conn := dial(t, s, session.ID)
	script := fmt.Sprintf(`[[{"text":%q,"repeat":20000}]]`, strings.Repeat("x", 400))
	for range 3 {
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage(script)); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, s.client, session.ID, turnDeadline)
	if held := resident(t, s); held > 400<<20 {
		t.Errorf("the server holds %d MB", held>>20)
	}
	// Cut off: the server closes the connection although its client has not.
	deadline, tick := time.After(turnDeadline), time.NewTicker(200*time.Millisecond)
	defer tick.Stop()
	for streams(t, s, conn) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("a reader that never reads still has its connection")
		}
	}
}

// streams reports whether the server still holds its side of a connection: an established
// socket from its port to the client's.
func streams(t *testing.T, s *server, conn net.Conn) bool {
	t.Helper()
	local, remote := conn.LocalAddr().(*net.TCPAddr), conn.RemoteAddr().(*net.TCPAddr)
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", s.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	const established = "01"
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", remote.Port)) &&
			strings.HasSuffix(fields[2], fmt.Sprintf(":%04X", local.Port)) {
			return fields[3] == established
		}
	}
	return false
}

// dial opens an event stream with a small receive buffer and reads nothing of it.
func dial(t *testing.T, s *server, session parley.ID) net.Conn {
	t.Helper()
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		})
		return errors.Join(err, failed)
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(
		conn,
		"GET /v1/sessions/%s/events HTTP/1.1\r\nHost: %s\r\n\r\n",
		session,
		at.Host,
	); err != nil {
		t.Fatal(err)
	}
	return conn
}

func resident(t *testing.T, s *server) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var total, pages int64
	if _, err := fmt.Sscan(string(raw), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// TestBigBodyIsRefusedUnread is failure 52.
func TestBigBodyIsRefusedUnread(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	session := newSession(t, s.client, "sim/echo")
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		s.url+"/v1/sessions/"+session.ID.String()+"/messages",
		strings.NewReader(strings.Repeat("x", 50<<20)),
	)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() // only the status counts
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("50 MB got the response %s", response.Status)
	}
	if held := resident(t, s); held > 100<<20 {
		t.Errorf("the server holds %d MB after refusing 50", held>>20)
	}
}
