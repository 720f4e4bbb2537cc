package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"example.org/parley/client"
)

// The sizes of the fairness trial: few slots, and one workspace whose turns take minutes, far
// more of them than there are slots.
const (
	fairSlots   = 8
	fairCrowd   = 600 // sessions of the busy workspace
	fairLong    = 30_000
	fairTries   = 5
	fairBound   = 20 * time.Second // without fairness a turn would wait for minutes
	fairPatient = time.Second      // how long another workspace's first turn may wait, in the median
)

// TestOneWorkspaceDelaysNoOther: while one workspace holds every slot for minutes, and
// hundreds of its turns wait, another one's first turn starts immediately.
func TestOneWorkspaceDelaysNoOther(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (database, int){
		"SQLite":     func(*testing.T) (database, int) { return sqliteFile(), 1 },
		"PostgreSQL": func(t *testing.T) (database, int) { t.Helper(); return postgresDatabase(t), 3 },
	} {
		t.Run(name, func(t *testing.T) {
			db, processes := open(t)
			fair(newTrial(t, max(*seed, 1), db, processes, 2, "--workers", fmt.Sprint(fairSlots), "--drain", "0s"))
		})
	}
}

func fair(x *trial) {
	ctx, cancel := context.WithTimeout(x.t.Context(), loadBound)
	defer cancel()
	busy, other := x.accounts[0], x.accounts[1]
	var posts sync.WaitGroup
	const writers = 16
	for writer := range writers {
		posts.Go(func() {
			for i := writer; i < fairCrowd; i += writers {
				d := &driver{
					watcher: watcher{
						x:       x,
						account: busy,
						random:  rand.New(rand.NewPCG(x.seed, uint64(i))),
						fold:    newFold(),
					},
				}
				d.begin(ctx, i, script{N: int(x.next.Add(1)), Steps: 1, Words: fairLong, PaceMS: 10})
			}
		})
	}
	posts.Wait()
	var waited []time.Duration
	for i := range fairTries {
		d := &driver{
			watcher: watcher{
				x:       x,
				account: other,
				random:  rand.New(rand.NewPCG(x.seed, uint64(fairCrowd+i))),
				fold:    newFold(),
			},
		}
		posted := time.Now()
		d.begin(ctx, i, script{N: int(x.next.Add(1)), Steps: 1, Words: 3, PaceMS: 0})
		bounded, stop := context.WithTimeout(ctx, fairBound)
		if !d.until(bounded, func() bool { return len(d.fold.ended) > 0 }) {
			x.problem("a turn of another workspace did not end within %s", fairBound)
		}
		stop()
		waited = append(waited, time.Since(posted))
		x.t.Logf("a turn of another workspace took %s", waited[i].Round(time.Millisecond))
	}
	slices.Sort(waited)
	if middle := waited[fairTries/2]; middle > fairPatient { // a single one may have met a busy moment of the machine
		x.problem("turns of another workspace take %s", middle)
	}
}

// begin opens a session with its first message.
func (d *driver) begin(ctx context.Context, number int, s script) {
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
		input := client.UserMessage(s.String())
		session, err := c.CreateSession(
			ctx,
			client.SessionInput{AgentID: "trial", Key: fmt.Sprintf("session-%d", number), Message: &input},
		)
		d.session = session.ID
		return err
	})
	if err != nil {
		d.refused(ctx, "opening", err)
	}
}
