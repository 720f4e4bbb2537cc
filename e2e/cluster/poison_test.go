package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// The size of the trials of poisoned turns.
const (
	poisonSessions = 12               // of bystanders, one turn after the other
	poisonBound    = 20 * time.Minute // for 200 deaths
	poisonDeaths   = 3                // that a turn may cost
	fewestDone     = 20               // turns of bystanders
)

// TestPoisonedTurns: neither turns that kill every process that runs them nor kills from
// outside fail any other turn, and each such turn kills at most two more processes after the
// first: failures 68 and 74.
func TestPoisonedTurns(t *testing.T) {
	row(t, func(t *testing.T, at uint64) {
		poisoned(newTrial(t, at, postgresDatabase(t), 3, 2), *deaths)
	})
}

// TestPoisonedTurnsOnSQLite is the trial with the single process that SQLite allows.
func TestPoisonedTurnsOnSQLite(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, at uint64) {
		poisoned(newTrial(t, at, sqliteFile(), 1, 2), *deaths)
	})
}

// poisoned starts one poisoned turn after the other among harmless ones until processes have
// died a number of times.
func poisoned(x *trial, least int) {
	defer x.tell()
	ctx, cancel := context.WithTimeout(x.t.Context(), poisonBound)
	defer cancel()
	w := &ward{x: x, random: rand.New(rand.NewPCG(x.seed, 1<<42))}
	nursing, leave := context.WithCancel(ctx)
	defer leave()
	var nurses, load sync.WaitGroup
	for _, p := range x.processes {
		kill := make(chan struct{})
		w.kills = append(w.kills, kill)
		nurses.Go(func() { w.nurse(nursing, p, kill) })
	}
	working, enough := context.WithCancel(ctx)
	defer enough()
	drivers := x.drivers(ctx, poisonSessions+1)
	for _, d := range drivers[1:] {
		load.Go(func() {
			for working.Err() == nil {
				w.bystander(ctx, d)
			}
		})
	}
	for round := 1; int(w.deaths.Load()) < least && ctx.Err() == nil; round++ {
		before := w.deaths.Load()
		killed := round%3 == 0 // also from outside
		if killed {
			w.kills[w.random.IntN(len(w.kills))] <- struct{}{}
			x.count("kills from outside")
		}
		w.poison(ctx, drivers[0])
		if cost := w.deaths.Load() - before; !killed && cost > poisonDeaths {
			x.problem("a poisoned turn took down %d processes", cost)
		}
	}
	enough()
	load.Wait()
	leave()
	nurses.Wait()
	x.add("deaths", int(w.deaths.Load()))
	x.add("turns of bystanders", int(x.done.Load()))
	if x.done.Load() < fewestDone {
		x.problem("beside them %d turns were done; want %d", x.done.Load(), fewestDone)
	}
	if ctx.Err() != nil {
		x.problem("the trial took longer than %s", poisonBound)
	}
	x.checkNothingLeft()
	x.provider.tell(x)
	x.terminate()
}

// ward holds the processes of a trial in which they die.
type ward struct {
	x      *trial
	random *rand.Rand
	kills  []chan struct{} // by process
	deaths atomic.Int64
}

// nurse restarts a process whenever it has died, until ctx ends.
func (w *ward) nurse(ctx context.Context, p *process, kill <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-kill:
			_ = p.now.command.Process.Kill() // it may have died by itself
			<-p.now.exited
		case <-p.now.exited:
		}
		w.deaths.Add(1)
		err := p.start(ctx)
		// A server runs the turns that it finds before it reports that it listens, and may die of one.
		for early := 1; errors.Is(err, errDied) && early < poisonDeaths; early++ {
			w.deaths.Add(1)
			err = p.start(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.x.problem("%v", err)
			return
		}
	}
}

// bystander lets one harmless turn run to its end.
func (w *ward) bystander(ctx context.Context, d *driver) {
	s := script{
		N:      int(w.x.next.Add(1)),
		Steps:  1 + d.random.IntN(2),
		Words:  10 + d.random.IntN(20),
		PaceMS: 20 + d.random.IntN(20),
		Times:  1,
	}
	turn, err := w.turn(ctx, d, s)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.x.problem("a bystander's turn: %v", err)
	case turn.Status != parley.TurnCompleted:
		w.x.problem("the harmless turn %s is %s: %+v", turn.ID, turn.Status, turn.Error)
	default:
		w.x.done.Add(1)
	}
}

// poison lets one poisoned turn run until it is found guilty.
func (w *ward) poison(ctx context.Context, d *driver) {
	turn, err := w.turn(ctx, d, script{N: int(w.x.next.Add(1)), Steps: 2, Words: 3, PaceMS: 10, Poison: 1})
	switch {
	case err != nil:
		w.x.problem("a poisoned turn: %v", err)
	case turn.Error == nil || turn.Error.Class != parley.ClassCrashLoop:
		w.x.problem("the poisoned turn %s is %s: %+v", turn.ID, turn.Status, turn.Error)
	default:
		w.x.count("poisoned turns found")
	}
}

// turn posts a message and waits for the end of its turn.
func (w *ward) turn(ctx context.Context, d *driver, s script) (turn parley.Turn, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	var posted client.Posted
	key := fmt.Sprintf("n%d", s.N)
	if err := w.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
		posted, err = c.Post(ctx, d.session, client.UserMessage(s.String()), client.IdempotencyKey(key))
		return err
	}); err != nil {
		return turn, err
	}
	for !turn.Status.Finished() {
		if !pause(ctx, 100*time.Millisecond) {
			return turn, fmt.Errorf("turn %s is %s after %s", posted.Message.TurnID, turn.Status, settleBound)
		}
		if err := w.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
			turn, err = c.Turn(ctx, posted.Message.TurnID)
			return err
		}); err != nil {
			return turn, err
		}
	}
	return turn, nil
}
