package postgres

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley/internal/pgtest"
)

// TestBothEndsNoticeThatTheOtherIsGone: over TCP, both ends of every kind of connection soon probe the other.
func TestBothEndsNoticeThatTheOtherIsGone(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf(
		"127.77.%d.%d",
		os.Getpid()>>8&0xff,
		os.Getpid()&0xff,
	) // a loopback address only for this run
	cluster, err := pgtest.Start(pgtest.Options{Settings: map[string]string{"listen_addresses": address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"CREATE DATABASE keeping OWNER "+pgtest.Owner,
	); err != nil {
		t.Fatal(err)
	}
	url := "postgres://" + pgtest.Owner + "@" + address + "/keeping?sslmode=disable"
	store := openedAt(t, url, Options{})
	newTalker(t, store, 0) // its lease has its own connection
	pooled, err := store.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pooled.Release()
	direct, err := pgx.ConnectConfig(
		t.Context(),
		store.direct.Copy(),
	) // like the connections of the relay
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(t.Context())
	for name, conn := range map[string]*pgx.Conn{"pool": pooled.Conn(), "lease": store.lease.conn, "direct": direct} {
		var idle, interval, count string
		if err := conn.QueryRow(t.Context(),
			"SELECT current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'), "+
				"current_setting('tcp_keepalives_count')").
			Scan(&idle, &interval, &count); err != nil {
			t.Fatal(err)
		}
		if idle != "3" || interval != "1" || count != "4" {
			t.Errorf("%s: the server probes after %s, every %s, %s times", name, idle, interval, count)
		}
		here := keptAlive(t, conn.PgConn().Conn().(*net.TCPConn))
		if want := [3]int{int(keepIdle / time.Second), int(keepEvery / time.Second), keepProbes}; here != want {
			t.Errorf("%s: this end probes %v; want %v", name, here, want)
		}
	}
}

// keptAlive returns a socket's times in seconds, and its number of probes.
func keptAlive(t *testing.T, conn *net.TCPConn) (is [3]int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		for i, option := range []int{syscall.TCP_KEEPIDLE, syscall.TCP_KEEPINTVL, syscall.TCP_KEEPCNT} {
			if is[i], err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, option); err != nil {
				failed = err
			}
		}
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return is
}
