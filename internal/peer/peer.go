// Package peer asks the kernel which user's program is at the other end of a loopback connection.
// The kernel is authoritative: nothing that the program sends counts.
//
// On Linux it looks up the client's socket by the connection's exact addresses (sock_diag). On
// other systems, and if the kernel refuses, every caller is unknown.
package peer

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
)

// The reasons for which the other end stays unknown.
var (
	// ErrUnsupported says that this kernel does not tell whose a connection is.
	ErrUnsupported = errors.New("peer: this kernel does not tell whose a connection is")
	// ErrNobody says that no live socket of a user that is known here is at the other end.
	ErrNobody = errors.New("peer: the other end is not a live socket of a known user")
)

// pair is a TCP connection as one of its sockets sees it.
type pair struct{ local, remote netip.AddrPort }

// otherEnd is the connection as the client's socket sees it.
func otherEnd(conn net.Conn) (pair, bool) {
	ours, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return pair{}, false
	}
	theirs, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return pair{}, false
	}
	p := pair{local: plain(theirs.AddrPort()), remote: plain(ours.AddrPort())}
	return p, p.local.Addr().IsLoopback() && p.remote.Addr().IsLoopback()
}

// plain is an address without its IPv6 form of an IPv4 one.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// connection is what is remembered of an accepted connection.
type connection struct {
	conn net.Conn
	ask  sync.Once
	err  error // of the one look-up
}

// contextKey is where a request's context holds its connection.
type contextKey struct{}

// ConnContext is for http.Server: it lets Own find the connection of a request.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, &connection{conn: conn})
}

// Own reports whether a request comes from a program of this process's own user, or
// of root: nil, ErrNobody for anybody else, ErrUnsupported where the kernel does not
// tell. The kernel is asked once per connection, when this is first called; the
// answer holds for the connection's life.
func Own(ctx context.Context) error {
	c, ok := ctx.Value(contextKey{}).(*connection)
	if !ok {
		return ErrNobody
	}
	c.ask.Do(func() { c.err = own(c.conn) })
	return c.err
}
