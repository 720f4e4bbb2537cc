package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"example.org/parley/bench"
)

// toolFigures compares the cost of a turn with a tool to that of a plain one. worker.TestWaitingTurnsHoldLittle
// measures, within its process, the memory of turns that wait for an approval.
func toolFigures(ctx context.Context, l *lab, out io.Writer) error {
	plain, tool, err := l.toolTurns(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		out,
		"CPU of the server per turn, 64 at once: plain %v, with a tool %v: %.2f× (bound 2.2×)\n",
		plain.cpu,
		tool.cpu,
		ratio(tool.cpu, plain.cpu),
	)
	return nil
}

// toolTurns measures turns without and with a tool, interleaved on one server.
func (l *lab) toolTurns(ctx context.Context) (plain, tool load, err error) {
	const clients, count = 64, 640
	server, err := l.start(ctx)
	if err != nil {
		return plain, tool, err
	}
	var targets [2]bench.Target
	for i, model := range []string{bench.ModelName(200, 0), bench.ToolModelName(200)} {
		slug := fmt.Sprintf("bench-%d", i)
		body := fmt.Sprintf(
			`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"},"tools":["current_time"]}`,
			slug,
			slug,
			model,
		)
		if err := server.do(ctx, http.MethodPost, "/v1/agents", body, nil); err != nil {
			return plain, tool, err
		}
		if targets[i], err = server.turns(ctx, slug, clients); err != nil {
			return plain, tool, err
		}
	}
	var loads [2][]load
	for round := range l.rounds + 1 { // the first warms up
		for i, target := range targets {
			got, err := measure(ctx, server.Process, target, clients, count)
			if err != nil {
				return plain, tool, err
			}
			if round > 0 {
				loads[i] = append(loads[i], got)
			}
		}
	}
	return medians(loads[0]), medians(loads[1]), server.end()
}
