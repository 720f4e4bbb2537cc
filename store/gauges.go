package store

import (
	"context"
	"time"

	"example.org/parley"
)

// QueueStats counts the waiting work of the whole database, for all processes.
type QueueStats struct {
	Foreground ReadyTurns
	Background ReadyTurns
	// turns parked for something outside, by reason; reasons without turns are absent
	Parked    map[parley.WaitReason]int
	Approvals int // unanswered questions, counted up to MaxQueueCount
}

// ReadyTurns counts sessions whose first unfinished turn may run but has no holder.
type ReadyTurns struct {
	Waiting int           // counted up to MaxQueueCount
	Oldest  time.Duration // how long the oldest has been ready, by the database's clock; 0 if none is
}

// MaxQueueCount is where counting the waiting turns of a priority stops, so the cost does not grow with the queue.
const MaxQueueCount = 100_000

// MaxParkedLook bounds how many sessions with an unfinished turn and no holder are examined for parked turns. Parked
// counts only those.
const MaxParkedLook = 10_000

// Gauges reports the load of a store.
type Gauges interface {
	// Queue counts the waiting work of all workspaces.
	Queue(ctx context.Context) (QueueStats, error)
	// Stats reports on this process's connections to the database, without a query.
	Stats() DatabaseStats
}

// DatabaseStats has either Writer or Pool set, depending on the database.
type DatabaseStats struct {
	Damage *Damage      // noticed since the store was opened; nil: none
	Writer *WriterStats // SQLite
	Pool   *PoolStats   // PostgreSQL
}

// WriterStats is the state of the single writer of a SQLite database. Counters start when the store opens.
type WriterStats struct {
	Queued      int   // waiting transitions
	Commits     int64 // transactions committed
	Transitions int64 // transitions in those; divided by Commits, the mean batch
}

// PoolStats is the state of a connection pool. Counters start when it opens.
type PoolStats struct {
	Max, Idle, Acquired, Opening int
	Acquires                     int64         // connections handed out
	WaitedAcquires               int64         // those that had to wait
	CancelledAcquires            int64         // given up while waiting
	Waited                       time.Duration // total wait of the successful ones
}

// RelayStats is the state of the relay that tells other processes of commits and deltas. Counters start with the
// process.
type RelayStats struct {
	Connected  bool          // the relay hears other processes
	Queued     int           // notifications waiting to be sent
	Sent       int64         // notifications
	Received   int64         // notifications
	Dropped    int64         // not sent; watchers elsewhere read the store instead
	Reconnects int64         // of the listening connection
	Lag        time.Duration // last measured delay from sending to hearing
}
