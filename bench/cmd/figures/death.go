package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.org/parley/bench"
)

// The load of the death figure: this many turns of two seconds each.
const (
	deathTurns  = 1024
	deathTokens = 20
	deathPace   = 100 * time.Millisecond
	deathBound  = 3 * time.Minute // when to give up
)

// deathFigures measures how long another process takes to settle the turns of a killed one. These turns are suspected,
// and 64 of them run at once.
func deathFigures(ctx context.Context, l *lab, out io.Writer) error {
	var all []time.Duration
	for range l.rounds {
		took, err := l.death(ctx)
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	fmt.Fprintf(
		out,
		"%d turns of %v of a killed process, settled by another one: %v after the kill (bound 60 s, the lease of 10 "+
			"s included)\n",
		deathTurns,
		deathTokens*deathPace,
		medianOf(all).Round(100*time.Millisecond),
	)
	return nil
}

// death runs one round over a fresh database. The killed process has a provider that never answers, so that all of its
// turns are running when it dies.
func (l *lab) death(ctx context.Context) (time.Duration, error) {
	url, err := l.database(ctx)
	if err != nil {
		return 0, err
	}
	silent, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0") // nobody accepts, so connections hang
	if err != nil {
		return 0, err
	}
	defer silent.Close() //nolint:errcheck // nothing was written
	dies, err := l.start(ctx, "PARLEY_DATABASE_URL="+url, "OPENAI_BASE_URL=http://"+silent.Addr().String()+"/v1")
	if err != nil {
		return 0, err
	}
	if err := dies.agent(
		ctx,
		"bench",
		"openai/"+bench.ModelName(deathTokens, deathPace),
		`{"kind":"single"}`,
	); err != nil {
		return 0, errors.Join(err, dies.end())
	}
	if err := dies.crowd(ctx, deathTurns); err != nil {
		return 0, errors.Join(err, dies.end())
	}
	lives, err := l.start(ctx, "PARLEY_DATABASE_URL="+url)
	if err != nil {
		return 0, errors.Join(err, dies.end())
	}
	killed := time.Now()
	if err := dies.Kill(); err != nil {
		return 0, errors.Join(err, lives.end())
	}
	err = lives.settles(ctx)
	return time.Since(killed), errors.Join(err, lives.end())
}

// settles waits until no turn is unfinished.
func (p *parleyRun) settles(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deathBound)
	defer cancel()
	for {
		var running struct{ Data []struct{ ID string } }
		if err := p.do(ctx, http.MethodGet, "/v1/sessions?status=running&limit=1", "", &running); err != nil {
			return err
		}
		if len(running.Data) == 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
