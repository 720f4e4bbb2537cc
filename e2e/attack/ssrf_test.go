package attack

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// inside lists ways to write an address that no tool may reach: private, loopback,
// link-local, shared, translated and tunnelled ones, and forms that only some parsers read
// as an address. %d is the port of a listener on all addresses of this machine.
var inside = []string{
	"127.0.0.1",
	"127.1.2.3",
	"127.1",
	"0",
	"0.0.0.0",
	"0x7f000001",
	"0x7f.0.0.1",
	"2130706433",
	"0177.0.0.1",
	"127.0.0.1.",
	"localhost",
	"LOCALHOST.",
	"[::1]",
	"[::]",
	"[0:0:0:0:0:0:0:1]",
	"[::ffff:127.0.0.1]",
	"[::ffff:7f00:1]",
	"[::127.0.0.1]",
	"[::ffff:0:127.0.0.1]",
	"[64:ff9b::7f00:1]",
	"[64:ff9b:1::7f00:1]",
	"[2002:7f00:1::]",
	"[2001:0:7f00:1::]",
	"[2001:0:0:0:0:0:80ff:fffe]",
	"[fe80::5efe:7f00:1]",
	"[2a00:1450::5efe:7f00:1]",
	"10.0.0.1",
	"172.16.0.1",
	"172.31.255.254",
	"192.168.0.1",
	"169.254.169.254",
	"100.64.0.1",
	"100.100.100.200",
	"198.18.0.1",
	"192.0.0.170",
	"224.0.0.1",
	"255.255.255.255",
	"[fe80::1]",
	"[fe80::1%25lo]",
	"[fc00::1]",
	"[fd00:ec2::254]",
	"[fec0::1]",
	"[ff02::1]",
	"[::ffff:169.254.169.254]",
	"[::ffff:a9fe:a9fe]",
}

// No HTTP tool and no tool server reaches this machine or its networks, however the address
// is written. Redirects use the same dialer: internal/netguard's tests follow one to each of
// these.
func TestNoWayInside(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	var reached atomic.Int64
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			_ = connection.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	var tools, servers []map[string]any
	var calls, names []string
	for i, host := range inside {
		to := fmt.Sprintf("http://%s:%d/latest/meta-data", host, port)
		if _, err := url.Parse(to); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("inside_%d", i)
		tools = append(tools, map[string]any{"name": name, "description": host, "url": to, "timeout": "3s"})
		servers = append(
			servers,
			map[string]any{"name": fmt.Sprintf("server-%d", i), "url": to, "connect_timeout": "3s"},
		)
		calls = append(calls, fmt.Sprintf(`{"tool_call":{"name":%q,"arguments":{}}}`, name))
		names = append(names, fmt.Sprintf("%q", name))
	}
	s := serve(t, "", map[string]any{"http_tools": tools, "mcp": servers})
	key := s.key("one", "owner", "member")
	session := s.send(
		key,
		"sim/script",
		"["+strings.Join(names, ",")+"]",
		"[["+strings.Join(calls, ",")+`],[{"text":"over"}]]`,
	)
	s.outcome(key, session, "the tools")
	got := s.ask(key, "GET", "/v1/sessions/"+session+"/messages?role=tool_result&limit=200", "")
	if failed := strings.Count(
		got.body,
		`"success":false`,
	); failed != len(inside) ||
		strings.Contains(got.body, `"success":true`) {
		t.Errorf("%d of %d addresses were refused: %.2000s", failed, len(inside), got.body)
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d connections reached this machine", n)
	}
	s.survived(key)
}
