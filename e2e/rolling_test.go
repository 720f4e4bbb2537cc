package e2e

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// The load of a rolling restart: people who post one message after the other, each after
// the previous answer, and as many watchers.
const (
	rollingPeople = 12
	rollingPosts  = 3                 // per person, at least
	rollingModel  = "sim/lorem-20-10" // a turn of 0.2 s
)

// person posts, watches, and counts.
type person struct {
	session parley.ID
	posts   int
	watched *fold
}

// TestRollingRestart is failure 42 with deploy/haproxy.cfg: three processes on one
// PostgreSQL are replaced one after the other under load, and no request fails, although
// posts carry no key that would allow repeats; every message has its answer, and watchers
// saw what was recorded.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	environment := []string{"PARLEY_DATABASE_URL=" + databases.New(t)}
	var processes [3]*server
	var addresses [3]string
	for i := range processes {
		addresses[i] = "127.0.0.1:" + freePort(t)
		processes[i] = startWith(t, t.TempDir(), addresses[i], environment)
	}
	through := throughProxy(t, processes[0], startProxy(t, haproxy, addresses))

	ctx, enough := context.WithCancel(t.Context())
	people := make([]*person, rollingPeople)
	var load sync.WaitGroup
	var failed atomic.Int64
	for i := range people {
		p := &person{session: newSession(t, through, rollingModel).ID, watched: newFold(t)}
		people[i] = p
		load.Go(func() { // ends after enough posts, with its last turn
			for ctx.Err() == nil || p.posts < rollingPosts {
				if !p.talk(t, through) {
					failed.Add(1)
					return
				}
			}
		})
	}
	for i, old := range processes {
		old.terminate()
		processes[i] = startWith(t, old.at.dir, addresses[i], environment)
		awaitReady(t, processes[i].client)
	}
	enough()
	load.Wait()
	if failed.Load() > 0 {
		t.Fatalf("%d people had a failed request", failed.Load())
	}
	posts := 0
	for _, p := range people {
		messages := record(t, through, p.session)
		p.watched.check(messages)
		answers := 0
		for _, m := range messages {
			if m.Role == parley.RoleAssistant && m.Status == parley.MessageCompleted {
				answers++
			}
		}
		if answers != p.posts {
			t.Errorf("session %s has %d answers to %d messages", p.session, answers, p.posts)
		}
		posts += p.posts
	}
	t.Logf("%d messages", posts)
}

// talk posts one message and watches until its turn has ended, over as many connections as
// necessary: a process that stops ends its streams.
func (p *person) talk(t *testing.T, through *client.Client) bool {
	if _, err := through.PostMessage(t.Context(), p.session, client.UserMessage("go on")); err != nil {
		t.Errorf("post %d of session %s: %v", p.posts+1, p.session, err)
		return false
	}
	p.posts++
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for p.watched.ended < p.posts {
		for frame, err := range through.WatchSession(ctx, p.session, client.WatchSessionQuery{After: p.watched.last}) {
			if err != nil {
				if ctx.Err() != nil || parley.ErrorCode(err) != parley.CodeUnavailable {
					t.Errorf("watching turn %d of session %s: %v", p.posts, p.session, err)
					return false
				}
				break // its process stopped in the middle of a frame
			}
			if p.watched.take(frame); p.watched.ended == p.posts {
				break
			}
		}
	}
	return true
}
