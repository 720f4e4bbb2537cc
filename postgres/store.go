package postgres

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.org/parley"
	"example.org/parley/store"
)

// The bounds of the store.
const (
	DefaultMaxConns = 16 // connections of the pool; the lease has one more

	connectBound = 5 * time.Second  // to reach the server
	batchBound   = 30 * time.Second // of one round trip; then the statement is cancelled
	leaseBound   = 10 * time.Second // of one round trip for a lease, however patient the caller
	cancelBound  = 2 * time.Second  // to hear that it was
	patience     = 5 * time.Second  // with a server that restarts
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
	contentions  = 8 // batches given up for others in a row, before the caller hears of it
	lookAgain    = 5 // times that a creation looks who was first, or whether it was itself
)

// Options of Open; the zero value is what a server uses.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
	// MaxConns bounds the pool; 0: pool_max_conns of the URL, else DefaultMaxConns.
	MaxConns int
	// ListenURL reaches the database without a pooler between, for what needs a
	// session of its own: notifications and migrations. Empty: the URL does.
	ListenURL string
	// Copying opens for a copy: one into this database that is not finished is left
	// as it is.
	Copying bool
}

// Store is a store.Store in one PostgreSQL database, which any number of
// processes use at once. It is safe for concurrent use.
type Store struct {
	log   *slog.Logger
	pool  *pgxpool.Pool
	lease *leaseConn
	clock clock

	damage    store.DamageNote
	checksums checksumCount

	heads  *headCache
	groups groups
	agents *agentCache
	texts  *textCache
	forks  forkCache
	served atomic.Pointer[parley.ID] // workspace that the last claim came from

	// direct reaches the database without a pooler between.
	direct *pgx.ConnConfig

	closed    atomic.Bool
	mu        sync.Mutex    // guards listeners and relay
	listeners []store.Hints // in the order of Listen
	relay     *Relay        // nil until it is asked for
}

// Open connects to a database, brings its schema up to date and checks who the
// URL's role is. CodeUnavailable, with a sentence, when the database is out of
// reach, was made by a newer Parley, or gives the role too little; CodeConflict
// when it holds a copy that is not finished.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	direct := options.ListenURL
	if direct == "" {
		direct = url
	}
	config, err := poolConfig(url, options)
	if err != nil {
		return nil, err
	}
	directly, err := poolConfig(direct, options)
	if err != nil {
		return nil, err
	}
	if options.ListenURL != "" { // before anything is written to what it names
		if err := sameDatabase(ctx, config.ConnConfig, directly.ConnConfig); err != nil {
			return nil, err
		}
	}
	if _, err := Migrate(ctx, direct, options.Log); err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, mapError(err)
	}
	s := &Store{
		log:    options.Log,
		pool:   pool,
		lease:  &leaseConn{config: config.ConnConfig.Copy(), bound: leaseBound},
		direct: directly.ConnConfig,
		heads:  newHeadCache(),
		agents: newAgentCache(),
		texts:  newTextCache(),
	}
	s.groups.store = s
	if err := s.calibrate(ctx); err != nil {
		return nil, errors.Join(mapError(err), s.Close())
	}
	if !options.Copying {
		if err := s.refuseCopy(ctx); err != nil {
			return nil, errors.Join(mapError(err), s.Close())
		}
	}
	return s, nil
}

// sameDatabase refuses two addresses of different databases: what is written to
// one would be told of on the other. A database is known by its cluster and its
// oid, for a pooler may call it by another name.
func sameDatabase(ctx context.Context, one, direct *pgx.ConnConfig) error {
	var identities [2][2]string
	for i, config := range []*pgx.ConnConfig{one, direct} {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			if i == 1 {
				return parley.WrapError(
					parley.CodeUnavailable,
					mapError(err),
					"the database cannot be reached at PARLEY_LISTEN_URL; it has to name the same database as "+
						"PARLEY_DATABASE_URL, past the pooler",
				)
			}
			return mapError(err)
		}
		err = conn.QueryRow(ctx, "SELECT (SELECT system_identifier::text FROM pg_control_system()), (SELECT oid::text "+
			"FROM pg_database WHERE datname = current_database())",
			pgx.QueryExecModeSimpleProtocol).
			Scan(&identities[i][0], &identities[i][1])
		if closing := conn.Close(ctx); err == nil {
			err = closing
		}
		if err != nil {
			return mapError(err)
		}
	}
	if identities[0] != identities[1] {
		return parley.Errorf(
			parley.CodeInvalid,
			"PARLEY_LISTEN_URL names another database than PARLEY_DATABASE_URL; it has to be the same one, past the "+
				"pooler",
		)
	}
	return nil
}

// errNoURL never holds the URL: a password may stand anywhere in a mistaken one.
func errNoURL() error {
	return parley.Errorf(
		parley.CodeInvalid,
		"this is not the URL of a PostgreSQL database: write postgres://user:password@host:5432/database",
	)
}

func poolConfig(url string, options Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errNoURL()
	}
	parsed, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, errNoURL()
	}
	switch _, inURL := parsed.RuntimeParams["pool_max_conns"]; {
	case options.MaxConns > 0:
		config.MaxConns = int32(min(options.MaxConns, maxPool)) //nolint:gosec // bounded
	case !inURL:
		config.MaxConns = DefaultMaxConns
	}
	settle(config.ConnConfig)
	return config, nil
}

// maxPool bounds what somebody may set as MaxConns.
const maxPool = 10_000

// settle gives a connection's configuration what every connection here has.
func settle(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectBound
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "parley"
	}
	keepAlive(config)
	// What takes too long is cancelled on the server, so that it holds no locks,
	// before the connection is given up.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelBound}
	}
}

// Listen adds a listener. Call it before the first transition.
func (s *Store) Listen(hints store.Hints) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, hints)
}

// tell passes commits on to the listeners.
func (s *Store) tell(commits []store.Commit) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, commit := range commits {
		for _, listener := range listeners {
			listener.Committed(commit)
		}
	}
}

// Ping reports whether the database answers. It waits while ctx lasts, so that
// whoever asks often keeps no connections from others when it does not.
func (s *Store) Ping(ctx context.Context) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return mapError(err)
	}
	defer c.Release()
	bound, cancel := context.WithTimeout(ctx, batchBound)
	defer cancel()
	return mapError(system().run(bound, c, "", ""))
}

// Close ends the connections. Later calls are CodeUnavailable.
func (s *Store) Close() error {
	s.closed.Store(true)
	s.mu.Lock()
	relay := s.relay
	s.mu.Unlock()
	if relay != nil {
		relay.close()
	}
	s.pool.Close()
	return s.lease.close()
}

// once sends a batch a single time. The round trip is not the caller's to break
// off: that would cost a connection, and leave open whether it was committed.
func (s *Store) once(ctx context.Context, b *batch) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchBound)
	defer cancel()
	return b.run(bound, c, "", "")
}

// acquire takes a connection from the pool, waiting for one while ctx lasts.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil && s.closed.Load() {
		return nil, parley.Errorf(parley.CodeUnavailable, "the store is closed; the server is shutting down")
	}
	return c, err
}

// send sends a batch, and again where that is safe: while the server restarts,
// for a while, and when the server gave it up for another one. An error that is
// unknown leaves open whether it was committed.
func (s *Store) send(ctx context.Context, b *batch) error {
	return s.trying(ctx, func() error { return s.once(ctx, b) }, unsent)
}

// read sends a batch that only reads: it is sent again also when nobody knows how
// far it came. build makes it anew for each attempt, together with what it fills.
func (s *Store) read(ctx context.Context, build func() *batch) error {
	return mapError(s.trying(ctx, func() error { return s.once(ctx, build()) }, func(err error) bool {
		return unsent(err) || unknown(err)
	}))
}

// trying repeats a round trip whose failures can be mended by repeating it.
func (s *Store) trying(ctx context.Context, run func() error, again func(error) bool) error {
	pause, lost := firstPause, 0
	started := time.Now()
	for {
		err := run()
		s.noteDamage(err)
		switch {
		case err == nil:
			return nil
		case contended(err):
			if lost++; lost >= contentions {
				return err
			}
		case !again(err) || time.Since(started) > patience:
			return err
		default:
			s.log.Debug("the database is asked again", "error", err)
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // spreads load; no secret
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// together runs batches that are one transaction: the first one begins it, and
// what commits it must be the last. It is for what has to look before it writes.
func (s *Store) together(ctx context.Context, run func(t *conversation) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // one that is left in a transaction is closed by the pool
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchBound)
	defer cancel()
	t := &conversation{ctx: bound, conn: c}
	err = run(t)
	if t.open && err != nil {
		if _, undone := c.Exec(bound, "ROLLBACK"); undone != nil {
			s.log.Debug("the server had rolled back by itself", "error", undone)
		}
	}
	return err
}

// idleBound ends a conversation whose process stands still between two batches,
// so that the rows it has locked are free again well within a lease.
const idleBound = "SELECT set_config('idle_in_transaction_session_timeout', '3s', true)"

// conversation is a transaction of several batches on one connection.
type conversation struct {
	ctx  context.Context //nolint:containedctx // lives as long as the call that made it
	conn *pgxpool.Conn
	open bool
}

// send sends a batch; the first one begins the transaction.
func (t *conversation) send(b *batch) error { return t.run(b, "") }

// commit sends the last batch.
func (t *conversation) commit(b *batch) error {
	err := t.run(b, "COMMIT")
	if err == nil {
		t.open = false
	}
	return err
}

// end ends a transaction that has nothing to write.
func (t *conversation) end() error {
	if !t.open {
		return nil
	}
	t.open = false
	_, err := t.conn.Exec(t.ctx, "ROLLBACK")
	return err
}

func (t *conversation) run(b *batch, after string) error {
	if t.open {
		return b.run(t.ctx, t.conn, "", after)
	}
	t.open = true
	first := *b
	first.statements = append([]statement{{query: idleBound}}, b.statements...)
	return first.run(t.ctx, t.conn, "BEGIN", after)
}
