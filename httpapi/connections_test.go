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
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/peer"
	"example.org/parley/observe"
)

// guarded is a server with limits whose requests are let in at /known, and stay until
// they are released at /busy, and at /stream as streams. The query names their principal
// and its workspace.
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
	mux.HandleFunc("/known", func(_ http.ResponseWriter, r *http.Request) { letIn(r.Context(), whoAsks(r)) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, r *http.Request) {
		letIn(r.Context(), whoAsks(r))
		g.stay(w, r)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		letIn(r.Context(), whoAsks(r))
		end, err := beginStream(r.Context())
		if err != nil {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		defer end()
		g.stay(w, r)
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

// stay begins an answer and does not end it.
func (g *guarded) stay(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	select {
	case <-g.release:
	case <-r.Context().Done():
	}
}

// whoAsks is the principal that the query names by one letter for its workspace and
// one for itself.
func whoAsks(r *http.Request) *parley.Principal {
	named := []byte(r.URL.RawQuery + "--")
	return &parley.Principal{ID: parley.ID{1, named[0], named[1]}, WorkspaceID: parley.ID{2, named[0]}}
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
	if path == "/open" || strings.HasPrefix(path, "/known") {
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
	g := startGuarded(
		t,
		ConnectionLimits{PerAddress: 1, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/24")}},
		0,
	)
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

// At the limit strangers go first, of the address that has the most; then who idles.
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
	ended(t, idle)
	g.counts(3, 0)
}

// counts waits until so many known connections and strangers are remembered, and
// checks what is remembered of them.
func (g *guarded) counts(known, strangers int) {
	g.Helper()
	var were [2]int
	for until := time.Now().Add(patience); time.Now().Before(until); runtime.Gosched() {
		g.at.mu.Lock()
		were = [2]int{g.at.known, len(g.at.guests) - g.at.known}
		g.at.mu.Unlock()
		if were == [2]int{known, strangers} {
			break
		}
	}
	g.at.mu.Lock()
	defer g.at.mu.Unlock()
	busy, inWorkspaces := g.at.idle.Len(), g.at.idle.Len()
	for _, h := range g.at.holders {
		busy += h.line.Len()
	}
	for _, in := range g.at.workspaces {
		inWorkspaces += in.busy
	}
	if were != [2]int{known, strangers} || busy != known || inWorkspaces != known {
		g.Errorf("%d known connections (%d by principal, %d by workspace) and %d strangers, want %d and %d",
			were[0], busy, inWorkspaces, were[1], known, strangers)
	}
}

// When all are in use the one that goes is of the principal that has the most, its
// oldest; the newcomer gets in, and so does one that nobody was let in by.
func TestWhoUsesTheMostMakesRoom(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{Most: 8, PerAddress: 100}, time.Hour) // 7 of them known
	var greedy []net.Conn
	for range 6 {
		conn := g.connect("127.0.0.1")
		if err := g.ask(conn, "/busy?am"); err != nil {
			t.Fatal(err)
		}
		greedy = append(greedy, conn)
	}
	for _, newcomer := range []string{"/busy?bm", "/open", "/busy?bo", "/open"} {
		if err := g.ask(g.connect("127.0.0.1"), newcomer); err != nil {
			t.Fatalf("%s: %v", newcomer, err)
		}
	}
	ended(t, greedy[0])
	if err := g.ask(g.connect("127.0.0.1"), "/busy?am"); err != nil { // who has the most makes room for itself
		t.Fatal(err)
	}
	ended(t, greedy[1])
	g.counts(7, 0)
}

// Of two principals with as many the one goes whose workspace has more.
func TestOfEqualsTheLargerWorkspaceMakesRoom(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{Most: 6, PerAddress: 100}, time.Hour) // 5 of them known
	var all []net.Conn
	for _, who := range []string{"am", "bm", "bn", "bo", "cm", "cn"} {
		conn := g.connect("127.0.0.1")
		if err := g.ask(conn, "/busy?"+who); err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	ended(t, all[1])
	g.counts(5, 0)
}

func TestStreamsOfAPrincipalAndAWorkspaceAreBounded(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{Most: 16, PerAddress: 100}, time.Hour)
	refused := func(who string) {
		t.Helper()
		if err := g.ask(g.connect("127.0.0.1"), "/stream?"+who); err == nil || err.Error() != "status 429" {
			t.Errorf("a stream too many of %s: %v", who, err)
		}
	}
	streams := map[string][]net.Conn{}
	open := func(who string) {
		t.Helper()
		conn := g.connect("127.0.0.1")
		if err := g.ask(conn, "/stream?"+who); err != nil {
			t.Fatalf("a stream of %s: %v", who, err)
		}
		streams[who] = append(streams[who], conn)
	}
	for _, who := range []string{"am", "an"} {
		for range 4 {
			open(who)
		}
		refused(who)
	}
	open("ao") // a workspace that is alone may have more than half
	open("bm")
	refused("ap")
	if err := streams["am"][0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := streams["ao"][0].Close(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(patience); g.streamsOf("am") != 3 || g.streamsOf("ao") != 0; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatal("the streams that ended are still counted")
		}
	}
	open("am") // its place was given back
	refused("ao")
}

func (g *guarded) streamsOf(who string) int {
	g.at.mu.Lock()
	defer g.at.mu.Unlock()
	if h := g.at.holders[parley.ID{1, who[0], who[1]}]; h != nil {
		return h.streams
	}
	return 0
}

// boundedTo has a server of its own, with limits, answer from here on.
func (s *testServer) boundedTo(limits ConnectionLimits) {
	s.Helper()
	limits.Log = slog.New(slog.DiscardHandler)
	server := NewServer(s.api, limits.Log)
	server.ConnContext = peer.ConnContext
	listener, err := new(net.ListenConfig).Listen(s.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(Bounded(server, listener, limits)) }() // ended by Close below
	s.url = "http://" + listener.Addr().String()
	s.Cleanup(func() {
		if err := server.Close(); err != nil {
			s.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			s.Error(err)
		}
	})
}

// Whoever has as many streams as it may is told so with 429, of each route, before
// anything is done; a request without a stream is answered, and so is another's stream.
func TestAStreamTooManyIsRefusedBeforeItBegins(t *testing.T) {
	t.Parallel()
	limited := make(chan observe.RateScope, 10) // more than there are refusals
	s := startServer(t, func(o *Options) { o.Limited = func(scope observe.RateScope) { limited <- scope } })
	s.boundedTo(ConnectionLimits{Most: 7}) // one stream each
	session := s.session(`{}`).ID.String()
	colleague := s.key("default", "colleague", parley.RoleMember)
	own := []string{"Authorization", "Bearer " + testToken}
	s.stream("GET", "/v1/events", "", own...)
	for _, at := range [][3]string{
		{"GET", "/v1/events", ""},
		{"GET", "/v1/sessions/" + session + "/events", ""},
		{"POST", "/v1/sessions/" + session + "/messages", `{"content":{"text":"Hello"}}`},
	} {
		got := s.do(at[0], at[1], at[2], append(own, "Accept", "text/event-stream")...)
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); got.status != 429 || err != nil || wait < 2 ||
			!strings.HasPrefix(got.problem(t).Detail, "You have as many streams open") {
			t.Errorf(
				"%s %s: status %d, Retry-After %q: %s",
				at[0],
				at[1],
				got.status,
				got.header.Get("Retry-After"),
				got.body,
			)
		}
		if len(limited) != 1 || <-limited != observe.RateOfStreams {
			t.Errorf("%s %s is not counted as a stream", at[0], at[1])
		}
	}
	if messages := want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/sessions/"+session+"/messages",
		"",
		own...); len(
		messages.Data,
	) != 0 {
		t.Errorf("%d messages were posted", len(messages.Data))
	}
	s.stream("GET", "/v1/events", "", "Authorization", colleague)
}

// A connection that a proxy uses for one after the other is whoever's it serves.
func TestAConnectionIsItsRequestsPrincipals(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, ConnectionLimits{Most: 4, PerAddress: 100}, time.Hour) // one stream each
	conn := g.connect("127.0.0.1")
	if err := errors.Join(
		g.ask(conn, "/known?am"),
		g.ask(conn, "/known?bm"),
		g.ask(conn, "/stream?bm"),
		g.ask(g.connect("127.0.0.1"), "/stream?am"),
	); err != nil {
		t.Fatal(err)
	}
	if a, b := g.streamsOf("am"), g.streamsOf("bm"); a != 1 || b != 1 {
		t.Errorf("%d and %d streams", a, b)
	}
	g.counts(2, 0)
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
	bounded := Bounded(
		NewServer(http.NotFoundHandler(), nil),
		short,
		ConnectionLimits{Log: slog.New(slog.DiscardHandler)},
	)
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
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"fe80::1%eth0": "fe80::/64",
	} {
		if got := networkOf(netip.MustParseAddr(address)); got.String() != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := network(&net.UnixAddr{Name: "x"}); got.IsValid() {
		t.Errorf("a socket without an address is %s", got)
	}
}
