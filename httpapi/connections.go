package httpapi

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// The bounds of connections.
const (
	StrangersPerAddress = 256             // unauthenticated connections of one address
	strangerTime        = 5 * time.Second // the least that a connection gets to authenticate, on a busy machine too
	closedTold          = time.Minute     // between two lines of the log about closed connections
	closedAtOnce        = 16              // when there are no descriptors left
)

// ConnectionLimits bound a server's connections.
type ConnectionLimits struct {
	// Most is how many there are at once; beyond it one that is of the least use is
	// closed for the next. 0: no bound.
	Most int
	// PerAddress is how many strangers there are of one address; 0: StrangersPerAddress.
	PerAddress int
	// Proxies are networks whose addresses stand for many.
	Proxies []netip.Prefix
	Log     *slog.Logger // nil: slog.Default()
}

// guest is a connection of a server. It is a stranger until a request of it was let in.
type guest struct {
	conn   net.Conn
	from   netip.Prefix
	since  time.Time
	place  *list.Element // in strangers of its address, or in idle; nil while it is in use
	known  bool
	of     *connections
	closed bool
}

// connections is a listener that keeps its connections within bounds, so that idle
// holders cannot shut others out. A stranger is closed before anybody who was let in,
// and the oldest of the address that has the most before others.
type connections struct {
	net.Listener

	limits ConnectionLimits
	grace  time.Duration
	now    func() time.Time

	mu        sync.Mutex // guards the rest
	guests    map[net.Conn]*guest
	strangers map[netip.Prefix]*list.List // oldest first
	idle      list.List                   // known ones between requests, longest first
	shut      int                         // closed since told
	toldAt    time.Time
}

// guestKey is where a request's context holds its connection's guest.
type guestKey struct{}

// Bounded keeps the connections that a server takes from a listener within limits. It
// adds to the server's ConnState and ConnContext.
func Bounded(server *http.Server, listener net.Listener, limits ConnectionLimits) net.Listener {
	if limits.PerAddress == 0 {
		limits.PerAddress = StrangersPerAddress
	}
	if limits.Log == nil {
		limits.Log = slog.Default()
	}
	c := &connections{
		Listener: listener, limits: limits, grace: strangerTime, now: time.Now,
		guests: map[net.Conn]*guest{}, strangers: map[netip.Prefix]*list.List{},
	}
	state, inner := server.ConnState, server.ConnContext
	server.ConnState = func(conn net.Conn, is http.ConnState) {
		c.changed(conn, is)
		if state != nil {
			state(conn, is)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if inner != nil {
			ctx = inner(ctx, conn)
		}
		return context.WithValue(ctx, guestKey{}, c.guest(conn))
	}
	return c
}

// Accept implements net.Listener. Without descriptors it makes room by itself.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			if (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) && c.makeRoom() {
				continue
			}
			return nil, err // net/http tries again after a pause
		}
		if c.admit(conn) {
			return conn, nil
		}
		_ = conn.Close() // it has sent nothing yet
	}
}

// admit takes a connection in, closing another one where there are too many; false
// when all others are in use.
func (c *connections) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limits.Most > 0 && len(c.guests) >= c.limits.Most && !c.closeLeast() {
		c.tell()
		return false
	}
	g := &guest{conn: conn, from: network(conn.RemoteAddr()), since: c.now(), of: c}
	line := c.strangers[g.from]
	if line == nil {
		line = list.New()
		c.strangers[g.from] = line
	}
	if line.Len() >= c.limits.PerAddress && !c.proxy(g.from) {
		if oldest := guestAt(line.Front()); c.now().Sub(oldest.since) >= c.grace {
			c.close(oldest)
			c.strangers[g.from] = line // which may have been its last
		}
	}
	g.place = line.PushBack(g)
	c.guests[conn] = g
	return true
}

// makeRoom closes a few connections when there are no descriptors left.
func (c *connections) makeRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := false
	for range closedAtOnce {
		if !c.closeLeast() {
			break
		}
		made = true
	}
	return made
}

// closeLeast closes the connection that is of the least use: the oldest stranger of
// the address that has the most of them, else the one that has idled longest.
func (c *connections) closeLeast() bool {
	var most *list.List
	for _, line := range c.strangers {
		if most == nil || line.Len() > most.Len() {
			most = line
		}
	}
	switch {
	case most != nil && most.Len() > 0:
		c.close(guestAt(most.Front()))
	case c.idle.Len() > 0:
		c.close(guestAt(c.idle.Front()))
	default:
		return false
	}
	return true
}

// close ends a guest's connection; its server notices.
func (c *connections) close(g *guest) {
	c.leave(g)
	_ = g.conn.Close() // nobody waits for what it says
	c.tell()
}

// tell says now and then how many connections were closed.
func (c *connections) tell() {
	c.shut++
	if now := c.now(); now.Sub(c.toldAt) >= closedTold {
		c.limits.Log.LogAttrs(context.Background(), slog.LevelWarn, "too many connections: some that were of no use were closed",
			slog.Int("closed", c.shut), slog.Int("open", len(c.guests)), slog.Int("most", c.limits.Most),
			slog.Int("strangers_per_address", c.limits.PerAddress))
		c.shut, c.toldAt = 0, now
	}
}

// leave forgets a guest.
func (c *connections) leave(g *guest) {
	c.stand(g)
	delete(c.guests, g.conn)
	g.closed = true
}

// stand takes a guest out of the line that it stands in.
func (c *connections) stand(g *guest) {
	switch {
	case g.place == nil:
	case g.known:
		c.idle.Remove(g.place)
	default:
		line := c.strangers[g.from]
		line.Remove(g.place)
		if line.Len() == 0 {
			delete(c.strangers, g.from)
		}
	}
	g.place = nil
}

// changed follows the server's connections.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guests[conn]
	switch {
	case g == nil:
	case state == http.StateClosed || state == http.StateHijacked:
		c.leave(g)
	case state == http.StateActive && g.known:
		c.stand(g)
	case state == http.StateIdle && g.known && g.place == nil:
		g.place = c.idle.PushBack(g)
	}
}

func (c *connections) guest(conn net.Conn) *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guests[conn]
}

// letIn notes that a request of the connection was let in.
func letIn(ctx context.Context) {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok || g == nil {
		return
	}
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if !g.known && !g.closed {
		g.of.stand(g)
		g.known = true
	}
}

func (c *connections) proxy(from netip.Prefix) bool {
	for _, network := range c.limits.Proxies {
		if network.Contains(from.Addr()) {
			return true
		}
	}
	return false
}

func guestAt(place *list.Element) *guest { return place.Value.(*guest) } //nolint:forcetypeassert // the lists hold nothing else

// addressBits of an IPv6 address stand for one sender: its holder controls the whole network.
const addressBits = 64

// network is what stands for a sender: an IPv4 address, or the /64 of an IPv6 one.
func network(address net.Addr) netip.Prefix {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return networkOf(tcp.AddrPort().Addr())
}

func networkOf(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = addressBits
	}
	prefix, _ := address.Prefix(bits) // the zero prefix for an address that is none
	return prefix
}
