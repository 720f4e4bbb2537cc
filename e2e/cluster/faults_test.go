package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// faults breaks things, one after the other and sometimes two at once, but
// leaves one process alone at any time.
type faults struct {
	x      *trial
	random *rand.Rand
	busy   []bool         // by process: something is being done to it
	mu     sync.Mutex     // guards busy
	wg     sync.WaitGroup // what is being done
}

func newFaults(x *trial) *faults {
	return &faults{x: x, random: rand.New(rand.NewPCG(x.seed, 1<<40)), busy: make([]bool, len(x.processes))}
}

// databaseRestart is the fault at which the database restarts, once.
const databaseRestart = 8

// run breaks something every second or two until ctx ends, and returns when all
// is whole again.
func (f *faults) run(ctx context.Context) {
	defer f.wg.Wait()
	for n := 1; ; n++ {
		if !pause(ctx, time.Second+time.Duration(f.random.IntN(1000))*time.Millisecond) {
			return
		}
		if err := f.undisturbed(); err != nil {
			f.x.problem("%v", err)
			return
		}
		if n == databaseRestart && f.x.database.restart != nil {
			f.x.count("immediate restarts of the database")
			if err := f.x.database.restart(); err != nil {
				f.x.problem("restarting the database: %v", err)
			}
			continue
		}
		f.one()
	}
}

func (f *faults) one() {
	choice := f.random.IntN(100)
	if cut := f.x.database.cutListeners; choice < 10 && cut != nil {
		f.cut("listening connections cut", cut)
		return
	}
	if cut := f.x.database.cutConnections; choice < 20 && cut != nil {
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
		case choice < 60:
			f.x.count("kills")
			p.kill()
			err = f.revive(p, down)
		case choice < 92:
			f.x.count("freezes past the lease")
			if err = p.freeze(); err == nil {
				pause(context.Background(), past)
				err = p.thaw()
			}
		default:
			f.x.count("drains")
			if err = p.terminate(); err == nil {
				err = f.revive(p, down)
			}
		}
		if err != nil {
			f.x.problem("%v", err)
		}
	})
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

// undisturbed reports a process that is not there although nobody broke it.
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
