//go:build !linux

package peer

import (
	"context"
	"net"
)

func own(net.Conn) error { return ErrUnsupported }

func acceptedBy(context.Context, net.Conn, uint32) error { return ErrUnsupported }
