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

// The clocks and bounds of what processes tell each other.
const (
	channel = "parley" // of notifications, as the schema; every database has its own

	mergeTime     = 2 * time.Millisecond  // between two rounds of notifications
	lazyTime      = 50 * time.Millisecond // until others hear what, as far as they have said, none of them waits for
	mostWatched   = 1 << 17               // sessions that others watch; commits to further ones are told lazily
	waitingBytes  = 8 << 20               // that wait to be sent, about; beyond it they are dropped, and that is said
	noticesAtOnce = 64                    // notifications of one statement
	beat          = 2 * time.Second       // between signs of life
	silence       = 5 * beat              // without one, the connection or the process is taken for gone
	aloneAfter    = 2 * beat              // of listening and hearing nobody: there is nobody to tell
	firstRedial   = 50 * time.Millisecond
	longestRedial = 5 * time.Second
	notifyBound   = 10 * time.Second // of one round, and of the making of a connection
	byeBound      = time.Second      // of the last word
	hintBytes     = 96               // of a waiting hint, beside its texts; about
)

// Relay implements store.Relay with NOTIFY: hints, and what is to be known of
// commits, are sent by a connection of its own, after the commit and never in its
// transaction, and heard by another one. It tells the store's listeners of the
// commits of other processes. Two goroutines do its work; Store.Close ends them.
type Relay struct {
	store *Store
	id    parley.ID // of this process, in notifications
	stop  context.CancelFunc
	loops sync.WaitGroup

	now   chan struct{} // of one: there is something to send
	soon  chan struct{} // of one: the same, but it may settle by itself in a moment
	later chan struct{} // of one: the same, but nobody waits for it

	connected               atomic.Bool
	alone                   atomic.Bool // nobody would hear what is told
	sent, received, dropped atomic.Int64
	reconnects, lag         atomic.Int64

	mu          sync.Mutex // guards all below
	listener    store.RelayListener
	commits     map[commitKey]*commitNotice
	watched     map[parley.ID]time.Time // sessions that others watch, and when that was last said
	interests   map[parley.ID]store.Interest
	pieces      []store.StreamPiece
	bytes       int // of what waits, about
	ask, resync bool
	unsent      int       // notifications that wait
	timed       uint32    // number of the one whose way is timed; 0 for none
	timedAt     time.Time // when it was sent
	echoed      time.Time // when this process last heard itself
}

// commitKey is where commits are merged.
type commitKey struct{ workspaceID, sessionID parley.ID }

// Relay carries hints to and from the other processes of the database. The first
// call starts it: without one, this process hears of the others' commits only by
// looking.
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

// close ends the goroutines, after a last word.
func (r *Relay) close() {
	r.stop()
	r.loops.Wait()
}

// Hear implements store.Relay.
func (r *Relay) Hear(listener store.RelayListener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = listener
}

// Stats tells how it fares.
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

// Committed implements store.Hints: what this process commits is told to others.
func (r *Relay) Committed(commit store.Commit) {
	if commit.Remote ||
		len(commit.Events)+len(commit.Feed) == 0 && !commit.Ready && !commit.Outbox && commit.Cancel.IsZero() {
		return
	}
	if r.alone.Load() {
		return
	}
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
		poke(r.soon) // this process may claim it in a moment
	case watched || slices.ContainsFunc(commit.Feed, func(f store.FeedEvent) bool {
		return f.Type != parley.FeedSessionStatusChanged
	}):
		poke(r.now)
	default:
		poke(r.later)
	}
}

// Tell implements store.Relay. Whoever comes asks to be told again.
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
	r.ask = r.ask || hints.Ask
	r.bound()
	r.mu.Unlock()
	poke(r.now)
}

// tellPiece adds a piece to what waits: to the end of the one before, if it
// continues it. r.mu is held.
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

// bound drops what waits when it is too much: others read everything again. r.mu
// is held.
func (r *Relay) bound() {
	if r.bytes <= waitingBytes {
		return
	}
	r.dropped.Add(int64(len(r.commits) + len(r.interests) + len(r.pieces)))
	r.drain()
	r.resync = true
}

// drain forgets what waits; r.mu is held.
func (r *Relay) drain() {
	r.commits, r.interests = map[commitKey]*commitNotice{}, map[parley.ID]store.Interest{}
	r.pieces, r.bytes, r.ask, r.resync = nil, 0, false, false
}

// take encodes what waits.
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
		add(p, interestItem, interestNotice{Session: wireID(i.SessionID), Pace: i.PaceMS, Flush: i.Flush, Over: i.Over})
	}
	for i := range r.pieces {
		p.addPiece(&r.pieces[i])
	}
	p.end()
	r.drain()
}

// sendLoop sends what there is to tell, merged, and signs of life. While the
// database is out of reach, what waits stays, and is sent afterwards.
func (r *Relay) sendLoop(ctx context.Context) {
	s := sender{relay: r, pack: packer{head: noticeHead{From: wireID(r.id)}}}
	defer s.bye() //nolint:contextcheck // the last word comes after the end
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

// gather waits until something is to be sent, as long as that may wait; false
// when ctx ended.
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

// sender is sendLoop's own.
type sender struct {
	relay *Relay
	pack  packer
	alive bool // a sign of life is due
	conn  *pgx.Conn
}

// round sends all that waits, however long the database is out of reach.
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

// bound drops what waits here for too long.
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

// notify sends the next notifications, in one transaction that does nothing else.
func (s *sender) notify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, notifyBound)
	defer cancel()
	if s.conn == nil || s.conn.IsClosed() {
		config := s.relay.store.pool.Config().ConnConfig
		config.RuntimeParams["application_name"] += " notify"
		conn, err := pgx.ConnectConfig(ctx, config)
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
		_ = s.conn.Close(ctx) // it is of no use any more
		return err
	}
	s.relay.sent.Add(int64(len(texts)))
	if s.pack.texts = s.pack.texts[len(texts):]; len(s.pack.texts) == 0 {
		s.pack.texts = nil
	}
	return nil
}

// stamp notes when a notification was sent, unless another one is on its way.
func (r *Relay) stamp(n uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.timed == 0 || now.Sub(r.timedAt) > silence {
		r.timed, r.timedAt = n, now
	}
}

// bye sends what waits still and says that this process ends, so that nobody
// waits for it.
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

// sleepFor waits; false when ctx ended first.
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
