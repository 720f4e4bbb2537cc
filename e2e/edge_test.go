package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley/client"
)

// fewDescriptors is the limit of open files for the server of
// TestSilentConnectionsKeepNobodyOut.
const fewDescriptors = 200

// TestSilentConnectionsKeepNobodyOut: with more of them than the server has descriptors,
// others still get in, messages are accepted, and admitted connections stay.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := startProgram(t, withDescriptors(t, fewDescriptors), place{dir: t.TempDir()}, nil)
	if _, err := s.client.Principal(t.Context()); err != nil { // admits its connection
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.url, "http://")
	for range 2 * fewDescriptors {
		conn, err := net.DialTimeout("tcp", address, startDeadline)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: startDeadline}
		client := http.Client{
			Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true},
			Timeout:   startDeadline,
		}
		request, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			s.url+"/v1/agents",
			strings.NewReader(fmt.Sprintf(`{"name":"from %s"}`, from)),
		)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+s.key())
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Fatalf("from %s: %v", from, err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Errorf("from %s: status %d", from, response.StatusCode)
		}
	}
	if _, err := s.client.Principal(t.Context()); err != nil {
		t.Errorf("who was let in before: %v", err)
	}
}

// withDescriptors is the program with a limit on its open files.
func withDescriptors(t *testing.T, most int) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "few")
	if err := os.WriteFile(
		script,
		fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", most, binary),
		0o700,
	); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return script
}

// The server of TestAReadersStreamsKeepNobodyOut: three quarters of its files may be
// clients' connections, and a quarter of these one principal's streams.
const (
	streamDescriptors = 300
	streamConnections = streamDescriptors - streamDescriptors/4
	streamsOfAReader  = streamConnections / 4
)

// TestAReadersStreamsKeepNobodyOut: a reader opens more streams than the server accepts
// connections, and begins as many requests without finishing them, and keeps them all. A
// stranger, a sign-in and another workspace still get responses, and that workspace's
// stream stays.
func TestAReadersStreamsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	at := place{dir: t.TempDir()}
	reader := at.newKey(t, "keys", "create", "--workspace", "acme", "--name", "reader", "--role", "reader", "--json")
	other := at.newKey(t, "keys", "create", "--workspace", "other", "--name", "other", "--json")
	s := startProgram(t, withDescriptors(t, streamDescriptors), at, nil)
	theirs, lines := s.begin("GET /v1/events HTTP/1.1", other, "")
	if head := readHead(t, lines); head.StatusCode != http.StatusOK { //nolint:bodyclose // the test's end closes it
		t.Fatalf("the stream of another workspace: status %d", head.StatusCode)
	}
	streams := 0
	for range streamConnections {
		_, lines := s.begin("GET /v1/events HTTP/1.1", reader, "")
		head := readHead(t, lines) //nolint:bodyclose // the test's end closes it
		switch head.StatusCode {
		case http.StatusOK:
			streams++
		case http.StatusTooManyRequests:
			said, err := io.ReadAll(head.Body)
			if err != nil || head.Header.Get("Retry-After") == "" || !strings.Contains(string(said), "streams open") {
				t.Fatalf("one stream too many: %v, %v, %s", err, head.Header, said)
			}
		default:
			t.Fatalf("a reader's stream: status %d", head.StatusCode)
		}
	}
	if streams != streamsOfAReader {
		t.Errorf("the reader has %d streams, want %d", streams, streamsOfAReader)
	}
	for range streamConnections {
		s.begin("POST /v1/agents HTTP/1.1", reader, "Content-Type: application/json\r\nContent-Length: 100\r\n")
	}
	for _, c := range []struct {
		method, path, key, body string
		status                  int
	}{
		{http.MethodGet, "/readyz", "", "", http.StatusOK},
		{http.MethodGet, "/healthz", "", "", http.StatusOK},
		{http.MethodPost, "/v1/sign-in", "", fmt.Sprintf(`{"key":%q}`, other), http.StatusOK},
		{http.MethodGet, "/v1/principal", other, "", http.StatusOK},
		{http.MethodPost, "/v1/agents", other, `{"name":"another"}`, http.StatusCreated},
	} {
		if status := s.askAlone(c.method, c.path, c.key, c.body); status != c.status {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, status, c.status)
		}
	}
	if err := theirs.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the stream of another workspace ended: %v", err)
	}
}

// newKey runs the command that creates a key.
func (p place) newKey(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, err := p.parley(t, args...)
	var made struct{ Key string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &made)
	}
	if err != nil || made.Key == "" {
		t.Fatalf("%v: %s", err, errOut)
	}
	return made.Key
}

// begin sends a request's head on a connection of its own, which stays open.
func (s *server) begin(line, key, header string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), startDeadline)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(startDeadline)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(
		conn,
		"%s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n",
		line,
		key,
		header,
	); err != nil {
		s.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func readHead(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// askAlone sends a request on a connection of its own; 0 if it gets no response.
func (s *server) askAlone(method, path, key, body string) int {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: startDeadline}
	response, err := client.Do(request)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestNobodyOfThisMachineIsTheLocalOwner calls a keyless server as the user nobody, from a
// process of its own, including one that does not wait for the response.
func TestNobodyOfThisMachineIsTheLocalOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may start a process of another user; CI runs this")
	}
	s := start(t, t.TempDir())
	port := s.url[strings.LastIndex(s.url, ":")+1:]
	as := func(uid uint32, after, method, path, body string) string {
		t.Helper()
		request := fmt.Sprintf(
			"%s %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Type: "+
				"application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s",
			method,
			path,
			len(body),
			body,
		)
		command := exec.Command(
			"bash",
			"-c",
			"exec 3<>/dev/tcp/127.0.0.1/"+port+" && printf '"+request+"' >&3 && "+after,
		)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := command.CombinedOutput()
		if err != nil &&
			!bytes.HasPrefix(
				out,
				[]byte("HTTP/1.1 "),
			) { // after the response, a connection with an unread body is reset
			t.Fatalf("%v: %s", err, out)
		}
		line, _, _ := bufio.ScanLines(out, true)
		return string(out[:line])
	}
	const nobody = 65534
	const made = `{"name":"made by nobody"}`
	for _, c := range [][3]string{{"GET", "/v1/sessions", ""}, {"POST", "/v1/agents", made},
		{"POST", "/v1/keys", `{"name":"mine"}`}, {"GET", "/metrics", ""}, {"GET", "/v1/events", ""}} {
		if line := as(nobody, "cat <&3", c[0], c[1], c[2]); !strings.Contains(line, " 401 ") {
			t.Errorf("%s %s as nobody: %q", c[0], c[1], line)
		}
	}
	if line := as(0, "cat <&3", "GET", "/v1/sessions", ""); !strings.Contains(line, " 200 ") {
		t.Errorf("as the server's own user: %q", line)
	}
	for range 20 {
		as(nobody, "exec 3>&-", "POST", "/v1/agents", made)
	}
	s.counted(`parley_http_requests_total{method="POST",route="/v1/agents",status="401"} 21`)
	agents, err := s.client.Agents(t.Context(), client.AgentsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range agents.Data {
		if agent.Name == "made by nobody" {
			t.Error("an abandoned request had an effect")
		}
	}
}

// counted waits until the metrics contain a line.
func (s *server) counted(line string) {
	s.t.Helper()
	var body []byte
	for deadline := time.Now().Add(startDeadline); time.Now().Before(deadline); {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/metrics", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+s.key())
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			s.t.Fatal(err)
		}
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(string(body), line+"\n") {
			return
		}
	}
	s.t.Fatalf("the metrics do not say %s: %s", line, body)
}

// squattedAddress makes this binary listen at an address, in the place of the server that callers expect there.
const squattedAddress = "SQUATTED_ADDRESS"

// squat reports that it listens, and then what it receives.
func squat(address string) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listens")
	_ = http.Serve(listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { //nolint:gosec // of a test
		fmt.Println("was sent", r.URL.Path, r.Header.Get("Authorization"))
	}))
}

// TestTheTokenIsSentToNobodyElse: if another user of the machine listens where a killed server did, the command line
// does not send the token; the user's own server gets it.
func TestTheTokenIsSentToNobodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may start a process of another user; CI runs this")
	}
	s := start(t, t.TempDir())
	if _, stderr, err := s.at.parley(t, "sessions", "list"); err != nil {
		t.Fatalf("at one's own server: %v, %s", err, stderr)
	}
	s.kill()
	shelf, err := os.MkdirTemp("", "parley-squat-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shelf) })
	if err := os.Chmod(shelf, 0o755); err != nil { //nolint:gosec // for another user
		t.Fatal(err)
	}
	program := filepath.Join(shelf, "squatter")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied(t, self, program)
	squatter := exec.Command(program)
	squatter.Dir, squatter.Env = "/", []string{squattedAddress + "=" + strings.TrimPrefix(s.url, "http://")}
	const nobody = 65534
	squatter.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := squatter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := squatter.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || line != "listens\n" {
		t.Fatalf("the squatter says %q, %v", line, err)
	}
	_, stderr, err := s.at.parley(t, "sessions", "list")
	if err == nil || !strings.Contains(stderr, "is not a server of the user") {
		t.Errorf("at another user's: %v, %s", err, stderr)
	}
	_ = squatter.Process.Kill()
	rest, err := io.ReadAll(said)
	_ = squatter.Wait() // killed above
	if err != nil || len(rest) > 0 {
		t.Errorf("the other user was told %q, %v", rest, err)
	}
}
