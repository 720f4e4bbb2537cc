package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"testing"
	"time"
)

// guarded is a server with limits whose requests are let in at /known, and stay until
// they are released at /busy.
type guarded struct {
	*testing.T
	address string
	at      *connections
	release chan struct{}
}

func startGuarded(t *testing.T, limits ConnectionLimits, grace time.Duration) *guarded {
	t.Helper()
	g := &guarded{T: t, release: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/known", func(_ http.ResponseWriter, r *http.Request) { letIn(r.Context()) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
		letIn(r.Context())
		_ = http.NewResponseController(w).Flush()
		<-g.release
	})
	limits.Log = slog.New(slog.DiscardHandler)
	server := NewServer(mux, nil)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.address = listener.Addr().String()
	bounded := Bounded(server, listener, limits)
	g.at = bounded.(*connections)
	g.at.grace = grace
	served := make(chan error, 1)
	go func() { served <- server.Serve(bounded) }() // ended by Close below
	t.Cleanup(func() {
		close(g.release)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return g
}

// connect dials from an address of this machine.
func (g *guarded) connect(from string) net.Conn {
	g.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	conn, err := dialer.DialContext(g.Context(), "tcp", g.address)
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		g.Fatal(err)
	}
	return conn
}

// ask sends a request and reads the head of its answer.
func (g *guarded) ask(conn net.Conn, path string) error {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	if path != "/busy" {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

// ended waits until the server has closed a connection.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Errorf("the connection still stands: %v", err)
	}
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func TestSilentConnectionsOfAnAddressAreBounded(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{PerAddress: 3}, 0)
	other := g.connect("127.0.0.2")
	var silent []net.Conn
	for range 5 {
		silent = append(silent, g.connect("127.0.0.1"))
	}
	ended(t, silent[0])
	ended(t, silent[1])
	for i, conn := range append(silent[2:], other) {
		if err := g.ask(conn, "/known"); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for range 6 { // who was let in does not count, and is not closed for those who were not
		g.connect("127.0.0.1")
	}
	for i, conn := range append(silent[2:], other) {
		if err := g.ask(conn, "/known"); err != nil {
			t.Errorf("known connection %d: %v", i, err)
		}
	}
}

// What anybody may ask does not make a connection known.
func TestOpenRoutesLeaveAConnectionAStranger(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{PerAddress: 1}, 0)
	first := g.connect("127.0.0.1")
	if err := g.ask(first, "/open"); err != nil {
		t.Fatal(err)
	}
	g.connect("127.0.0.1")
	ended(t, first)
}

func TestAConnectionHasTimeToSayWhoItIs(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{PerAddress: 2}, time.Hour)
	var all []net.Conn
	for range 8 {
		all = append(all, g.connect("127.0.0.1"))
	}
	for i, conn := range all {
		if err := g.ask(conn, "/known"); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

func TestAProxysAddressStandsForMany(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{PerAddress: 1, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/24")}}, 0)
	var all []net.Conn
	for range 4 {
		all = append(all, g.connect("127.0.0.1"))
	}
	for i, conn := range all {
		if err := g.ask(conn, "/open"); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// At the limit strangers go first, of the address that has the most; then who idles;
// who is in the middle of something stays, and then newcomers are turned away.
func TestTheLeastUsefulConnectionMakesRoom(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{Most: 4, PerAddress: 100}, time.Hour)
	busy, idle := g.connect("127.0.0.2"), g.connect("127.0.0.2")
	if err := errors.Join(g.ask(busy, "/busy"), g.ask(idle, "/known")); err != nil {
		t.Fatal(err)
	}
	first, second := g.connect("127.0.0.1"), g.connect("127.0.0.1")
	third := g.connect("127.0.0.3")
	ended(t, first)
	if err := errors.Join(g.ask(second, "/busy"), g.ask(third, "/busy")); err != nil {
		t.Fatal(err)
	}
	fourth := g.connect("127.0.0.3")
	if err := g.ask(fourth, "/busy"); err != nil {
		t.Fatal(err)
	}
	ended(t, idle)
	ended(t, g.connect("127.0.0.1"))
	g.at.mu.Lock()
	defer g.at.mu.Unlock()
	if len(g.at.guests) > 4 || len(g.at.strangers) != 0 {
		t.Errorf("%d connections and %d addresses of strangers are remembered", len(g.at.guests), len(g.at.strangers))
	}
}

// starved is a listener that has no descriptor for the first connection.
type starved struct {
	net.Listener
	errors []error
}

func (s *starved) Accept() (net.Conn, error) {
	if len(s.errors) > 0 {
		err := s.errors[0]
		s.errors = s.errors[1:]
		return nil, &net.OpError{Op: "accept", Err: err}
	}
	return s.Listener.Accept()
}

func TestWithoutDescriptorsRoomIsMade(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	short := &starved{Listener: listener}
	bounded := Bounded(NewServer(http.NotFoundHandler(), nil), short, ConnectionLimits{Log: slog.New(slog.DiscardHandler)})
	dial := func() net.Conn {
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	silent := dial()
	if _, err := bounded.Accept(); err != nil {
		t.Fatal(err)
	}
	short.errors = []error{syscall.EMFILE}
	dial()
	accepted, err := bounded.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ended(t, silent)
	_ = accepted.Close()
	short.errors = []error{syscall.EMFILE, syscall.EINVAL}
	if _, err := bounded.Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("after the last room was made: %v", err)
	}
}

func TestSendersAreTheirNetworks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := networkOf(netip.MustParseAddr(address)); got.String() != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := network(&net.UnixAddr{Name: "x"}); got.IsValid() {
		t.Errorf("a socket without an address is %s", got)
	}
}
