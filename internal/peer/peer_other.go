//go:build !linux

package peer

import "net"

func own(net.Conn) error { return ErrUnsupported }
