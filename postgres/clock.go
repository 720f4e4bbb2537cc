package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"example.org/parley"
)

// clock estimates the database's time without asking for it: it measures now and then how far this machine's clock
// differs. Nothing that fences uses it; rows and lists carry its times, so processes whose clocks differ agree on them
// to within a round trip.
type clock struct {
	ahead atomic.Int64 // of the database, milliseconds
}

// Now returns the current time by the database's clock.
func (c *clock) Now() parley.Time { return parley.Now() + parley.Time(c.ahead.Load()) }

// heard takes the database's time at some moment between two of ours.
func (c *clock) heard(asked time.Time, database parley.Time) {
	halfway := parley.TimeOf(asked.Add(time.Since(asked) / 2))
	c.ahead.Store(int64(database - halfway))
}

// calibrate asks the database for its time.
func (s *Store) calibrate(ctx context.Context) error {
	asked := time.Now()
	b := system()
	b.read("SELECT parley.now_ms()", func(r *row) error {
		s.clock.heard(asked, r.time())
		return nil
	})
	return s.send(ctx, b)
}
