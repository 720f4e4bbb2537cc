package httpapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/bounded"
)

// TestARevokedKeyEndsWhatLasts: requests that last long end with the key that they came with, like streams, and what
// they wait for is not told any more.
func TestARevokedKeyEndsWhatLasts(t *testing.T) {
	t.Parallel()
	const slow = `{"text":"[[{\"text\":\"begins\"},{\"wait_ms\":60000},{\"text\":\"secret\"}]]"}`
	for name, request := range map[string]struct{ path, body string }{
		"a wait":    {"/wait", `{"content":` + slow + `}`},
		"Prefer":    {"?wait=2m", `{"content":` + slow + `}`},
		"a dry run": {"/stream", `{"dry_run":true,"content":` + slow + `}`},
		"an upload": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			local := []string{"Authorization", "Bearer " + testToken}
			lost := want[engine.NewKey](s, 201, "POST", "/v1/keys", `{"name":"lost","role":"member"}`, local...)
			s.key("default", "kept", parley.RoleMember) // without any, the server would ask for none
			key := []string{"Authorization", "Bearer " + lost.Secret}
			session := s.session(`{"model":"sim/script"}`, key...).ID.String()
			watched := s.stream("GET", "/v1/sessions/"+session+"/events", "", local...)
			type ended struct {
				status int
				body   []byte
			}
			answers := make(chan ended, 1)
			send := func(path, body string) {
				go func() { // ends with its answer
					got := s.do("POST", path, body, key...)
					answers <- ended{got.status, got.body}
				}()
			}
			var conn net.Conn
			switch name {
			case "an upload":
				var line string
				if line, conn = s.begins("Bearer "+lost.Secret, "POST /v1/files?name=a.txt", 1<<20); !strings.
					Contains(line, " 100 ") {
					t.Fatalf("the upload is answered %q", line)
				}
				go func() { // ends with the connection
					raw, _ := io.ReadAll(conn)
					var status int
					_, _ = fmt.Sscanf(strings.TrimSpace(string(raw)), "HTTP/1.1 %d", &status)
					answers <- ended{status, raw}
				}()
			case "a dry run":
				dry := s.stream("POST", "/v1/sessions/"+session+"/messages/stream", request.body, key...)
				dry.until("step.started")
				go func() { // ends with the stream
					said := fmt.Sprint(dry.rest())
					answers <- ended{http.StatusUnauthorized, []byte(said)}
				}()
			default:
				send("/v1/sessions/"+session+"/messages"+request.path, request.body)
				watched.until("step.started")
			}
			got := s.do("DELETE", "/v1/keys/"+lost.ID.String(), "", local...)
			if got.status != http.StatusNoContent {
				t.Fatalf("the key is not revoked: %d", got.status)
			}
			if conn != nil {
				if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
					t.Fatal(err)
				}
			}
			answer := bounded.Receive(t, answers, "the end of the request")
			if answer.status != http.StatusUnauthorized || strings.Contains(string(answer.body), "secret") {
				t.Errorf("it is answered %d: %s", answer.status, answer.body)
			}
			want[parley.Session](s, 200, "GET", "/v1/sessions/"+session, "", local...)
		})
	}
}
