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

// cutter breaks connections on which a transition is being written: before the
// server has heard of it, or after it has committed and before it said so.
type cutter struct {
	one  int64 // of so many transitions; 0 cuts none
	cuts atomic.Int64
}

// prepared are the names under which the driver keeps the fences of transitions.
var prepared = func() (names [][]byte) {
	for _, text := range []string{updateHead, updateHeadClaim, updateHeadCall, insertHead} {
		digest := sha256.Sum256([]byte(text))
		names = append(names, []byte("stmtcache_"+hex.EncodeToString(digest[:24])))
	}
	return names
}()

// writes reports whether bytes on their way to the server run a transition's fence.
func writes(sent []byte) bool {
	if bytes.Contains(sent, []byte("parley.heads")) { // it is being prepared
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

// cutConn is a connection that may be broken. Its fields are used by one
// goroutine that writes and one that reads.
type cutConn struct {
	net.Conn
	cutter *cutter
	lost   atomic.Bool // what was written did not arrive
	deaf   atomic.Bool // the answer to what was written does not arrive
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
	ready := []byte("Z\x00\x00\x00\x05") // the server is through with all that was sent
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

// claimTries is more than it takes the server to notice a connection that is gone.
const claimTries = 200

// patient asks again for claims when there are none: a claim passes over what is
// locked, and the locks of a broken connection last until the server has noticed.
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

// TestBrokenConnections: every fifth transition loses its connection while it is
// written, half of them after they were committed. None is lost, none happens
// twice, and no caller hears of it.
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
