package e2e

import (
	"context"
	"fmt"
	"iter"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// wordDeadline is how long a word may take through a proxy: less than the time to the next
// heartbeat, whose bytes could push it out.
const wordDeadline = 12 * time.Second

// proxies starts the proxies of deploy/ in front of three Parley processes, with the
// shipped files except for the addresses.
var proxies = map[string]func(t *testing.T, bind string, upstreams [3]string) *exec.Cmd{
	"haproxy": haproxy,
	"nginx":   nginx,
}

func haproxy(t *testing.T, bind string, upstreams [3]string) *exec.Cmd {
	t.Helper()
	command := exec.Command(program(t, "haproxy"), "-db", "-f", "../deploy/haproxy.cfg")
	command.Env = append(cleanEnvironment(), "PROXY_BIND="+bind)
	for i, upstream := range upstreams {
		command.Env = append(command.Env, fmt.Sprintf("PARLEY_%d=%s", i+1, upstream))
	}
	return command
}

func nginx(t *testing.T, bind string, upstreams [3]string) *exec.Cmd {
	t.Helper()
	shipped, err := os.ReadFile("../deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := strings.Replace(string(shipped), "listen 8080;", "listen "+bind+";", 1)
	for i, upstream := range upstreams {
		conf = strings.Replace(conf, fmt.Sprintf("server parley-%d:7878 ", i+1), "server "+upstream+" ", 1)
	}
	dir := t.TempDir()
	temporary := ""
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += what + "_temp_path " + filepath.Join(dir, what) + ";\n"
	}
	file := filepath.Join(dir, "nginx.conf")
	conf = "daemon off;\nerror_log stderr notice;\npid " + filepath.Join(
		dir,
		"pid",
	) + ";\nevents {}\nhttp {\naccess_log off;\n" + temporary + conf + "}\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command(program(t, "nginx"), "-p", dir, "-c", file)
}

// program finds an installed server, which may be outside an ordinary user's PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is needed for this test: apt-get install haproxy nginx-light", name)
	return ""
}

// startProxy runs a proxy until the end of the test and returns its URL.
func startProxy(t *testing.T, proxy func(*testing.T, string, [3]string) *exec.Cmd, upstreams [3]string) string {
	t.Helper()
	bind := "127.0.0.1:" + freePort(t)
	command, said := proxy(t, bind, upstreams), &lockedBuffer{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }() // ends with the proxy
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(stopDeadline):
			_ = command.Process.Kill()
			t.Errorf("the proxy did not end: %s", said)
		}
		if t.Failed() {
			t.Logf("the proxy said: %s", said)
		}
	})
	return "http://" + bind
}

// throughProxy is a client with a key for a server behind a proxy that has just started. It
// waits until the proxy has found the server ready.
func throughProxy(t *testing.T, s *server, url string) *client.Client {
	t.Helper()
	key, err := s.client.CreateKey(t.Context(), client.KeyInput{Name: "through the proxy"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{URL: url, Key: key.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	awaitReady(t, c)
	return c
}

// awaitReady waits until a client's server is ready.
func awaitReady(t *testing.T, c *client.Client) {
	t.Helper()
	deadline, tick := time.After(startDeadline), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for c.Ready(t.Context()) != nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is not ready", c.URL())
		}
	}
}

// oneWord is a turn that says one word, and nothing more while any test runs.
const oneWord = `[[{"text":"word"},{"wait_ms":600000}]]`

// TestProxyStreams is failure 26 with the proxies of deploy/: a word with nothing after it
// reaches its reader, through a streamed post and through a stream of events. A proxy that
// waits to fill a buffer fails.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	for name, proxy := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir())
			upstream := strings.TrimPrefix(s.url, "http://")
			// The other two do not run: a proxy must skip them.
			through := throughProxy(t, s, startProxy(t, proxy, [3]string{upstream, "127.0.0.1:1", "127.0.0.1:2"}))
			session := newSession(t, through, "sim/script")
			ctx, cancel := context.WithTimeout(t.Context(), wordDeadline)
			defer cancel()
			hears(t, through.PostMessageStream(ctx, session.ID, client.UserMessage(oneWord)), "word")
			hears(t, through.WatchSession(ctx, session.ID, client.WatchSessionQuery{}), "word")
			if _, err := through.CancelTurn(t.Context(), session.ID, client.CancelInput{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// hears reads a stream until its deltas add up to a text.
func hears(t *testing.T, frames iter.Seq2[client.Frame, error], want string) {
	t.Helper()
	heard := ""
	for frame, err := range frames {
		if err != nil {
			t.Fatalf("of %q only %q came: %v", want, heard, err)
		}
		if frame.Type != parley.EventStepGenerating {
			continue
		}
		delta := frame.Event.(*event.StepGenerating)
		if heard = heard[:delta.Offset] + delta.Delta; heard == want {
			return
		}
	}
	t.Fatalf("the stream ended at %q", heard)
}

// Ports of servers whose address must be known in advance are below the range that the
// system assigns, where a server of another test could take them.
const firstPort, lastPort = 20000, 32000

var nextPort atomic.Int64

// freePort is a loopback port on which nobody listens, and no other test will.
func freePort(t *testing.T) string {
	t.Helper()
	nextPort.CompareAndSwap(0, firstPort+int64(os.Getpid())%(lastPort-firstPort)) // other runs begin at another port
	for range lastPort - firstPort {
		port := firstPort + (nextPort.Add(1)-firstPort)%(lastPort-firstPort)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			listener.Close()
			return strconv.FormatInt(port, 10)
		}
	}
	t.Fatal("no port is free")
	return ""
}
