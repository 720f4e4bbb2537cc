package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/inflight"
)

// TestWaitsForALongAnswerHoldABound: requests that wait for one turn with a long answer hold no more memory than their
// principal may once it ends, whether they take the answer or not; the others wait for room, and all are answered.
func TestWaitsForALongAnswerHoldABound(t *testing.T) {
	t.Parallel()
	const (
		waits = 11
		most  = heldOfOne / (7 << 20)
	)
	s := startServer(t)
	ada := s.key("one", "ada", parley.RoleMember)
	session := s.session(`{"model":"sim/script"}`, "Authorization", ada).ID.String()
	body := fmt.Sprintf(`{"content":{"text":"[[{\"text\":\"%s\",\"repeat\":140,\"split\":50000}]]"}}`,
		strings.Repeat("x", 50_000))
	path := "/v1/sessions/" + session + "/messages/wait"
	first := want[Answered](s, 200, "POST", path, body, "Authorization", ada, "Idempotency-Key", "one")
	if first.Turn == nil || first.Turn.Status != parley.TurnCompleted || len(first.said()) != 7_000_000 {
		t.Fatalf("the turn is %+v", first.Turn)
	}
	type begun struct {
		conn net.Conn
		line string
	}
	answers := make(chan begun, waits)
	for range waits {
		conn := s.dial()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10) // the kernel's buffers are not the server's memory
		}
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n"+
			"Idempotency-Key: one\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path, ada, len(body), body); err != nil {
			t.Fatal(err)
		}
		go func() { // ends with its answer, or the deadline of the connection
			line, _ := bufio.NewReaderSize(conn, 64).ReadString('\n')
			answers <- begun{conn, line}
		}()
	}
	var taken []begun
	take := func(one begun) {
		t.Helper()
		if taken = append(taken, one); !strings.Contains(one.line, " 200 ") {
			t.Errorf("a request that waited is answered %q", one.line)
		}
		if len(taken) > most {
			t.Fatalf("%d answers are held at once, want at most %d", len(taken), most)
		}
	}
	for range 4 {
		take(bounded.Receive(t, answers, "an answer that finds room"))
	}
	for began := time.Now(); time.Since(began) < 2*time.Second; { // gives further ones time
		want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "", "Authorization", ada)
		select {
		case one := <-answers:
			take(one)
		default:
		}
	}
	for got := len(taken); ; got++ {
		for _, one := range taken {
			_ = one.conn.Close()
		}
		taken = nil
		if got == waits {
			break
		}
		take(bounded.Receive(t, answers, "an answer after others were given up"))
	}
}

// TestAnAnswerThatWaitedWaitsForRoom: the turn has run, so its answer is not refused while others hold the memory,
// unless they hold it for very long.
func TestAnAnswerThatWaitedWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = heldOfOne / 2
		memory := inflight.NewBytes(heldAtOnce, heldOfOne)
		principal := parley.Principal{ID: parley.NewID(), WorkspaceID: parley.NewID()}
		request := func() *exchange {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			return &exchange{r: r, memory: memory, waits: true, principal: principal}
		}
		first, second := request(), request()
		if err := errors.Join(first.holdAnswer(size), second.holdAnswer(size)); err != nil {
			t.Fatal(err)
		}
		last := request()
		done := make(chan error, 1)
		go func() { done <- last.holdAnswer(size) }() // ends with room
		time.Sleep(StandardWait / 2)                  // of the bubble's clock
		select {
		case err := <-done:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
		first.letGo()
		if err := <-done; err != nil || last.held != size {
			t.Errorf("with room it is %v, and holds %d bytes", err, last.held)
		}
		began := time.Now()
		if err := request().holdAnswer(size); parley.ErrorCode(err) != parley.CodeRateLimited ||
			time.Since(began) != StandardWait {
			t.Errorf("without room it is %v after %s", err, time.Since(began))
		}
	})
}
