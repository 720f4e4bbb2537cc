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

	"example.org/parley"
)

// The bounds of connections.
const (
	StrangersPerAddress = 256             // unauthenticated connections of one address
	strangerTime        = 5 * time.Second // a connection always gets this long to authenticate, on a busy machine too
	closedTold          = time.Minute     // between two log lines about closed connections
	closedAtOnce        = 16              // when the process has run out of descriptors
)

// ConnectionLimits bound a server's connections.
type ConnectionLimits struct {
	// Most is how many may be open at once; beyond that, the least useful one is closed for the next. Some are
	// reserved for strangers, and streams get a share. 0: no bound.
	Most int
	// PerAddress is how many strangers one address may have; 0: StrangersPerAddress.
	PerAddress int
	// Proxies are networks whose addresses stand for many.
	Proxies []netip.Prefix
	Log     *slog.Logger // nil: slog.Default()
}

// guest is a connection of a server. It is a stranger until one of its requests has been let in.
type guest struct {
	conn   net.Conn
	from   netip.Prefix
	since  time.Time     // accepted; of a known guest: last used
	place  *list.Element // in strangers of its address, in idle, or in its holder's line
	known  bool
	busy   bool    // known, and in the middle of a request
	holder *holder // sent the last request that was let in; nil for a stranger
	stream bool    // counts as a stream of its holder
	of     *connections
	closed bool
}

// connections is a listener that keeps its connections within bounds, so that idle holders cannot shut others out. It
// closes strangers first, beginning with the oldest of the address that has the most; then idle connections; then one
// of the principal that uses the most.
type connections struct {
	net.Listener

	limits ConnectionLimits
	grace  time.Duration
	now    func() time.Time

	mu         sync.Mutex // guards the rest
	guests     map[net.Conn]*guest
	strangers  map[netip.Prefix]*list.List // oldest first
	known      int                         // guests that are not strangers
	idle       list.List                   // known ones between requests, longest first
	holders    map[parley.ID]*holder       // of busy guests, by principal
	workspaces map[parley.ID]*uses
	shut       int // closed since told
	toldAt     time.Time
}

// guestKey is where a request's context holds its connection's guest.
type guestKey struct{}

// Bounded keeps the connections that a server accepts from a listener within limits. It extends the server's ConnState
// and ConnContext.
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
		holders: map[parley.ID]*holder{}, workspaces: map[parley.ID]*uses{},
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
		c.admit(conn)
		return conn, nil
	}
}

// admit accepts a connection and closes another one if there are too many.
func (c *connections) admit(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limits.Most > 0 && len(c.guests) >= c.limits.Most && !c.closeStranger() && !c.closeIdle() {
		c.closeUsed()
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
			c.strangers[g.from] = line // its last one may just have left
		}
	}
	g.place = line.PushBack(g)
	c.guests[conn] = g
}

// makeRoom closes a few connections when the process has run out of descriptors: of those in use only one, and only if
// there are no others.
func (c *connections) makeRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := false
	for range closedAtOnce {
		if !c.closeStranger() && !c.closeIdle() {
			break
		}
		made = true
	}
	return made || c.closeUsed()
}

// closeStranger closes the oldest stranger of the address that has the most of them.
func (c *connections) closeStranger() bool {
	var most *list.List
	for _, line := range c.strangers {
		if most == nil || line.Len() > most.Len() {
			most = line
		}
	}
	if most == nil {
		return false
	}
	c.close(guestAt(most.Front()))
	return true
}

// closeIdle closes the known connection that has idled longest.
func (c *connections) closeIdle() bool {
	if c.idle.Len() == 0 {
		return false
	}
	c.close(guestAt(c.idle.Front()))
	return true
}

// close ends a guest's connection; its server notices.
func (c *connections) close(g *guest) {
	c.leave(g)
	_ = g.conn.Close() // nobody needs the error
	c.tell()
}

// tell logs now and then how many connections were closed.
func (c *connections) tell() {
	c.shut++
	if now := c.now(); now.Sub(c.toldAt) >= closedTold {
		c.limits.Log.LogAttrs(
			context.Background(),
			slog.LevelWarn,
			"too many connections: the least useful were closed",
			slog.Int("closed", c.shut),
			slog.Int("open", len(c.guests)),
			slog.Int("most", c.limits.Most),
			slog.Int("strangers_per_address", c.limits.PerAddress),
		)
		c.shut, c.toldAt = 0, now
	}
}

// leave forgets a guest.
func (c *connections) leave(g *guest) {
	c.stand(g)
	if g.known {
		c.known--
	}
	delete(c.guests, g.conn)
	g.closed = true
}

// stand takes a guest out of its line.
func (c *connections) stand(g *guest) {
	switch {
	case g.place == nil:
	case g.busy:
		c.rest(g)
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
	case state == http.StateClosed: // one that was taken is in use until its taker is done
		c.leave(g)
	case state == http.StateActive && g.known && !g.busy:
		c.stand(g)
		c.use(g, g.holder.principal, g.holder.workspace) // until the request's sender is known
	case state == http.StateIdle && g.busy:
		c.stand(g)
		g.place = c.idle.PushBack(g)
	}
}

func (c *connections) guest(conn net.Conn) *guest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guests[conn]
}

func (c *connections) proxy(from netip.Prefix) bool {
	for _, network := range c.limits.Proxies {
		if network.Contains(from.Addr()) {
			return true
		}
	}
	return false
}

func guestAt(
	place *list.Element,
) *guest {
	return place.Value.(*guest)
} //nolint:forcetypeassert // the lists hold nothing else

// addressBits of an IPv6 address stand for one sender: its holder controls the whole network.
const addressBits = 64

// network identifies a sender: an IPv4 address, or the /64 of an IPv6 one.
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
	prefix, _ := address.Prefix(bits) // the zero prefix for the zero address
	return prefix
}
