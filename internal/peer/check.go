package peer

import (
	"context"
	"errors"
	"net"
	"time"
)

// checkTime bounds Check.
const checkTime = 2 * time.Second

// Check reports whether this kernel tells who owns a connection, by looking up one of this process's own. It returns
// nil, or ErrUnsupported with the obstacle.
func Check(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(ErrUnsupported, err)
	}
	defer func() { _ = listener.Close() }() // its error does not matter
	client, err := new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return errors.Join(ErrUnsupported, err)
	}
	defer func() { _ = client.Close() }()
	if until, ok := ctx.Deadline(); ok {
		_ = listener.(*net.TCPListener).SetDeadline(until) //nolint:forcetypeassert // Listen returned one
	}
	for { // until our own was accepted: anybody may connect
		accepted, err := listener.Accept()
		if err != nil {
			return errors.Join(ErrUnsupported, err)
		}
		ours := accepted.RemoteAddr().String() == client.LocalAddr().String()
		if ours {
			err = own(accepted)
		}
		_ = accepted.Close()
		if ours && err != nil {
			return errors.Join(ErrUnsupported, err)
		}
		if ours {
			return nil
		}
	}
}
