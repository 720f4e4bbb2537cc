package httpapi

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/parley"
)

// begins sends the head of a request and tells the first line of its answer: 100 when the
// server reads the body, which does not come.
func (s *testServer) begins(bearer, head string, size int) (line string, conn net.Conn) {
	s.Helper()
	conn = s.dial()
	request := fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n", head, bearer, size)
	if _, err := conn.Write([]byte(request)); err != nil {
		s.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	return line, conn
}

// dial opens a connection that ends with the test and waits for nothing for ever.
func (s *testServer) dial() net.Conn {
	s.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.Fatal(err)
	}
	return conn
}

// fills begins requests until one is refused, and tells how many were not.
func (s *testServer) fills(bearer, head string, size int) (open []net.Conn) {
	s.Helper()
	for range 2 * heldOfOne / heldFree {
		line, conn := s.begins(bearer, head, size)
		switch {
		case strings.Contains(line, " 429 "):
			return open
		case !strings.Contains(line, " 100 "):
			s.Fatalf("the request is answered %q", line)
		}
		open = append(open, conn)
	}
	s.Fatal("no request was refused")
	return nil
}

// TestLargeBodiesHaveABound: bodies and uploads that do not come hold no more memory than
// their principal may, and others have theirs; what ends makes room.
func TestLargeBodiesHaveABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head  string
		size  int
		holds int
	}{
		"bodies":  {"POST /v1/sessions", parley.MaxBodyBytes, parley.MaxBodyBytes},
		"uploads": {"POST /v1/files?name=a.bin", parley.MaxFileBytes, uploadHolds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			ada, ben := s.key("one", "ada", parley.RoleMember), s.key("one", "ben", parley.RoleMember)
			open := s.fills(ada, c.head, c.size)
			if want := heldOfOne / c.holds; len(open) != want {
				t.Errorf("%d requests at once; want %d", len(open), want)
			}
			if got := s.do("POST", "/v1/sessions", `{}`, "Authorization", ada); got.status != 201 {
				t.Errorf("a small one: %d %s", got.status, got.body)
			}
			if line, _ := s.begins(ben, c.head, c.size); !strings.Contains(line, " 100 ") {
				t.Errorf("another's: %q", line)
			}
			for _, conn := range open {
				_ = conn.Close()
			}
			for deadline := time.Now().Add(patience); ; {
				line, conn := s.begins(ada, c.head, c.size)
				_ = conn.Close()
				if strings.Contains(line, " 100 ") {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("what has ended makes no room: %q", line)
				}
			}
		})
	}
}

// TestAnswersNobodyTakesHaveABound: pages that their readers do not take hold no more
// memory than their principal may, and others read on.
func TestAnswersNobodyTakesHaveABound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada, ben := s.key("one", "ada", parley.RoleMember), s.key("one", "ben", parley.RoleMember)
	session := s.session(`{"visibility":"workspace"}`, "Authorization", ada).ID.String()
	path := "/v1/sessions/" + session + "/messages"
	long := `{"respond":false,"content":{"text":"` + strings.Repeat("x", 1000<<10) + `"}}`
	for range 8 {
		if got := s.do("POST", path, long, "Authorization", ada); got.status != 201 {
			t.Fatalf("the post: %d %s", got.status, got.body[:min(300, len(got.body))])
		}
	}
	read := func(bearer string) string {
		conn := s.dial()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10) // what the kernel keeps is none of the server's
		}
		if _, err := fmt.Fprintf(
			conn,
			"GET %s?limit=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n",
			path,
			bearer,
		); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	taken := 0
	for ; taken <= heldOfOne/(7<<20); taken++ {
		if line := read(ada); strings.Contains(line, " 429 ") {
			break
		} else if !strings.Contains(line, " 200 ") {
			t.Fatalf("the page is answered %q", line)
		}
	}
	if most := heldOfOne / (7 << 20); taken < 4 || taken > most {
		t.Errorf("%d pages at once; want at most %d", taken, most)
	}
	if line := read(ben); !strings.Contains(line, " 200 ") {
		t.Errorf("another's: %q", line)
	}
	if got := s.do("GET", "/v1/sessions/"+session, "", "Authorization", ada); got.status != 200 {
		t.Errorf("a small answer: %d", got.status)
	}
}

// TestBodiesThatGrowWhenTheyAreDecoded: what counts of a body is what it takes decoded.
func TestBodiesThatGrowWhenTheyAreDecoded(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada := s.key("one", "ada", parley.RoleMember)
	body := func(size int) string {
		const unit = `{"":0},`
		return `{"name":"a","metadata":{"a":[` + strings.Repeat(unit, size/len(unit)) + `0]}}`
	}
	got := s.do("POST", "/v1/agents", body(parley.MaxBodyBytes-1024), "Authorization", ada)
	if got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d: %.300s; want 413", got.status, got.body)
	}
	const each = 100 << 10
	for n := int64(0); n+each < heldOfOne; n += each { // as if so much were under way
		if line, _ := s.begins(ada, "POST /v1/sessions", each); !strings.Contains(line, " 100 ") {
			break
		}
	}
	got = s.do("POST", "/v1/agents", body(heldFree/2), "Authorization", ada)
	if got.status != http.StatusTooManyRequests {
		t.Errorf("short, but large once it is decoded: status %d: %.300s; want 429", got.status, got.body)
	}
}
