package e2e

import (
	"bufio"
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
)

// fewDescriptors is how many files the server of TestSilentConnectionsKeepNobodyOut
// may open.
const fewDescriptors = 200

// TestSilentConnectionsKeepNobodyOut: more of them than the server has descriptors, and
// others still get in, messages are still taken, and the guests who were let in stay.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "few")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", fewDescriptors, binary), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s := startProgram(t, script, place{dir: t.TempDir()}, nil)
	if _, err := s.client.Principal(t.Context()); err != nil { // its connection is known from here on
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
		client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, Timeout: startDeadline}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/agents", strings.NewReader(fmt.Sprintf(`{"name":"from %s"}`, from)))
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

// TestNobodyOfThisMachineIsTheLocalOwner asks a keyless server as the user nobody, from
// a process of its own, also one that does not wait for the answer.
func TestNobodyOfThisMachineIsTheLocalOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may start a process of another user; CI runs this")
	}
	s := start(t, t.TempDir())
	port := s.url[strings.LastIndex(s.url, ":")+1:]
	as := func(uid uint32, after, method, path, body string) string {
		t.Helper()
		request := fmt.Sprintf("%s %s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n%s", method, path, len(body), body)
		command := exec.Command("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port+" && printf '"+request+"' >&3 && "+after)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		line, _, _ := bufio.ScanLines(out, true)
		return string(out[:line])
	}
	const nobody = 65534
	const made = `{"name":"made by nobody"}`
	for _, c := range [][3]string{{"GET", "/v1/sessions", ""}, {"POST", "/v1/agents", made}, {"POST", "/v1/keys", `{"name":"mine"}`}, {"GET", "/metrics", ""}, {"GET", "/v1/events", ""}} {
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
	agents, err := s.client.Agents(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range agents.Data {
		if agent.Name == "made by nobody" {
			t.Error("a request that was left did something")
		}
	}
}

// counted waits until the metrics have a line.
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
