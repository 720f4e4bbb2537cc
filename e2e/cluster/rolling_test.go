package cluster

import (
	"context"
	"sync"
	"testing"
	"time"
)

// The rolling trial's size.
const (
	rollingSessions = 60
	rollingMessages = 5 // per person
	rollingThink    = time.Second
	rollingWords    = 250 // some turns outlast the drain and change hands
)

// TestRollingRestart is failure 42: the processes of a cluster are restarted one after the
// other behind a balancer, under load. No request fails; a stream that ends early resumes
// after its last event.
func TestRollingRestart(t *testing.T) {
	row(t, func(t *testing.T, at uint64) {
		x := newTrial(t, at, postgresDatabase(t), 3, 2, "--drain", "1s", "--drain-wait", "4s")
		x.strict, x.words = true, rollingWords
		b := newBalancer(t, x.processes)
		x.through(b)
		rolling(x, b)
	})
}

func rolling(x *trial, b *balancer) {
	defer x.tell()
	ctx, cancel := context.WithTimeout(x.t.Context(), loadBound)
	defer cancel()
	drivers := x.drivers(ctx, rollingSessions)
	loaded, over := context.WithCancel(ctx)
	defer over()
	var load, restarts sync.WaitGroup
	for _, d := range drivers {
		load.Go(func() { // each process is replaced under load, however long that takes
			d.drive(ctx, rollingMessages, rollingThink)
			for x.counted("restarts") < len(x.processes) && ctx.Err() == nil {
				d.drive(ctx, len(d.posts)+1, rollingThink)
			}
		})
	}
	restarts.Go(func() { x.restartInTurn(loaded, b) })
	load.Wait()
	over()
	restarts.Wait()
	x.settle(ctx, drivers)
	x.checkNothingLeft()
	x.terminate()
	x.verify(drivers, nil)
}

// restartInTurn restarts one process after the other, each when the previous one is ready,
// until ctx ends.
func (x *trial) restartInTurn(ctx context.Context, b *balancer) {
	for i := 0; pause(ctx, time.Second); i = (i + 1) % len(x.processes) {
		p := x.processes[i]
		if err := p.terminate(); err != nil {
			x.problem("%v", err)
			return
		}
		if err := p.start(context.Background()); err != nil {
			x.problem("%v", err)
			return
		}
		deadline, cancel := context.WithTimeout(context.Background(), startDeadline)
		for !b.ready[i].Load() {
			if !pause(deadline, 20*time.Millisecond) {
				x.problem("%s is not ready within %s", p.name, startDeadline)
				break
			}
		}
		cancel()
		x.count("restarts")
	}
}
