package postgres

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/store"
)

// leaseConn is the connection for lease renewals, apart from the pool, so a renewal never waits for a pooled
// connection. It is opened on first use, and again after it breaks.
type leaseConn struct {
	config *pgx.ConnConfig
	bound  time.Duration // time limit of one attempt

	mu     sync.Mutex // held for a round trip; guards conn and closed
	conn   *pgx.Conn
	closed bool
}

// send sends a batch that is safe to repeat, and replaces a broken connection once. build makes the batch anew for each
// attempt, together with what it fills.
func (l *leaseConn) send(ctx context.Context, build func() *batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for again := true; ; again = false {
		err := l.once(ctx, build())
		if err == nil || !again || !unsent(err) && !unknown(err) {
			return err
		}
	}
}

func (l *leaseConn) once(ctx context.Context, b *batch) error {
	ctx, cancel := context.WithTimeout(ctx, l.bound)
	defer cancel()
	switch {
	case l.closed:
		return parley.Errorf(parley.CodeUnavailable, "the store is closed; the server is shutting down")
	case l.conn == nil || l.conn.IsClosed():
		conn, err := connect(ctx, l.config.Copy())
		if err != nil {
			return err
		}
		l.conn = conn
	}
	return l.conn.SendBatch(ctx, b.queued("", "")).Close()
}

func (l *leaseConn) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn == nil || l.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cancelBound)
	defer cancel()
	return l.conn.Close(ctx)
}

// RegisterProcess implements store.Leases.
func (s *Store) RegisterProcess(ctx context.Context, process store.Process, lease time.Duration) error {
	return mapError(s.lease.send(ctx, func() *batch {
		b := system()
		b.write(
			`INSERT INTO parley.processes (id, name, slots, started_at, lease_until) SELECT $1, $2, $3, now, now + $4
				FROM parley.now_ms() now
 ON CONFLICT (id) DO NOTHING`,
			process.ID,
			process.Name,
			process.Slots,
			lease.Milliseconds(),
		) // a repeated attempt finds it
		return b
	}))
}

// RenewLease implements store.Leases. It extends an expired lease that no sweep has taken: its turns still belong to
// this process.
func (s *Store) RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) ([]parley.ID, error) {
	var known int64
	var cancels []parley.ID
	err := s.lease.send(ctx, func() *batch {
		cancels = nil
		asked := time.Now()
		b := system()
		b.counted(
			&known,
			"UPDATE parley.processes SET lease_until = parley.now_ms() + $2 WHERE id = $1",
			processID,
			lease.Milliseconds(),
		)
		b.read(
			"SELECT cancel_turn FROM parley.heads WHERE holder = $1 AND cancel_turn IS NOT NULL "+
				"AND turn_id IS NOT NULL",
			func(r *row) error {
				cancels = append(cancels, r.id())
				return nil
			},
			processID,
		)
		b.read("SELECT parley.now_ms()", func(r *row) error {
			s.clock.heard(asked, r.time())
			return nil
		})
		return b
	})
	if err != nil {
		return nil, mapError(err)
	}
	if known == 0 {
		return nil, parley.Errorf(parley.CodeFenced, "this process has lost its lease")
	}
	return cancels, nil
}

// ReleaseProcess implements store.Leases.
func (s *Store) ReleaseProcess(ctx context.Context, processID parley.ID) error {
	return mapError(s.lease.send(ctx, func() *batch {
		b := system()
		b.write("DELETE FROM parley.processes WHERE id = $1", processID)
		return b
	}))
}

// HeldTurns implements store.Leases.
func (s *Store) HeldTurns(ctx context.Context, processID parley.ID) (held []store.Fence, err error) {
	err = s.read(ctx, func() *batch {
		held = nil
		b := system()
		b.read(
			"SELECT workspace_id, session_id, turn_id, epoch FROM parley.heads "+
				"WHERE holder = $1 AND turn_id IS NOT NULL AND deleted_at IS NULL",
			func(r *row) error {
				held = append(
					held,
					store.Fence{WorkspaceID: r.id(), SessionID: r.id(), TurnID: r.id(), Epoch: r.int64()},
				)
				return nil
			},
			processID,
		)
		return b
	})
	return held, err
}

// NextExpiry implements store.Leases.
func (s *Store) NextExpiry(ctx context.Context) (time.Duration, error) {
	left := math.MaxInt64 / int64(time.Millisecond)
	err := s.read(ctx, func() *batch {
		b := system()
		b.read("SELECT min(lease_until) - parley.now_ms() FROM parley.processes", func(r *row) error {
			if until := r.maybe(); until != nil {
				left = *until
			}
			return nil
		})
		return b
	})
	return time.Duration(left) * time.Millisecond, err
}
