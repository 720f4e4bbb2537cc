package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"parley/bench"
)

// waitingTurns is how many turns wait for an approval: many, so that what one
// takes shows in a process's memory.
const waitingTurns = 1000

// toolFigures: what a turn with a tool costs beside a plain one, and what turns
// hold that wait for an approval.
func toolFigures(ctx context.Context, l *lab, out io.Writer) error {
	plain, tool, err := l.toolTurns(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "CPU of the server per turn, 64 at once: plain %v, with a tool %v: %.2f× (bound 2.2×)\n", plain.cpu, tool.cpu, ratio(tool.cpu, plain.cpu))
	var done, waiting []int64
	for range l.rounds {
		without, err := l.restingMemory(ctx, "allow")
		if err != nil {
			return err
		}
		with, err := l.restingMemory(ctx, "ask")
		if err != nil {
			return err
		}
		done, waiting = append(done, without), append(waiting, with)
	}
	each := float64(medianOf(waiting)-medianOf(done)) / waitingTurns
	fmt.Fprintf(out, "turn that waits for an approval: %.2f KiB resident beyond a finished one, %d of them, no slot held (bound 2 KiB)\n", each/1024, waitingTurns)
	return nil
}

// toolTurns are turns without and with a tool, interleaved on one server.
func (l *lab) toolTurns(ctx context.Context) (plain, tool load, err error) {
	const clients, count = 64, 640
	server, err := l.start(ctx)
	if err != nil {
		return plain, tool, err
	}
	var targets [2]bench.Target
	for i, model := range []string{bench.ModelName(200, 0), bench.ToolModelName(200)} {
		slug := fmt.Sprintf("bench-%d", i)
		body := fmt.Sprintf(`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"},"tools":["current_time"]}`, slug, slug, model)
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

// restingMemory is the resident memory of a server behind many turns of one
// session each that called a tool: with the effect ask they wait.
func (l *lab) restingMemory(ctx context.Context, effect string) (int64, error) {
	server, err := l.start(ctx)
	if err != nil {
		return 0, err
	}
	body := fmt.Sprintf(`{"name":"bench","model":"openai/%s","context_policy":{"kind":"single"},"tools":["current_time"],"grants":[{"tool":"*","effect":%q}]}`, bench.ToolModelName(20), effect)
	if err := server.do(ctx, http.MethodPost, "/v1/agents", body, nil); err != nil {
		return 0, err
	}
	for range waitingTurns {
		session := fmt.Sprintf(`{"message":{"role":"user","content":{"text":%q}}}`, prompt)
		if err := server.do(ctx, http.MethodPost, "/v1/agents/bench/sessions", session, nil); err != nil {
			return 0, err
		}
	}
	if err := server.rests(ctx); err != nil {
		return 0, err
	}
	now, _, err := server.Memory()
	if err != nil {
		return 0, err
	}
	return now, server.end()
}

// rests waits until no session runs, and wants no slot to be held then.
func (p *parleyRun) rests(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for {
		var page struct{ Data []struct{ ID string } }
		if err := p.do(ctx, http.MethodGet, "/v1/sessions?status=running&limit=1", "", &page); err != nil {
			return err
		}
		if len(page.Data) == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	metrics, err := p.read(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return err
	}
	if !strings.Contains(string(metrics), "\nparley_worker_running 0\n") {
		return errors.New("a slot is held by a turn that waits")
	}
	return nil
}
