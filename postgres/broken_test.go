package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// cutter breaks connections that are writing a transition: before the server has received it, or after the commit and
// before the answer.
type cutter struct {
	one  int64 // cut one of so many transitions; 0 cuts none
	cuts atomic.Int64
}

// prepared are the driver's names of the prepared fences of transitions.
var prepared = func() (names [][]byte) {
	for _, text := range []string{updateHead, updateHeadClaim, updateHeadCall, insertHead} {
		digest := sha256.Sum256([]byte(text))
		names = append(names, []byte("stmtcache_"+hex.EncodeToString(digest[:24])))
	}
	return names
}()

// writes reports whether bytes sent to the server run a transition's fence.
func writes(sent []byte) bool {
	if bytes.Contains(sent, []byte("parley.heads")) { // the fence is being prepared
		return false
	}
	for _, name := range prepared {
		if bytes.Contains(sent, name) {
			return true
		}
	}
	return false
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &cutConn{Conn: conn, cutter: c}, err
}

// cutConn is a connection that may be broken. One goroutine writes and one reads it.
type cutConn struct {
	net.Conn
	cutter *cutter
	lost   atomic.Bool // writes no longer arrive
	deaf   atomic.Bool // answers no longer arrive
}

func (c *cutConn) Write(sent []byte) (int, error) {
	if c.cutter.one > 0 && writes(sent) && rand.N(c.cutter.one) == 0 { //nolint:gosec // no secret
		c.cutter.cuts.Add(1)
		if rand.N(2) == 0 { //nolint:gosec // no secret
			c.lost.Store(true)
			return len(sent), c.Conn.Close()
		}
		c.deaf.Store(true)
	}
	return c.Conn.Write(sent)
}

func (c *cutConn) Read(heard []byte) (int, error) {
	if c.lost.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(heard)
	if !c.deaf.Load() {
		if c.lost.Load() {
			return 0, io.ErrUnexpectedEOF
		}
		return n, err
	}
	ready := []byte("Z\x00\x00\x00\x05") // the server has processed everything sent
	for all := bytes.Clone(heard[:n]); err == nil && !bytes.Contains(all, ready); {
		n, err = c.Conn.Read(heard)
		all = append(all, heard[:n]...)
	}
	if err := c.Conn.Close(); err != nil {
		return 0, err
	}
	return 0, io.ErrUnexpectedEOF
}

// cutting opens a store whose connections a cutter breaks.
func cutting(tb testing.TB, url string, c *cutter) *Store {
	tb.Helper()
	store := openedAt(tb, url, Options{})
	config, err := poolConfig(url, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	config.ConnConfig.DialFunc = c.dial
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	store.pool.Close()
	store.pool = pool
	return store
}

// claimTries exceeds what the server needs to notice a broken connection.
const claimTries = 200

// patient repeats claims that return nothing: a claim skips locked sessions, and a broken connection keeps its locks
// until the server notices.
type patient struct{ *Store }

func (p patient) Claim(
	ctx context.Context,
	processID parley.ID,
	n int,
	occupancy store.Occupancy,
) (claims []store.Claim, err error) {
	for range claimTries {
		if claims, err = p.Store.Claim(ctx, processID, n, occupancy); err != nil || len(claims) > 0 || n == 0 {
			break
		}
	}
	return claims, err
}

// TestBrokenConnections: every fifth transition loses its connection while being written, half of them after the
// commit. None is lost, none happens twice, and no caller notices.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	c := &cutter{one: 5}
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return patient{cutting(t, databases.New(t), c)} },
			"Posting", "Queue", "Claims", "Steps", "Boundaries", "Tools", "Cancelling", "Recovery")
	})
	if n := c.cuts.Load(); n < 100 {
		t.Errorf("only %d connections were broken", n)
	}
}
