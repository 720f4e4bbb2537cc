package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/bench"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// The load of the schedules: all of a workspace are due at the same moment.
const (
	dueSchedules = 10_000
	dueIn        = 30 * time.Second // after they are made: room to say so in each, and to start the server
	dueWithin    = time.Minute      // all must be posted
	day          = 24 * time.Hour
	dueTries     = 20 // first turns of the other workspace, spread over half of that minute
)

// scheduleFigures measures how late the messages of many schedules are posted, and how long another workspace's turn
// waits for its first token meanwhile.
func scheduleFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		if err := l.schedules(ctx, out, database); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) schedules(ctx context.Context, out io.Writer, database string) error {
	settings := []string{fmt.Sprint("PARLEY_WORKERS=", fairSlots), "PARLEY_DRAIN=0s"}
	address := ""
	if database == "PostgreSQL" {
		var err error
		if address, err = l.database(ctx); err != nil {
			return err
		}
		settings = append(settings, "PARLEY_DATABASE_URL="+address)
	}
	server, err := l.start(ctx, settings...)
	if err != nil {
		return err
	}
	busy, err := server.tenant(ctx, "busy", bench.ModelName(400, 5*time.Millisecond))
	if err != nil {
		return err
	}
	other, err := server.tenant(ctx, "other", bench.ModelName(1, 0))
	if err != nil {
		return err
	}
	alone, err := other.firstTurns(ctx)
	if err != nil {
		return err
	}
	if err := server.Stop(); err != nil {
		return err
	}
	due, err := fillSchedules(ctx, server.dir, address)
	if err != nil {
		return err
	}
	again, err := l.startIn(ctx, server.dir, settings...)
	if err != nil {
		return err
	}
	busy.addr, other.addr = again.addr, again.addr
	time.Sleep(time.Until(due))
	var beside []time.Duration
	for range dueTries {
		one, err := other.firstTurn(ctx)
		if err != nil {
			return errors.Join(err, again.end())
		}
		beside = append(beside, one)
		time.Sleep(dueWithin / 2 / dueTries)
	}
	slices.Sort(beside)
	time.Sleep(time.Until(due.Add(dueWithin)))
	posted, late, err := busy.posted(ctx)
	if err != nil {
		return errors.Join(err, again.end())
	}
	fmt.Fprintf(
		out,
		"%s, of %d schedules due at once: %d posted, the last after %v (bound %v)\n",
		database,
		dueSchedules,
		posted,
		late.Round(100*time.Millisecond),
		dueWithin,
	)
	fmt.Fprintf(
		out,
		"%s, first token of another workspace beside them: %v in the middle, %v at worst of %d (bound 1 s more than "+
			"the %v with nothing beside)\n",
		database,
		beside[len(beside)/2].Round(time.Millisecond),
		beside[len(beside)-1].Round(time.Millisecond),
		len(beside),
		alone[len(alone)/2].Round(time.Millisecond),
	)
	return again.end()
}

// fillSchedules makes agents with a schedule each, which are all due in a moment. No server runs.
func fillSchedules(ctx context.Context, dir, address string) (at time.Time, err error) {
	var db store.Store
	if address == "" {
		db, err = sqlite.Open(ctx, dir, sqlite.Options{Log: slog.New(slog.DiscardHandler)})
	} else {
		db, err = postgres.Open(ctx, address, postgres.Options{Log: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	workspace, err := db.Workspace(ctx, "busy")
	if err != nil {
		return at, err
	}
	agentOfAll, err := db.Agent(ctx, workspace, "bench")
	if err != nil {
		return at, err
	}
	undrawn := false // a turn is one call
	agentOfAll.DrawKnowledge = &undrawn
	made := make([]parley.Schedule, dueSchedules)
	if err := eachAtOnce(dueSchedules, func(i int) error {
		one := agentOfAll
		one.ID, one.Slug = parley.NewID(), fmt.Sprintf("agent-%d", i)
		agent, _, err := db.CreateAgent(ctx, one, store.Idempotency{})
		if err != nil {
			return err
		}
		made[i], _, err = db.CreateSchedule(ctx, store.NewSchedule{Schedule: parley.Schedule{
			ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent.ID, Enabled: true, Message: prompt,
			Timing:  parley.Timing{Every: "24h", TimeZone: "UTC", Anchor: db.Now()},
			Overlap: parley.OverlapSkip, Missed: parley.MissedOnce, NextAt: db.Now() + parley.Time(day.Milliseconds()),
			Author: parley.Author{Kind: parley.AuthorPerson, ID: one.OwnerID, Name: "figures"},
		}})
		return err
	}); err != nil {
		return at, err
	}
	due := db.Now() + parley.Time(dueIn.Milliseconds())
	return due.Std(), eachAtOnce(dueSchedules, func(i int) error {
		_, err := db.MoveSchedule(ctx, store.ScheduleMove{Schedule: made[i], NextAt: due})
		return err
	})
}

// eachAtOnce calls a function for each number below n, some at once.
func eachAtOnce(n int, do func(int) error) error {
	var mu sync.Mutex // guards failed
	var failed error
	var all sync.WaitGroup
	for writer := range fairWriters {
		all.Go(func() {
			for i := writer; i < n; i += fairWriters {
				if err := do(i); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return failed
}

// posted counts the schedules that have run, and returns how late the last one was.
func (p *parleyRun) posted(ctx context.Context) (n int, late time.Duration, err error) {
	next := ""
	for {
		var page struct {
			Data []struct {
				LastRun *parley.ScheduleRun `json:"last_run"`
			}
			Next string
		}
		path := "/v1/schedules?limit=1000&cursor=" + url.QueryEscape(next)
		if next == "" {
			path = "/v1/schedules?limit=1000"
		}
		if err := p.do(ctx, http.MethodGet, path, "", &page); err != nil {
			return 0, 0, err
		}
		for _, schedule := range page.Data {
			if run := schedule.LastRun; run != nil && run.State == parley.RunPosted {
				n++
				late = max(late, time.Duration(run.CreatedAt-run.DueAt)*time.Millisecond)
			}
		}
		if next = page.Next; next == "" {
			return n, late, nil
		}
	}
}
