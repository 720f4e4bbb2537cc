package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/bench"
)

// The turns of the part compaction. The last of them reaches compactionLimit with its own message, before its first
// call.
const (
	compactionTurns = 10
	compactionLimit = 2*compactionTurns - 1
	compactionPairs = 40 // pairs of sessions per round

	compactionBound = 30 * time.Second // for one summary
	compactionLook  = 5 * time.Millisecond
)

// compactionFigures compares the first token of a turn that triggers a summary with that of the same turn in a session
// far from its limit.
func compactionFigures(ctx context.Context, l *lab, out io.Writer) (err error) {
	server, err := l.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	for slug, limit := range map[string]int{"compacting": compactionLimit, "plain": parley.MaxPolicyLimit} {
		body := fmt.Sprintf(
			`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"summary","limit":%d},`+
				`"compaction":{"model":"openai/%s"}}`,
			slug,
			slug,
			bench.ModelName(20, 0),
			limit,
			bench.ModelName(20, time.Millisecond),
		)
		if err := server.do(ctx, http.MethodPost, "/v1/agents", body, nil); err != nil {
			return err
		}
	}
	var compacting, plain, added []time.Duration
	for round := range l.rounds + 1 { // the first warms up
		for range compactionPairs {
			with, err := server.lastFirst(ctx, "compacting", parley.CompactionCompleted)
			if err != nil {
				return err
			}
			without, err := server.lastFirst(ctx, "plain", parley.CompactionNone)
			if err != nil {
				return err
			}
			if round > 0 {
				compacting, plain, added = append(compacting, with), append(plain, without), append(added, with-without)
			}
		}
	}
	with, without := medianOf(compacting), medianOf(plain)
	fmt.Fprintf(
		out,
		"first token of the turn that has a summary written, %d pairs: %v, without %v: %.2f× (bound 1.1×), %v more "+
			"in a pair\n",
		len(added),
		with,
		without,
		ratio(with, without),
		medianOf(added),
	)
	return nil
}

// lastFirst returns the time to the first token of the last of compactionTurns turns of a new session. Its compaction
// has ended when it returns.
func (p *parleyRun) lastFirst(ctx context.Context, agent string, want parley.CompactionState) (time.Duration, error) {
	session, err := p.session(ctx, agent)
	if err != nil {
		return 0, err
	}
	samples, err := bench.Run(ctx, p.turnsIn([]string{session}), 1, compactionTurns)
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithTimeout(ctx, compactionBound)
	defer stop()
	look := time.NewTicker(compactionLook)
	defer look.Stop()
	for {
		raw, err := p.read(ctx, http.MethodGet, "/v1/sessions/"+session+"/compaction", "")
		if err != nil {
			return 0, err
		}
		var c parley.Compaction
		if err := json.Unmarshal(raw, &c); err != nil {
			return 0, err
		}
		switch {
		case c.State == want:
			return samples[len(samples)-1].First, nil
		case c.State.Finished() && c.State != parley.CompactionNone || want == parley.CompactionNone:
			return 0, fmt.Errorf("the compaction of a session of %s is %s: %+v", agent, c.State, c.Error)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("no summary was written of a session of %s: %w", agent, ctx.Err())
		}
	}
}
