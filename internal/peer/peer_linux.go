package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The bounds of a look-up.
const (
	answerTime   = 1 // second to wait for the kernel's answer, which is immediate
	answerBytes  = 4 << 10
	mostMessages = 8 // messages read to find the answer
)

const (
	overflowFile    = "/proc/sys/kernel/overflowuid"
	usualOverflow   = 65534
	userMapFile     = "/proc/self/uid_map"
	wholeMapOfUsers = "0 0 4294967295" // the map of the machine's own user namespace
)

// sequence numbers the requests of this process.
//
//nolint:gochecknoglobals // it only distinguishes answers
var sequence atomic.Uint32

// own compares a connection's owner with this process's user.
func own(conn net.Conn) error {
	uid, err := owner(conn)
	if err != nil {
		return err
	}
	return is(uid, uint32(os.Geteuid())) //nolint:gosec // a user's number
}

// is compares a user that the kernel told of with the one that is wanted, or root.
func is(uid, wanted uint32) error {
	switch {
	case uid == wanted && (uid != overflow() || knowsEveryUser()):
		return nil
	case uid == 0 && overflow() != 0:
		return nil
	}
	return ErrNobody
}

// How long a connection may wait to be accepted, and between two look-ups.
const (
	acceptTime  = 5 * time.Second
	acceptPause = 5 * time.Millisecond
)

// acceptedBy asks for the socket at the other end until somebody has accepted it: before,
// it is nobody's.
func acceptedBy(ctx context.Context, conn net.Conn, uid uint32) error {
	p, ok := otherEnd(conn)
	if !ok || !p.loops() && p.local.Addr() != p.remote.Addr() {
		return ErrNobody
	}
	ctx, stop := context.WithTimeout(ctx, acceptTime)
	defer stop()
	again := time.NewTicker(acceptPause)
	defer again.Stop()
	for {
		found, err := lookUp(p)
		switch {
		case err == nil && found.pair == p && found.state == established && found.inode != 0:
			if !stillEstablished(conn) { // another may have these addresses by now
				return ErrNobody
			}
			return is(found.uid, uid)
		case err != nil && !errors.Is(err, errNoSocket):
			return errors.Join(ErrUnsupported, err)
		}
		select {
		case <-ctx.Done():
			return ErrNobody
		case <-again.C:
		}
	}
}

// owner returns the user whose program is at the other end.
func owner(conn net.Conn) (uint32, error) {
	p, ok := otherEnd(conn)
	if !ok || !p.loops() {
		return 0, ErrNobody
	}
	found, err := lookUp(p)
	switch {
	case errors.Is(err, errNoSocket):
		return 0, ErrNobody
	case err != nil:
		return 0, errors.Join(ErrUnsupported, err)
	}
	uid, err := found.owner(p)
	if err != nil {
		return 0, err
	}
	// While our socket lives nobody else can have these addresses: the socket found is its other end, and not a later
	// connection from the same port.
	if !stillEstablished(conn) {
		return 0, ErrNobody
	}
	return uid, nil
}

// lookUp asks the kernel for one socket.
func lookUp(p pair) (socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return socket{}, fmt.Errorf("peer: no netlink: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing written could be lost
	if err := unix.SetsockoptTimeval(
		fd,
		unix.SOL_SOCKET,
		unix.SO_RCVTIMEO,
		&unix.Timeval{Sec: answerTime},
	); err != nil {
		return socket{}, err
	}
	asked := sequence.Add(1)
	if err := unix.Sendto(fd, request(p, asked), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return socket{}, fmt.Errorf("peer: the kernel cannot be asked: %w", err)
	}
	raw := make([]byte, answerBytes)
	for range mostMessages {
		n, from, err := unix.Recvfrom(fd, raw, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return socket{}, fmt.Errorf("peer: the kernel does not answer: %w", err)
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); ok && kernel.Pid == 0 {
			return answered(raw[:n], asked)
		}
	}
	return socket{}, errMalformed
}

// stillEstablished reports whether our own socket of a connection is alive.
func stillEstablished(conn net.Conn) bool {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	lives := false
	err = control.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) //nolint:gosec // a descriptor
		lives = err == nil && info.State == established
	})
	return err == nil && lives
}

// overflow returns the number that stands for users without one here.
func overflow() uint32 {
	raw, err := os.ReadFile(overflowFile)
	if err != nil { // /proc/sys may be hidden from this process
		return usualOverflow
	}
	uid, err := strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 32)
	if err != nil {
		return usualOverflow
	}
	return uint32(uid)
}

// knowsEveryUser reports whether each user of the machine has a number here, so that the overflow number belongs to a
// user itself.
func knowsEveryUser() bool {
	raw, err := os.ReadFile(userMapFile)
	return err == nil && strings.Join(strings.Fields(string(raw)), " ") == wholeMapOfUsers
}
