package sqlite

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	driver "modernc.org/sqlite"

	"example.org/parley"
	"example.org/parley/store"
)

// Bounds of the store.
const (
	DatabaseFile = "parley.db"   // in the data directory
	LockFile     = "parley.lock" // beside it; names the process that has it open

	writeQueue    = 4096 // transitions waiting for the writer; beyond, callers block
	urgentQueue   = 64   // waiting lease renewals and cancels
	maxBatch      = 256  // transitions per transaction
	busyTimeoutMS = 5000
	cacheKiB      = 8 << 10 // page cache of the writer's connection
	readCacheKiB  = 2 << 10 // page cache of each reader's
)

// Options of Open; the zero value suits a server.
type Options struct {
	Log     *slog.Logger // nil: no log
	Readers int          // connections for reading; 0: two more than CPUs
	Copying bool         // opened for a copy: accept an unfinished copy in this database

	// Fault is a test hook that makes the writer die as if by kill -9. The writer's goroutine calls it with each
	// statement's text before running it, and with FaultCommit and FaultCommitted around each commit. An error abandons
	// the open transaction and stops the store for good.
	Fault func(point string) error
}

// Points, apart from statements, at which Options.Fault is called.
const (
	FaultCommit    = "before commit"
	FaultCommitted = "after commit"
)

// Store is a store.Store in one SQLite file. It is safe for concurrent use. Close ends its goroutines.
type Store struct {
	log      *slog.Logger
	lock     *fileLock
	path     string
	file     os.FileInfo // of the database when it was opened
	damage   store.DamageNote
	watched  chan struct{} // closed when watch has ended
	writer   *writer
	agents   agentCache
	readers  chan *conn
	all      []*conn // the readers, idle or in use
	stopping chan struct{}
	stop     sync.Once
	closed   error // result of Close; written once under stop
}

// Open opens the database in a data directory, creating both if necessary, and brings the schema up to date. The
// process owns the directory until Close: CodeConflict, naming the owner, if another process has it. CodeUnavailable if
// the database belongs to a newer Parley; CodeConflict if it holds an unfinished copy.
func Open(ctx context.Context, dataDir string, options Options) (*Store, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if options.Readers <= 0 {
		options.Readers = runtime.NumCPU() + 2
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the data directory "+dataDir+" cannot be made; choose another one with PARLEY_DATA",
		)
	}
	lock, err := lockDirectory(dataDir)
	if err != nil {
		return nil, err
	}
	if err := ownersAlone(filepath.Join(dataDir, DatabaseFile)); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	s := &Store{
		log:      options.Log,
		lock:     lock,
		path:     filepath.Join(dataDir, DatabaseFile),
		stopping: make(chan struct{}),
		watched:  make(chan struct{}),
		readers:  make(chan *conn, options.Readers),
	}
	s.damage.OnNote(func(d store.Damage) {
		s.log.Error("the database is damaged: run parley verify, and put a backup back", "noticed", d.Says)
	})
	if err := s.open(ctx, options); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	return s, nil
}

// ownersAlone creates the database file readable only by its owner, since others may read the directory. SQLite gives
// the log the same mode.
func ownersAlone(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own data directory
	if err != nil {
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			path+" cannot be written; check its permissions, or choose another directory with PARLEY_DATA",
		)
	}
	return file.Close()
}

func (s *Store) open(ctx context.Context, options Options) error {
	if err := migrate(ctx, s.path); err != nil {
		return mapError(s.path, err)
	}
	connection, err := s.connect(ctx, cacheKiB)
	if err != nil {
		return mapError(s.path, err)
	}
	if err := checkSchema(ctx, connection, s.path); err != nil {
		return errors.Join(mapError(s.path, err), connection.close())
	}
	s.writer = newWriter(s, connection, options.Fault)
	for range options.Readers {
		reader, err := s.connect(ctx, readCacheKiB)
		if err != nil {
			return mapError(s.path, err)
		}
		s.all = append(s.all, reader)
		s.readers <- reader
		if _, err := reader.run("PRAGMA query_only = 1"); err != nil {
			return mapError(s.path, err)
		}
	}
	unfinished, err := isCopying(connection)
	if err == nil && unfinished && !options.Copying {
		err = errUnfinishedCopy(s.path)
	}
	if err != nil {
		return mapError(s.path, err)
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	go s.writer.loop() // ended by Close
	go s.watch()       // ended by Close
	if unfinished {    // half a database would look in need of repair
		return nil
	}
	if err := s.abandonClaims(ctx); err != nil {
		s.halt()
		return err
	}
	return nil
}

func (s *Store) dsn() string { return dsn(s.path) }

// dsn returns the driver's name for a database file.
func dsn(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// connect opens a connection with this store's settings.
func (s *Store) connect(ctx context.Context, cache int) (*conn, error) {
	return openConn(ctx, s.dsn(), connectionPragmas(cache)...)
}

// openConn opens a connection with given settings.
func openConn(ctx context.Context, dsn string, pragmas ...string) (*conn, error) {
	connector, err := driver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn(raw)
	for _, pragma := range pragmas {
		if _, err := c.run(pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// Listen implements store.Store.
func (s *Store) Listen(hints store.Hints) { s.writer.listen(hints) }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(c *conn) error {
		_, err := c.has("SELECT 1")
		return err
	})
}

// Close ends the writer after what waits for it, moves the log into the database and releases the directory. Later
// calls are CodeUnavailable.
func (s *Store) Close() error {
	s.stop.Do(func() {
		s.halt()
		s.closed = s.closeFiles()
	})
	return s.closed
}

// halt ends the writer's goroutine.
func (s *Store) halt() {
	close(s.stopping)
	<-s.writer.done
	<-s.watched
}

func (s *Store) closeFiles() error {
	var errs []error
	for range s.all { // each after its current read
		errs = append(errs, (<-s.readers).close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	return errors.Join(append(errs, s.lock.release())...)
}

// errStopped is the error of every call after Close, or after the writer died.
func errStopped() error {
	return parley.Errorf(parley.CodeUnavailable, "the store is closed; the server is shutting down")
}

// read runs a closure on one snapshot. Reads are short: the closure reads a bounded number of rows and waits for
// nothing, because an open snapshot keeps the write-ahead log from being emptied. CodeUnavailable after Close.
func (s *Store) read(ctx context.Context, run func(c *conn) error) error {
	var c *conn
	select {
	case <-s.stopping:
		return errStopped()
	default:
	}
	select {
	case c = <-s.readers:
	case <-s.stopping:
		return errStopped()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.since.Store(time.Now().UnixNano())
	defer func() {
		c.since.Store(0)
		c.evicted.Store(false)
		s.readers <- c
	}()
	err := c.snapshot(run)
	if isReadError(err) { // only to see whether it fails again; the caller keeps the first result
		_ = s.failedAgain(c.snapshot(run))
	}
	return s.noted(err)
}

// snapshot runs a closure in a read-only transaction.
func (c *conn) snapshot(run func(c *conn) error) error {
	if _, err := c.run("BEGIN"); err != nil {
		return err
	}
	err := run(c)
	c.evicted.Store(false) // only ending the snapshot is left
	if _, end := c.run("COMMIT"); err == nil {
		err = end
	}
	return err
}

// write runs a closure on the writer's goroutine, as a member of the next transaction, and returns when that is
// durable. The closure checks first and writes afterwards: an *parley.Error from it is a refusal and must not have
// written anything. It may run more than once, so it sets anew whatever it shares with its caller. It may still run
// after the caller gave up (ctx), so the caller must not read shared variables after an error.
func (s *Store) write(ctx context.Context, run func(tx *txn) error) error {
	return s.writer.submit(ctx, s.writer.queue, run)
}

// transact is write for a closure with a result; a caller that gave up shares nothing with it.
func transact[T any](ctx context.Context, s *Store, run func(tx *txn) (T, error)) (T, error) {
	return transactIn(ctx, s, s.writer.queue, run)
}

// transactUrgent is transact ahead of everything that waits, for cancels.
func transactUrgent[T any](ctx context.Context, s *Store, run func(tx *txn) (T, error)) (T, error) {
	return transactIn(ctx, s, s.writer.urgent, run)
}

// transactEnd is transact for the end of a turn: a cancelled turn's end overtakes the rest, because somebody asked for
// it and waits.
func transactEnd[T any](ctx context.Context, s *Store, end *store.TurnEnd, run func(tx *txn) (T, error)) (T, error) {
	if end != nil && end.Status == parley.TurnCancelled {
		return transactUrgent(ctx, s, run)
	}
	return transact(ctx, s, run)
}

func transactIn[T any](ctx context.Context, s *Store, lane chan<- *member, run func(tx *txn) (T, error)) (T, error) {
	answer := new(T)
	err := s.writer.submit(ctx, lane, func(tx *txn) (err error) {
		*answer, err = run(tx)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return *answer, nil
}

// writeUrgent is write ahead of everything that waits, in its own transaction; for lease renewals.
func (s *Store) writeUrgent(ctx context.Context, run func(tx *txn) error) error {
	return s.writer.submit(ctx, s.writer.urgent, run)
}
