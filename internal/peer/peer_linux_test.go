package peer

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 10 * time.Second
	somebody = 12345 // a user of the machine other than this one and root
)

// served is a listener with a client's connection to it.
func served(t *testing.T, network, address string, dial func(string) net.Conn) (client, accepted net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Skipf("%s is not available here: %v", address, err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	client = dial(listener.Addr().String())
	t.Cleanup(func() { _ = client.Close() })
	if accepted, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = accepted.Close() })
	return client, accepted
}

func dialer(t *testing.T) func(string) net.Conn {
	t.Helper()
	return func(address string) net.Conn {
		client, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
}

// dialAs makes the client's socket as another user: the kernel records the user of the creating thread. Only root may;
// CI runs as root.
func dialAs(t *testing.T, uid int) func(string) net.Conn {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may act as another user; CI runs this")
	}
	return func(address string) net.Conn {
		made := make(chan net.Conn, 1)
		go func() { // ends with its thread, which keeps the other user
			runtime.LockOSThread()
			_ = unix.Setfsuid(uid)
			client, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Error(err)
			}
			made <- client
		}()
		client := <-made
		if client == nil {
			t.FailNow()
		}
		return client
	}
}

func asked(conn net.Conn) error { return Own(ConnContext(context.Background(), conn)) }

func TestOwnProgramsAreKnown(t *testing.T) {
	t.Parallel()
	if err := Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		_, accepted := served(t, "tcp", address, dialer(t))
		if err := asked(accepted); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestIPv4ThroughIPv6 connects a client with an IPv6 socket to an IPv4 listener, and one with an IPv4 socket to a
// listener of both.
func TestIPv4ThroughIPv6(t *testing.T) {
	t.Parallel()
	_, accepted := served(t, "tcp4", "127.0.0.1:0", func(address string) net.Conn {
		to, err := net.ResolveTCPAddr("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Skipf("no IPv6 here: %v", err)
		}
		if err := unix.Connect(fd, &unix.SockaddrInet6{Port: to.Port, Addr: [16]byte(to.IP.To16())}); err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fd), "client")
		defer func() { _ = file.Close() }()
		client, err := net.FileConn(file)
		if err != nil {
			t.Fatal(err)
		}
		return client
	})
	if err := asked(accepted); err != nil {
		t.Errorf("an IPv6 socket: %v", err)
	}
	_, accepted = served(t, "tcp", "[::]:0", func(address string) net.Conn {
		_, port, _ := net.SplitHostPort(address)
		return dialer(t)("127.0.0.1:" + port)
	})
	if err := asked(accepted); err != nil {
		t.Errorf("a listener of both: %v", err)
	}
}

func TestOtherUsersAreNobody(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{somebody, usualOverflow} {
		_, accepted := served(t, "tcp", "127.0.0.1:0", dialAs(t, uid))
		if found, err := owner(accepted); err != nil || found != uint32(uid) {
			t.Errorf("the owner is %d, %v; want %d", found, err, uid)
		}
		if err := asked(accepted); !errors.Is(err, ErrNobody) {
			t.Errorf("user %d: %v", uid, err)
		}
	}
}

// listenAs has another user listen, and accept one connection.
func listenAs(t *testing.T, uid int) (address string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may act as another user; CI runs this")
	}
	listens := make(chan string, 1)
	left := make(chan struct{})
	t.Cleanup(func() { <-left })
	done := t.Context().Done()
	go func() { // ends with its thread, which stays the other user's, and with the test
		defer close(left)
		runtime.LockOSThread()
		_ = unix.Setfsuid(uid)
		listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Error(err)
			close(listens)
			return
		}
		defer func() { _ = listener.Close() }()
		_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		listens <- listener.Addr().String()
		accepted, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = accepted.Close() }()
		<-done
	}()
	address, ok := <-listens
	if !ok {
		t.FailNow()
	}
	return address
}

// TestWhoAccepted: a connection is known by the user whose program has accepted it, and
// before that by nobody.
func TestWhoAccepted(t *testing.T) {
	t.Parallel()
	own := uint32(os.Geteuid())
	client, _ := served(t, "tcp", "127.0.0.1:0", dialer(t))
	if err := AcceptedBy(t.Context(), client, own); err != nil {
		t.Errorf("one's own: %v", err)
	}
	waiting, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = waiting.Close() }()
	client = dialer(t)(waiting.Addr().String())
	defer func() { _ = client.Close() }()
	ctx, stop := context.WithTimeout(t.Context(), 10*acceptPause)
	defer stop()
	if err := AcceptedBy(ctx, client, own); !errors.Is(err, ErrNobody) {
		t.Errorf("one that waits to be accepted: %v", err)
	}
	client = dialer(t)(listenAs(t, somebody))
	defer func() { _ = client.Close() }()
	if err := AcceptedBy(t.Context(), client, own); !errors.Is(err, ErrNobody) {
		t.Errorf("another user's: %v", err)
	}
	if err := AcceptedBy(t.Context(), client, somebody); err != nil {
		t.Errorf("that user's: %v", err)
	}
}

// TestClosedSocketsAreNobodys: a client that is gone before the look-up leaves a socket that reports user 0, and one
// that has hung up no longer waits for an answer.
func TestClosedSocketsAreNobodys(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closed":      (*net.TCPConn).Close,
		"half closed": (*net.TCPConn).CloseWrite,
		"reset": func(c *net.TCPConn) error {
			return errors.Join(c.SetLinger(0), c.Close())
		},
	} {
		client, accepted := served(t, "tcp", "127.0.0.1:0", dialer(t))
		if _, err := client.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if err := leave(client.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		if err := asked(accepted); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestALaterConnectionDoesNotVouchForAnEarlierOne: if the addresses are reused after the first client was reset, the
// new connection is not taken for the first.
func TestALaterConnectionDoesNotVouchForAnEarlierOne(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	first := dialer(t)(listener.Addr().String()).(*net.TCPConn)
	from := first.LocalAddr()
	before, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = before.Close() }()
	if err := errors.Join(first.SetLinger(0), first.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := (&net.Dialer{LocalAddr: from, Timeout: patience}).DialContext(
		t.Context(),
		"tcp",
		listener.Addr().String(),
	)
	if err != nil {
		t.Skipf("another process took the port: %v", err)
	}
	defer func() { _ = again.Close() }()
	if err := asked(before); !errors.Is(err, ErrNobody) {
		t.Errorf("the reset connection is taken for the later one: %v", err)
	}
}

// TestOneLookUpPerConnection: the result holds for the connection's life.
func TestOneLookUpPerConnection(t *testing.T) {
	t.Parallel()
	client, accepted := served(t, "tcp", "127.0.0.1:0", dialer(t))
	ctx := ConnContext(t.Context(), accepted)
	if err := Own(ctx); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Own(ctx); err != nil {
		t.Errorf("asked again: %v", err)
	}
	if err := Own(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("a request without a connection: %v", err)
	}
}
