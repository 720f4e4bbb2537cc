package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// faults breaks things, one after the other and sometimes two at once, but always leaves one
// process alone.
type faults struct {
	x      *trial
	work   int64 // turns done between two faults
	random *rand.Rand
	busy   []bool         // by process: whether a fault is acting on it
	mu     sync.Mutex     // guards busy
	wg     sync.WaitGroup // faults in progress
	leaves sync.RWMutex   // a draining process needs its database to the end
}

func newFaults(x *trial, work int) *faults {
	return &faults{
		x:      x,
		work:   int64(work),
		random: rand.New(rand.NewPCG(x.seed, 1<<40)),
		busy:   make([]bool, len(x.processes)),
	}
}

// Not left to chance: the fault at which the database restarts, once, and how often a fault
// is a freeze.
const (
	databaseRestart = 8
	freezeEvery     = 5
	firstFreeze     = 2
)

// idleBound is how long a fault waits for work to be done.
const idleBound = 15 * time.Second

// run breaks something every second or two until ctx ends, and returns when everything works
// again. On a busy machine it waits for work to be done in between: otherwise no process
// would live long enough to make progress, and the result would depend on the machine.
func (f *faults) run(ctx context.Context) {
	defer f.wg.Wait()
	for n := 1; ; n++ {
		done, since := f.x.done.Load(), time.Now()
		if !pause(ctx, time.Second+time.Duration(f.random.IntN(1000))*time.Millisecond) {
			return
		}
		for f.x.done.Load() < done+f.work && time.Since(since) < idleBound {
			if !pause(ctx, 50*time.Millisecond) {
				return
			}
		}
		if err := f.undisturbed(); err != nil {
			f.x.problem("%v", err)
			return
		}
		if n == databaseRestart && f.x.database.restart != nil {
			f.x.count("immediate restarts of the database")
			f.leaves.Lock()
			err := f.x.database.restart()
			f.leaves.Unlock()
			if err != nil {
				f.x.problem("restarting the database: %v", err)
			}
			continue
		}
		choice := f.random.IntN(100)
		if n%freezeEvery == firstFreeze {
			choice = freezes
		}
		f.one(choice)
	}
}

// How many of a hundred faults of a process are of which kind, cumulated.
const (
	kills   = 20
	freezes = 60
	drains  = 92
)

func (f *faults) one(choice int) {
	if cut := f.x.database.cutListeners; choice < 10 && cut != nil {
		f.cut("listening connections cut", cut)
		return
	}
	if cut := f.x.database.cutConnections; choice < kills && cut != nil {
		f.cut("connections cut", func() (int, error) { return cut(1 + f.random.IntN(8)) })
		return
	}
	i, ok := f.victim()
	if !ok {
		return
	}
	p, down := f.x.processes[i], time.Duration(f.random.IntN(700))*time.Millisecond
	past := shortLease + 300*time.Millisecond + time.Duration(f.random.IntN(1200))*time.Millisecond
	f.wg.Go(func() { // ends by itself
		defer f.done(i)
		var err error
		switch {
		case choice < freezes:
			f.x.count("kills")
			p.kill()
			err = f.revive(p, down)
		case choice < drains:
			f.x.count("freezes past the lease")
			if err = p.freeze(); err == nil {
				pause(context.Background(), past)
				err = p.thaw()
			}
		default:
			f.x.count("drains")
			err = errors.Join(f.drain(p), f.revive(p, down))
		}
		if err != nil {
			f.x.problem("%v", err)
		}
	})
}

// leftBehind is the last log line of a process that could not give back a turn in time, for
// example on a busy machine: the lease covers that turn.
const leftBehind = "a turn did not end"

// drain asks a process to end and waits until it has.
func (f *faults) drain(p *process) error {
	f.leaves.RLock()
	defer f.leaves.RUnlock()
	err := p.terminate()
	if err != nil && p.now.gone() && strings.Contains(p.now.tail(), leftBehind) {
		f.x.count("drains that left a turn behind")
		return nil
	}
	return err
}

// cut ends connections to the database.
func (f *faults) cut(what string, cut func() (int, error)) {
	n, err := cut()
	if err != nil {
		f.x.problem("%s: %v", what, err)
	}
	f.x.add(what, n)
}

// victim finds a process to break, if another one stays whole.
func (f *faults) victim() (int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var whole []int
	for i, busy := range f.busy {
		if !busy {
			whole = append(whole, i)
		}
	}
	if len(whole) == 0 || (len(whole) == 1 && len(f.busy) > 1) {
		return 0, false
	}
	i := whole[f.random.IntN(len(whole))]
	f.busy[i] = true
	return i, true
}

// undisturbed reports a process that has gone although nobody broke it.
func (f *faults) undisturbed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.x.processes {
		if !f.busy[i] {
			if err := p.alive(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *faults) done(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[i] = false
}

// revive starts a process again, which may take a while when the database
// restarts too.
func (f *faults) revive(p *process, after time.Duration) error {
	pause(context.Background(), after)
	deadline := time.Now().Add(startDeadline)
	for {
		err := p.start(context.Background())
		if err == nil || time.Now().After(deadline) {
			return err
		}
		f.x.count("starts refused")
		pause(context.Background(), 200*time.Millisecond)
	}
}
