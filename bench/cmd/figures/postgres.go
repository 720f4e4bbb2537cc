package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley/bench"
)

// The load of the comparison, as in cpuFigures.
const (
	fleetClients = 64
	fleetTurns   = 2000
)

// runs holds rounds of the same load on SQLite, on PostgreSQL, and on PostgreSQL with three processes, interleaved.
type runs struct {
	sqlite, one, three []load
	server             []time.Duration // CPU of PostgreSQL per turn, one process
	inserts            []float64
}

// postgresFigures measures the cost of the database, and the effect of further processes.
func postgresFigures(ctx context.Context, l *lab, out io.Writer) error {
	alone, err := l.start(ctx)
	if err != nil {
		return err
	}
	one, err := l.fleet(ctx, 1)
	if err != nil {
		return err
	}
	three, err := l.fleet(ctx, 3)
	if err != nil {
		return err
	}
	got, err := l.compareStores(ctx, fleet{alone}, one, three)
	if err = errors.Join(err, alone.end(), one.end(), three.end()); err != nil {
		return err
	}
	sqlite, single, triple := medians(got.sqlite), medians(got.one), medians(got.three)
	server, inserts := medianOf(got.server), medianOf(got.inserts)
	fmt.Fprintf(
		out,
		"turns/s, %d at once: SQLite %.0f, PostgreSQL %.0f: %.0f %% (bound 60 %%)\n",
		fleetClients,
		sqlite.rate,
		single.rate,
		100*ratio(single.rate, sqlite.rate),
	)
	fmt.Fprintf(
		out,
		"three processes on one machine: %.0f turns/s, %.0f %% of one process (bound 85 %%)\n",
		triple.rate,
		100*ratio(triple.rate, single.rate),
	)
	fmt.Fprintf(
		out,
		"CPU per turn: Parley on SQLite %v, Parley on PostgreSQL %v and the server %v\n",
		sqlite.cpu,
		single.cpu,
		server,
	)
	fmt.Fprintf(
		out,
		"PostgreSQL's own limit: %.0f single-row inserts/s by %d connections; %.1f of them per turn\n",
		inserts,
		insertConnections,
		ratio(inserts, single.rate),
	)
	fmt.Fprintf(
		out,
		"first token under this load: SQLite %v, PostgreSQL %v, three processes %v\n",
		sqlite.first,
		single.first,
		triple.first,
	)
	return nil
}

func (l *lab) compareStores(ctx context.Context, fleets ...fleet) (got runs, err error) {
	targets := make([]bench.Target, len(fleets))
	for i, f := range fleets {
		if err := f[0].agent(ctx, "bench", "openai/"+bench.ModelName(200, 0), `{"kind":"single"}`); err != nil {
			return got, err
		}
		if targets[i], err = f.turns(ctx, "bench", fleetClients); err != nil {
			return got, err
		}
	}
	for round := range l.rounds + 1 { // the first warms up
		var loads [3]load
		var server time.Duration
		for i, f := range fleets {
			before, err := l.postgresCPU()
			if err != nil {
				return got, err
			}
			if loads[i], err = measure(ctx, f, targets[i], fleetClients, fleetTurns); err != nil {
				return got, err
			}
			after, err := l.postgresCPU()
			if err != nil {
				return got, err
			}
			if i == 1 {
				server = (after - before) / fleetTurns
			}
		}
		inserts, err := l.insertLimit(ctx)
		if err != nil {
			return got, err
		}
		if round > 0 {
			got.sqlite, got.one, got.three = append(
				got.sqlite,
				loads[0],
			), append(
				got.one,
				loads[1],
			), append(
				got.three,
				loads[2],
			)
			got.server, got.inserts = append(got.server, server), append(got.inserts, inserts)
		}
	}
	return got, nil
}

// The reference for writes: as many connections as a Parley process has.
const (
	insertConnections = 16
	insertsEach       = 300
)

// insertLimit measures the server's rate of the smallest durable write: single-row inserts of a message's size, each
// its own transaction, like pgbench with a script of one insert.
func (l *lab) insertLimit(ctx context.Context) (perSecond float64, err error) {
	url, err := l.database(ctx)
	if err != nil {
		return 0, err
	}
	connections := make([]*pgx.Conn, insertConnections)
	for i := range connections {
		if connections[i], err = pgx.Connect(ctx, url); err != nil {
			return 0, err
		}
		defer connections[i].Close(ctx) //nolint:errcheck // the measurement is over
	}
	if _, err := connections[0].Exec(
		ctx,
		"CREATE SCHEMA reference CREATE TABLE entries (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "+
			"session bigint NOT NULL, content text NOT NULL)",
	); err != nil {
		return 0, err
	}
	content := fmt.Sprintf("%0500d", 0)
	var wg sync.WaitGroup
	failures := make(chan error, insertConnections)
	began := time.Now()
	for i, connection := range connections {
		wg.Go(func() {
			for range insertsEach {
				if _, err := connection.Exec(
					ctx,
					"INSERT INTO reference.entries (session, content) VALUES ($1, $2)",
					i,
					content,
				); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	close(failures)
	var errs []error
	for err := range failures {
		errs = append(errs, err)
	}
	return insertConnections * insertsEach / took.Seconds(), errors.Join(errs...)
}
