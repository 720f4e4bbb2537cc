// Package peer asks the kernel which user's program is at the other end of a connection within this
// machine. The kernel is authoritative: nothing that the program sends counts.
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

// The reasons why the other end stays unknown.
var (
	// ErrUnsupported says that this kernel does not tell who owns a connection.
	ErrUnsupported = errors.New("peer: this kernel does not tell who owns a connection")
	// ErrNobody says that the other end is not a live socket of a user known here.
	ErrNobody = errors.New("peer: the other end is not a live socket of a known user")
)

// pair is a TCP connection as one of its sockets sees it.
type pair struct{ local, remote netip.AddrPort }

// otherEnd returns the connection as the client's socket sees it.
func otherEnd(conn net.Conn) (pair, bool) {
	ours, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return pair{}, false
	}
	theirs, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return pair{}, false
	}
	return pair{local: plain(theirs.AddrPort()), remote: plain(ours.AddrPort())}, true
}

// loops reports whether both ends are loopback addresses.
func (p pair) loops() bool { return p.local.Addr().IsLoopback() && p.remote.Addr().IsLoopback() }

// plain returns an address without the IPv6 form of an IPv4 address.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// AcceptedBy reports whether a connection that this process made within this machine was
// accepted by a program of a user, or of root: nil, ErrNobody for anybody else's and for
// other machines', ErrUnsupported where the kernel does not tell. It waits until the
// connection is accepted, within a bound.
func AcceptedBy(ctx context.Context, conn net.Conn, uid uint32) error {
	return acceptedBy(ctx, conn, uid)
}

// connection is what is remembered of an accepted connection.
type connection struct {
	conn net.Conn
	ask  sync.Once
	err  error // of the only look-up
}

// contextKey is the key of a connection in a request's context.
type contextKey struct{}

// ConnContext is for http.Server: it lets Own find a request's connection.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, contextKey{}, &connection{conn: conn})
}

// Own checks that a request comes from a program of this process's own user, or of root: it returns nil, ErrNobody for
// anybody else, and ErrUnsupported if the kernel does not tell. It asks the kernel once per connection, at the first
// call; the answer holds for the connection's life.
func Own(ctx context.Context) error {
	c, ok := ctx.Value(contextKey{}).(*connection)
	if !ok {
		return ErrNobody
	}
	c.ask.Do(func() { c.err = own(c.conn) })
	return c.err
}
