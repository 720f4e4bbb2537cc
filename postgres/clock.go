package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"example.org/parley"
)

// clock tells the database's time without asking it: how far this machine's
// clock is from the database's is measured now and then. What fences does not
// ask it; rows and lists carry its times, so that processes whose clocks differ
// agree on them to within a round trip.
type clock struct {
	ahead atomic.Int64 // of the database, milliseconds
}

// Now is the present by the database's clock.
func (c *clock) Now() parley.Time { return parley.Now() + parley.Time(c.ahead.Load()) }

// heard takes the database's time as it was at some moment between two of ours.
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
