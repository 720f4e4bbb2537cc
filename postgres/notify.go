package postgres

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/store"
)

// Intervals and bounds of the relay.
const (
	channel = "parley" // named like the schema; every database has its own

	mergeTime     = 2 * time.Millisecond  // between rounds of notifications
	lazyTime      = 50 * time.Millisecond // delay of hints that no other process waits for, as far as known
	mostWatched   = 1 << 17               // sessions that others watch; commits to further ones are sent lazily
	mostHeard     = 1 << 10               // other processes whose silence is noticed
	waitingBytes  = 8 << 20               // waiting to be sent, approximately; beyond it they are dropped and reported
	waitingRaw    = 256 << 10             // of unprocessed text that waits; more is left out, and nothing else for it
	noticesAtOnce = 64                    // notifications per statement
	beat          = 2 * time.Second       // between signs of life
	silence       = 5 * beat              // without one, the connection or process counts as gone
	aloneAfter    = 2 * beat              // after listening this long without hearing anybody, there is nobody to tell
	firstRedial   = 50 * time.Millisecond
	longestRedial = 5 * time.Second
	notifyBound   = 10 * time.Second // limit of one round, and of connecting
	byeBound      = time.Second      // limit of the farewell
	hintBytes     = 96               // of a waiting hint without its texts, approximately
)

// Relay implements store.Relay with NOTIFY. One connection sends hints and notices of commits, after the commit and
// never in its transaction; another one listens. It tells the store's listeners about the commits of other processes.
// It has two goroutines; Store.Close ends them.
type Relay struct {
	store *Store
	id    parley.ID // id of this process in notifications
	stop  context.CancelFunc
	loops sync.WaitGroup

	now   chan struct{} // buffers one: there is something to send
	soon  chan struct{} // buffers one: the same, but it may become obsolete in a moment
	later chan struct{} // buffers one: the same, but nobody waits for it

	connected               atomic.Bool
	alone                   atomic.Bool // no other process is listening
	sent, received, dropped atomic.Int64
	reconnects, lag         atomic.Int64

	mu          sync.Mutex // guards all fields below
	listener    store.RelayListener
	unheard     bool // a resync came before the listener
	commits     map[commitKey]*commitNotice
	watched     map[parley.ID]time.Time // sessions that others watch, with the time of the last report
	interests   map[parley.ID]store.Interest
	pieces      []store.StreamPiece
	bytes       int // approximate size of what waits
	raws        []store.RawPiece
	rawBytes    int // of raws
	ask, resync bool
	unsent      int       // waiting notifications
	timed       uint32    // number of the notification being timed; 0: none
	timedAt     time.Time // when that one was sent
	echoed      time.Time // when this process last heard itself
}

// commitKey is the key for merging commits.
type commitKey struct{ workspaceID, sessionID parley.ID }

// Relay carries hints to and from the other processes of the database. The first call starts it; without it, this
// process learns of others' commits only by polling.
func (s *Store) Relay() *Relay {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relay != nil {
		return s.relay
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Relay{
		store:     s,
		id:        parley.NewID(),
		stop:      stop,
		now:       make(chan struct{}, 1),
		soon:      make(chan struct{}, 1),
		later:     make(chan struct{}, 1),
		commits:   map[commitKey]*commitNotice{},
		watched:   map[parley.ID]time.Time{},
		interests: map[parley.ID]store.Interest{},
	}
	s.relay = r
	s.listeners = append(s.listeners[:len(s.listeners):len(s.listeners)], r)
	if s.closed.Load() {
		stop()
		return r
	}
	r.loops.Go(func() { r.sendLoop(ctx) })
	r.loops.Go(func() { r.listenLoop(ctx) })
	return r
}

// close ends the goroutines after a farewell.
func (r *Relay) close() {
	r.stop()
	r.loops.Wait()
}

// Hear implements store.Relay. The relay may have begun to listen before it has a listener: that one is then told here
// to read everything again.
func (r *Relay) Hear(listener store.RelayListener) {
	r.mu.Lock()
	late := r.unheard
	r.listener, r.unheard = listener, false
	r.mu.Unlock()
	if late {
		listener.Resync()
	}
}

// Stats returns the state of the relay.
func (r *Relay) Stats() store.RelayStats {
	r.mu.Lock()
	waiting := len(r.commits) + len(r.interests) + len(r.pieces) + r.unsent
	r.mu.Unlock()
	return store.RelayStats{
		Connected:  r.connected.Load(),
		Queued:     waiting,
		Sent:       r.sent.Load(),
		Received:   r.received.Load(),
		Dropped:    r.dropped.Load(),
		Reconnects: r.reconnects.Load(),
		Lag:        time.Duration(r.lag.Load()),
	}
}

// Committed implements store.Hints: it tells other processes about this process's commits.
func (r *Relay) Committed(commit store.Commit) {
	if commit.Remote ||
		len(commit.Events)+len(commit.Feed) == 0 && !commit.Ready && !commit.Outbox && commit.Cancel.IsZero() {
		return
	}
	if r.alone.Load() {
		return
	}
	commit.Outbox = commit.Outbox && !commit.Reserved
	key := commitKey{commit.WorkspaceID, commit.SessionID}
	r.mu.Lock()
	waiting := r.commits[key]
	if waiting == nil {
		waiting = &commitNotice{Workspace: wireID(commit.WorkspaceID), Session: wireID(commit.SessionID)}
		r.commits[key] = waiting
		r.bytes += hintBytes
	}
	waiting.merge(&commit)
	for i := range commit.Feed {
		r.bytes += hintBytes + len(commit.Feed[i].Data)
	}
	r.bound()
	_, watched := r.watched[commit.SessionID]
	r.mu.Unlock()
	switch {
	case !commit.Cancel.IsZero():
		poke(r.now)
	case commit.Ready:
		poke(r.soon) // this process may soon claim it
	case watched || slices.ContainsFunc(commit.Feed, func(f store.FeedEvent) bool {
		return f.Type != parley.FeedSessionStatusChanged
	}):
		poke(r.now)
	default:
		poke(r.later)
	}
}

// Tell implements store.Relay. A new process asks everybody to repeat their interests.
func (r *Relay) Tell(hints store.RelayHints) {
	if r.alone.Load() {
		return
	}
	r.mu.Lock()
	for _, interest := range hints.Interests {
		earlier, waits := r.interests[interest.SessionID]
		interest.Flush = interest.Flush || earlier.Flush && !interest.Over
		r.interests[interest.SessionID] = interest
		if !waits {
			r.bytes += hintBytes
		}
	}
	for i := range hints.Pieces {
		r.tellPiece(&hints.Pieces[i])
	}
	for i := range hints.Raws {
		if size := hintBytes + len(hints.Raws[i].Text); r.rawBytes+size <= waitingRaw { // else it is a gap
			r.raws = append(r.raws, hints.Raws[i])
			r.rawBytes += size
		}
	}
	r.ask = r.ask || hints.Ask
	r.bound()
	r.mu.Unlock()
	poke(r.now)
}

// tellPiece adds a piece to the waiting ones, extending the previous piece if it continues it. r.mu is held.
func (r *Relay) tellPiece(piece *store.StreamPiece) {
	if n := len(r.pieces); n > 0 && piece.Text != "" {
		last := &r.pieces[n-1]
		if last.MessageID == piece.MessageID && last.Kind == piece.Kind && last.Epoch == piece.Epoch &&
			last.Text != "" && last.Offset+len(last.Text) == piece.Offset {
			last.Text += piece.Text
			r.bytes += len(piece.Text)
			return
		}
	}
	r.pieces = append(r.pieces, *piece)
	r.bytes += hintBytes + len(piece.Text)
}

// bound drops waiting hints if there are too many; others then read everything again. r.mu is held.
func (r *Relay) bound() {
	if r.bytes <= waitingBytes {
		return
	}
	r.dropped.Add(int64(len(r.commits) + len(r.interests) + len(r.pieces)))
	r.drain()
	r.resync = true
}

// drain removes the waiting hints; r.mu is held.
func (r *Relay) drain() {
	r.commits, r.interests = map[commitKey]*commitNotice{}, map[parley.ID]store.Interest{}
	r.pieces, r.bytes, r.ask, r.resync = nil, 0, false, false
	r.raws, r.rawBytes = nil, 0
}

// take encodes the waiting hints.
func (r *Relay) take(p *packer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.head.Ask, p.head.Resync = r.ask, r.resync
	if r.ask || r.resync {
		p.begin()
	}
	for _, commit := range r.commits {
		p.addCommit(commit)
	}
	for _, i := range r.interests {
		add(p, interestItem, interestNotice{
			Session: wireID(i.SessionID), Pace: i.PaceMS, Flush: i.Flush, Over: i.Over, Raw: i.Raw,
		})
	}
	for i := range r.pieces {
		p.addPiece(&r.pieces[i])
	}
	for i := range r.raws {
		p.addRaw(&r.raws[i])
	}
	p.end()
	r.drain()
}

// sendLoop sends hints, merged, and signs of life. While the database is unreachable, it keeps what waits and sends it
// afterwards.
func (r *Relay) sendLoop(ctx context.Context) {
	s := sender{relay: r, pack: packer{head: noticeHead{From: wireID(r.id)}}}
	defer s.bye() //nolint:contextcheck // the farewell comes after the end
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for s.gather(ctx, pause, ticker.C) {
		s.round(ctx)
		pause.Reset(mergeTime)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// gather waits until something must be sent, as long as that may wait; false if ctx ended.
func (s *sender) gather(ctx context.Context, pause *time.Timer, beats <-chan time.Time) bool {
	r, wait := s.relay, time.Duration(0)
	var due <-chan time.Time // nil while nothing waits
	for {
		select {
		case <-ctx.Done():
			return false
		case <-beats:
			s.alive = true
			return true
		case <-r.now:
			return true
		case <-due:
			return true
		case <-r.soon:
			if wait == mergeTime {
				continue
			}
			wait = mergeTime
		case <-r.later:
			if wait != 0 {
				continue
			}
			wait = lazyTime
		}
		pause.Reset(wait)
		due = pause.C
	}
}

// sender is the state of sendLoop.
type sender struct {
	relay *Relay
	pack  packer
	alive bool // time for a sign of life
	conn  *pgx.Conn
}

// round sends everything that waits, however long the database is unreachable.
func (s *sender) round(ctx context.Context) {
	r := s.relay
	redial := firstRedial
	for {
		r.take(&s.pack)
		if s.alive && len(s.pack.texts) == 0 {
			s.pack.begin()
			s.pack.end()
		}
		s.alive = false
		s.count()
		if len(s.pack.texts) == 0 {
			return
		}
		err := s.notify(ctx)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.store.log.Warn(
			"other processes could not be notified; they find out by looking. Trying again",
			"error",
			mapError(err),
		)
		if !sleepFor(ctx, redial) {
			return
		}
		redial = min(2*redial, longestRedial)
		s.bound()
	}
}

// count tells the relay how many notifications wait.
func (s *sender) count() {
	s.relay.mu.Lock()
	s.relay.unsent = len(s.pack.texts)
	s.relay.mu.Unlock()
}

// bound drops what has waited here too long.
func (s *sender) bound() {
	if len(s.pack.texts) <= waitingBytes/noticeBytes {
		return
	}
	r := s.relay
	r.dropped.Add(int64(len(s.pack.texts)))
	s.pack.texts = nil
	r.mu.Lock()
	r.resync = true
	r.mu.Unlock()
}

// notify sends the next notifications, in a transaction of their own.
func (s *sender) notify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyBound)
	defer cancel()
	if s.conn == nil || s.conn.IsClosed() {
		config := s.relay.store.pool.Config().ConnConfig
		config.RuntimeParams["application_name"] += " notify"
		conn, err := connect(ctx, config)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	texts := s.pack.texts[:min(len(s.pack.texts), noticesAtOnce)]
	if len(texts) == len(s.pack.texts) {
		s.relay.stamp(s.pack.head.N)
	}
	if _, err := s.conn.Exec(
		ctx,
		"SELECT pg_notify('"+channel+"', notice) FROM unnest($1::text[]) notice",
		texts,
	); err != nil {
		_ = s.conn.Close(ctx) // it is no longer usable
		return err
	}
	s.relay.sent.Add(int64(len(texts)))
	if s.pack.texts = s.pack.texts[len(texts):]; len(s.pack.texts) == 0 {
		s.pack.texts = nil
	}
	return nil
}

// stamp records when a notification was sent, unless one is already being timed.
func (r *Relay) stamp(n uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.timed == 0 || now.Sub(r.timedAt) > silence {
		r.timed, r.timedAt = n, now
	}
}

// bye sends what still waits and announces that this process ends, so that nobody waits for it.
func (s *sender) bye() {
	if s.conn == nil || s.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), byeBound)
	defer cancel()
	s.relay.take(&s.pack)
	s.pack.head.Bye = true
	s.pack.begin()
	s.pack.end()
	for len(s.pack.texts) > 0 && s.notify(ctx) == nil {
	}
	if !s.conn.IsClosed() {
		_ = s.conn.Close(ctx) // the server notices
	}
}

// poke wakes a loop; a second poke merges with the first.
func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// sleepFor sleeps; false if ctx ended first.
func sleepFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
