package store

import (
	"context"
	"time"

	"example.org/parley"
)

// QueueStats is the work that waits in the whole database, for all processes.
type QueueStats struct {
	Foreground ReadyTurns
	Background ReadyTurns
	// turns that wait for something outside, by what; reasons without one are left out
	Parked    map[parley.WaitReason]int
	Approvals int // questions that nobody has answered, counted up to MaxQueueCount
}

// ReadyTurns are the sessions whose first unfinished turn may run and is held by nobody.
type ReadyTurns struct {
	Waiting int           // counted up to MaxQueueCount
	Oldest  time.Duration // how long the oldest has been ready, by the database's clock; 0 when none waits
}

// MaxQueueCount is where counting the waiting turns of a priority ends: the cost
// of a look at the queue does not grow with it.
const MaxQueueCount = 100_000

// MaxParkedLook is how many sessions with an unfinished turn that nobody runs are
// looked at for those that wait for something outside. Beyond it Parked tells of
// the first so many.
const MaxParkedLook = 10_000

// Gauges tells how loaded a store is.
type Gauges interface {
	// Queue looks at the work that waits, all workspaces together.
	Queue(ctx context.Context) (QueueStats, error)
	// Stats tells of this process's way into the database. It asks no database.
	Stats() DatabaseStats
}

// DatabaseStats has the one part set that the database has.
type DatabaseStats struct {
	Damage *Damage      // noticed since the store was opened; nil: none
	Writer *WriterStats // SQLite
	Pool   *PoolStats   // PostgreSQL
}

// WriterStats is the state of the one writer of a SQLite database. Counts are
// since the store was opened.
type WriterStats struct {
	Queued      int   // transitions that wait
	Commits     int64 // transactions committed
	Transitions int64 // in them: per commit, the size of a batch
}

// PoolStats is the state of a pool of connections. Counts are since it was opened.
type PoolStats struct {
	Max, Idle, Acquired, Opening int
	Acquires                     int64         // connections handed out
	WaitedAcquires               int64         // of them, those that had to wait for one
	CancelledAcquires            int64         // given up while waiting
	Waited                       time.Duration // in all, by the successful ones
}

// RelayStats is the state of what tells other processes of commits and deltas.
// Counts are since the process's start.
type RelayStats struct {
	Connected  bool          // it hears the others
	Queued     int           // notifications that wait to be sent
	Sent       int64         // notifications
	Received   int64         // notifications
	Dropped    int64         // that were not sent: watchers elsewhere repair from the store
	Reconnects int64         // of the connection that listens
	Lag        time.Duration // from sending to hearing, as measured last
}
