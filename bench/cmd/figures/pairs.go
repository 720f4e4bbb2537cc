package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"example.org/parley/bench"
)

// pairFigures compares this build with an earlier one (-before) in alternating rounds of the same turns; every other
// pair starts with the other build, so that the machine's other work affects both.
func pairFigures(ctx context.Context, l *lab, out io.Writer) error {
	if l.before == "" {
		fmt.Fprintln(out, "nothing to compare with: give -before the binary of an earlier build")
		return nil
	}
	var got [2][]load
	runs, err := l.both(ctx)
	if err == nil {
		got, err = alternate(ctx, runs, l.rounds)
	}
	for _, r := range runs {
		if r.server != nil {
			err = errors.Join(err, r.server.end())
		}
	}
	if err != nil {
		return err
	}
	before, now := medians(got[0]), medians(got[1])
	fmt.Fprintf(
		out,
		"CPU of the server per 200-token turn, %d at once, %d pairs: before %v, now %v: %.3f× (bound 1.03×); turns/s "+
			"%.0f and %.0f\n",
		pairClients,
		l.rounds,
		before.cpu,
		now.cpu,
		ratio(now.cpu, before.cpu),
		before.rate,
		now.rate,
	)
	return nil
}

// pairRun is one of two builds under load.
type pairRun struct {
	server *parleyRun
	target bench.Target
}

// pairClients and pairTurns are the load of one round.
const (
	pairClients = 64
	pairTurns   = 2000
)

// both starts the earlier build and this one.
func (l *lab) both(ctx context.Context) (runs [2]pairRun, err error) {
	this := l.parley
	defer func() { l.parley = this }()
	for i, binary := range []string{l.before, this} {
		l.parley = binary
		if runs[i].server, err = l.start(ctx); err != nil {
			return runs, err
		}
		if err = runs[i].server.agent(
			ctx,
			"bench",
			"openai/"+bench.ModelName(200, 0),
			`{"kind":"single"}`,
		); err != nil {
			return runs, err
		}
		if runs[i].target, err = runs[i].server.turns(ctx, "bench", pairClients); err != nil {
			return runs, err
		}
	}
	return runs, nil
}

func alternate(ctx context.Context, runs [2]pairRun, rounds int) (got [2][]load, err error) {
	for round := range rounds + 1 { // the first warms up
		for n := range runs {
			i := (n + round) % len(runs)
			one, err := measure(ctx, runs[i].server.Process, runs[i].target, pairClients, pairTurns)
			if err != nil {
				return got, err
			}
			if round > 0 {
				got[i] = append(got[i], one)
			}
		}
	}
	return got, nil
}
