package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// The bounds between the engine and the store's audit.
const (
	auditBuffer = 8192                   // most entries waiting for the store
	auditBatch  = 256                    // most entries in one transaction
	auditPause  = 250 * time.Millisecond // how long entries are gathered
	auditWait   = 2 * time.Second        // how long a call waits for room in the buffer
	auditRetry  = time.Second            // between attempts while the store refuses
	auditClose  = 3 * time.Second        // time for the last entries when the log is closed
)

// AuditLog writes audit entries of calls that changed nothing to the store, in batches and without delaying those
// calls; entries of changes are written with the change. Close it after the last call and before the store.
type AuditLog struct {
	store   store.AuditTrail
	log     *slog.Logger
	entries chan parley.AuditEntry
	stop    chan struct{}
	closed  sync.Once
	done    chan struct{}
	lost    atomic.Int64
}

// NewAuditLog starts the log's goroutine, which Close ends.
func NewAuditLog(store store.AuditTrail, log *slog.Logger) *AuditLog {
	l := &AuditLog{
		store: store, log: log, entries: make(chan parley.AuditEntry, auditBuffer),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go l.run()
	return l
}

// Close writes the waiting entries and ends the log; later entries are lost.
func (l *AuditLog) Close() {
	l.closed.Do(func() { close(l.stop) })
	<-l.done
}

// record queues an entry. While the store is behind by a whole buffer it waits; an entry that still finds no room is
// counted and reported as lost.
func (l *AuditLog) record(ctx context.Context, entry parley.AuditEntry) {
	select {
	case l.entries <- entry:
		return
	default:
	}
	timer := time.NewTimer(auditWait)
	defer timer.Stop()
	select {
	case l.entries <- entry:
	case <-timer.C:
		l.lose(ctx, 1, "the store does not accept them")
	case <-l.stop:
		l.lose(ctx, 1, "the server stops")
	}
}

func (l *AuditLog) lose(ctx context.Context, n int, why string) {
	l.log.LogAttrs(
		ctx,
		slog.LevelError,
		"audit entries were lost",
		slog.Int("entries", n),
		slog.Int64("in_all", l.lost.Add(int64(n))),
		slog.String("because", why),
	)
}

// run gathers entries for a while, or until a batch is full, and writes them.
func (l *AuditLog) run() {
	defer close(l.done)
	batch := make([]parley.AuditEntry, 0, auditBatch)
	for {
		select {
		case entry := <-l.entries:
			batch = append(batch[:0], entry)
		case <-l.stop:
			l.last(batch[:0])
			return
		}
		timer := time.NewTimer(auditPause)
		for gathering := true; gathering && len(batch) < auditBatch; {
			select {
			case entry := <-l.entries:
				batch = append(batch, entry)
			case <-timer.C:
				gathering = false
			case <-l.stop:
				gathering = false
			}
		}
		timer.Stop()
		if !l.write(batch) {
			l.last(batch)
			return
		}
	}
}

// write keeps trying until the store has the batch; false if the log is closed first.
func (l *AuditLog) write(batch []parley.AuditEntry) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for told := false; ; told = true {
		err := l.store.AppendAudit(ctx, batch)
		if err == nil {
			return true
		}
		if !told {
			l.log.LogAttrs(
				ctx,
				slog.LevelWarn,
				"the store does not accept audit entries; they wait",
				slog.String("error", err.Error()),
			)
		}
		timer := time.NewTimer(auditRetry)
		select {
		case <-timer.C:
		case <-l.stop:
			timer.Stop()
			return false
		}
	}
}

// last writes the remaining entries, within the time that closing allows.
func (l *AuditLog) last(left []parley.AuditEntry) {
	for more := true; more; {
		select {
		case entry := <-l.entries:
			left = append(left, entry)
		default:
			more = false
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), auditClose)
	defer cancel()
	for batch := range slices.Chunk(left, auditBatch) {
		err := l.store.AppendAudit(ctx, batch)
		for err != nil && ctx.Err() == nil {
			timer := time.NewTimer(auditPause)
			select {
			case <-timer.C:
				err = l.store.AppendAudit(ctx, batch)
			case <-ctx.Done():
				timer.Stop()
			}
		}
		if err != nil {
			l.lose(ctx, len(batch), err.Error())
		}
	}
}
