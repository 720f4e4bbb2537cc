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

// Bounds of the store.
const (
	DefaultMaxConns = 16 // connections of the pool; the lease has its own

	connectBound = 5 * time.Second  // for connecting
	batchBound   = 30 * time.Second // for one round trip; then the statement is cancelled
	leaseBound   = 10 * time.Second // for one round trip for a lease, however patient the caller
	cancelBound  = 2 * time.Second  // for confirming a cancelled statement
	patience     = 5 * time.Second  // for a server that restarts
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
	contentions  = 8 // consecutive contended attempts before the caller gets the error
	lookAgain    = 5 // how often a creation checks whether it or another one won
)

// Options of Open; the zero value suits a server.
type Options struct {
	Log *slog.Logger // nil: no log
	// MaxConns bounds the pool; 0: pool_max_conns of the URL, or else DefaultMaxConns.
	MaxConns int
	// ListenURL reaches the database without a pooler, for what needs a session: notifications and migrations. Empty:
	// the main URL does.
	ListenURL string
	// Copying opens for a copy: it accepts an unfinished copy in this database.
	Copying bool
}

// Store is a store.Store in one PostgreSQL database, shared by any number of processes. It is safe for concurrent use.
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
	served atomic.Pointer[parley.ID] // workspace that the last claim served
	outbox reserved
	keyed  keyed

	// direct reaches the database without a pooler.
	direct *pgx.ConnConfig

	closed    atomic.Bool
	mu        sync.Mutex    // guards listeners and relay
	listeners []store.Hints // in the order of Listen
	relay     *Relay        // nil until requested
}

// Open connects to a database, brings its schema up to date and checks the URL's role. CodeUnavailable, with a
// sentence, if the database is unreachable, belongs to a newer Parley, or gives the role too few rights; CodeConflict
// if it holds an unfinished copy.
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
	if options.ListenURL != "" { // before anything is written there
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

// sameDatabase refuses two addresses of different databases: writes to one would be announced on the other. It
// identifies a database by its cluster and oid, because a pooler may use a different name.
func sameDatabase(ctx context.Context, one, direct *pgx.ConnConfig) error {
	var identities [2][2]string
	for i, config := range []*pgx.ConnConfig{one, direct} {
		conn, err := connect(ctx, config)
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

// errNoURL never contains the URL: a mistyped one may have a password anywhere.
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
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		register(conn)
		return nil
	}
	return config, nil
}

// maxPool bounds what can be set as MaxConns.
const maxPool = 10_000

// settle applies the settings that every connection here has.
func settle(config *pgx.ConnConfig) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectBound
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "parley"
	}
	keepAlive(config)
	// A statement that takes too long is cancelled on the server, so that it holds no locks, before the connection is
	// given up.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelBound}
	}
}

// Listen implements store.Store.
func (s *Store) Listen(hints store.Hints) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, hints)
}

// tell passes commits to the listeners.
func (s *Store) tell(commits []store.Commit) {
	for i := range commits {
		if commits[i].Outbox && !commits[i].Reserved {
			s.outbox.noteDue()
		}
	}
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, commit := range commits {
		for _, listener := range listeners {
			listener.Committed(commit)
		}
	}
}

// Ping implements store.Store. It waits as long as ctx lasts, so frequent callers do not take connections from others
// while the database does not respond.
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

// once sends a batch a single time. The caller's cancellation does not break the round trip: that would cost a
// connection, and leave open whether the batch was committed.
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

// acquire takes a connection from the pool, waiting as long as ctx lasts.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil && s.closed.Load() {
		return nil, parley.Errorf(parley.CodeUnavailable, "the store is closed; the server is shutting down")
	}
	return c, err
}

// send sends a batch, and repeats it where that is safe: for a while when the server restarts, and when the server gave
// it up for another. An unknown error leaves open whether the batch was committed.
func (s *Store) send(ctx context.Context, b *batch) error {
	return s.trying(ctx, func() error { return s.once(ctx, b) }, unsent)
}

// read sends a reading batch, and also repeats it if its result was lost. build makes the batch anew for each attempt,
// together with what it fills.
func (s *Store) read(ctx context.Context, build func() *batch) error {
	return mapError(s.trying(ctx, func() error { return s.once(ctx, build()) }, func(err error) bool {
		return unsent(err) || unknown(err)
	}))
}

// trying repeats a round trip whose failure repetition can fix.
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
			s.log.Debug("repeating a request to the database", "error", err)
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

// together runs several batches as one transaction: the first begins it, and the one that commits must be the last. It
// is for changes that must read before they write.
func (s *Store) together(ctx context.Context, run func(t *conversation) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release() // the pool closes one that is still in a transaction
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

// idleBound ends a conversation whose process freezes between two batches, so that its row locks are free well within a
// lease.
const idleBound = "SELECT set_config('idle_in_transaction_session_timeout', '3s', true)"

// conversation is a transaction of several batches on one connection.
type conversation struct {
	ctx  context.Context //nolint:containedctx // lives as long as its call
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
