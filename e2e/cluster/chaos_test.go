package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// The trial as CI runs it; -size multiplies the load.
const (
	chaosSessions = 100
	chaosTurns    = 600
	chaosWatchers = 15              // besides the drivers
	chaosWork     = 15              // turns that end between two faults, normally within a second
	chaosThink    = 2 * time.Second // mean time between two messages of a person
	loadBound     = 10 * time.Minute
	repairBound   = 20 * time.Second
)

// TestChaosOnSQLite is the trial with the single process that SQLite allows: failures 30,
// 31, 33 and 42 under a load of many sessions.
func TestChaosOnSQLite(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, at uint64) {
		chaos(newTrial(t, at, sqliteFile(), 1, 2), *size*40, *size*200, *size*10, 10, 2*time.Second)
	})
}

// TestChaos is the trial of many processes on PostgreSQL, with different clocks: failures
// 22, 28, 30 to 34, 39 to 41 and 49.
func TestChaos(t *testing.T) {
	row(t, func(t *testing.T, at uint64) {
		x := newTrial(t, at, postgresDatabase(t), 3, 3)
		x.checkClocks()
		chaos(x, *size*chaosSessions, *size*chaosTurns, *size*chaosWork, *size*chaosWatchers, chaosThink)
		for _, name := range []string{"parley_fenced_writes_total", "parley_takeovers_total"} {
			if x.counts[name] == 0 {
				t.Errorf("%s is 0: the trial did not exercise its purpose", name)
			}
		}
	})
}

// row runs a trial as often as requested, each time with a seed of its own.
func row(t *testing.T, once func(*testing.T, uint64)) {
	t.Helper()
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	for i := range *trials {
		at := first + uint64(i)
		if !t.Run(fmt.Sprint(at), func(t *testing.T) { once(t, at) }) {
			t.Fatalf("again with: go test ./e2e/cluster -run '%s$' -count=1 -seed %d", t.Name(), at)
		}
	}
}

// chaos lets people work in sessions, breaks something after every few turns, and checks the
// record once everything is quiet again.
func chaos(x *trial, sessions, turns, work, watchers int, think time.Duration) {
	defer x.tell()
	ctx, cancel := context.WithTimeout(x.t.Context(), loadBound)
	defer cancel()
	drivers := x.drivers(ctx, sessions)
	breaking, whole := context.WithCancel(ctx)
	defer whole()
	var breaks, load, meters sync.WaitGroup
	breaks.Go(func() { newFaults(x, work).run(breaking) })
	metering, metered := context.WithCancel(ctx)
	defer metered()
	meters.Go(func() { newMeter(x).run(metering) })
	others := x.watchAll(ctx, drivers, watchers)
	began := time.Now()
	for _, d := range drivers {
		load.Go(func() { d.drive(ctx, turns/sessions, think) })
	}
	load.Wait()
	x.t.Logf("the load took %s", time.Since(began).Round(time.Second))
	whole()
	breaks.Wait()
	x.settle(ctx, drivers)
	others.leave()
	metered()
	meters.Wait()
	x.checkNothingLeft()
	if ctx.Err() != nil {
		x.problem("the trial took longer than %s", loadBound)
	}
	x.terminate()
	x.verify(drivers, others.watchers)
}

// settle waits until no turn is unfinished and the drivers have seen the end.
func (x *trial) settle(ctx context.Context, drivers []*driver) {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	for _, d := range drivers {
		var s parley.Session
		for {
			err := x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
				s, err = c.Session(ctx, d.session)
				return err
			})
			if err == nil && s.TurnID.IsZero() {
				break
			}
			if ctx.Err() != nil || (err != nil && parley.ErrorCode(err) != parley.CodeUnavailable) {
				x.problem("session %s does not come to rest: turn %s, %v", d.session, s.TurnID, err)
				break
			}
			if s.Status == parley.SessionWaiting { // a steer that became a turn of its own may wait for the client
				d.answer(ctx)
			}
			pause(ctx, 50*time.Millisecond)
		}
		if !d.until(ctx, func() bool { return d.fold.last >= s.LastEvent }) {
			x.problem("session %s: the driver's stream stands at event %d of %d", d.session, d.fold.last, s.LastEvent)
		}
	}
}

// audience are watchers that stay at one process until their connection breaks: events that
// they miss must arrive by themselves.
type audience struct {
	x        *trial
	watchers []*watcher
	drivers  []*driver // whose sessions they watch
	stop     context.CancelFunc
	wg       sync.WaitGroup
}

func (x *trial) watchAll(ctx context.Context, drivers []*driver, count int) *audience {
	ctx, stop := context.WithCancel(ctx)
	a := &audience{x: x, stop: stop}
	for i := range count {
		d := drivers[i*len(drivers)/count]
		w := &watcher{
			x:       x,
			account: d.account,
			session: d.session,
			stays:   true,
			fold:    newFold(),
			random:  rand.New(rand.NewPCG(x.seed, 1<<41+uint64(i))),
		}
		a.watchers, a.drivers = append(a.watchers, w), append(a.drivers, d)
		a.wg.Go(func() { w.until(ctx, func() bool { return false }) }) // ended by leave
	}
	return a
}

// leave waits until the audience has seen everything, for as long as it may take to repair a
// lost notification, and ends it.
func (a *audience) leave() {
	deadline, cancel := context.WithTimeout(context.Background(), repairBound)
	defer cancel()
	for i, w := range a.watchers {
		for w.seen.Load() < a.drivers[i].fold.last {
			if !pause(deadline, 20*time.Millisecond) {
				a.x.problem(
					"session %s: a watcher that stays at its process stands at event %d of %d",
					w.session,
					w.seen.Load(),
					a.drivers[i].fold.last,
				)
				break
			}
		}
	}
	a.stop()
	a.wg.Wait()
}
