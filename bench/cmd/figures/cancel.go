package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/parley/bench"
)

// The load of the cancel figure: background streams, and cancelled turns.
const (
	besideCancels = 128
	besideTokens  = 200
	besidePace    = 5 * time.Millisecond
	cancelLanes   = 4
	cancelled     = 400 // per round
)

// cancelFigures measures from a cancel's request to the end of the stream that another connection reads, while streams
// of 5 ms per token run.
func cancelFigures(ctx context.Context, l *lab, out io.Writer) error {
	var medians, worst []time.Duration
	for range l.rounds {
		took, err := l.cancels(ctx)
		if err != nil {
			return err
		}
		slices.Sort(took)
		medians, worst = append(medians, took[len(took)/2]), append(worst, took[(len(took)*99+99)/100-1])
	}
	fmt.Fprintf(
		out,
		"cancel to the end of its stream, %d streams beside: %v in the middle, %v at the 99th of 100 (bound 50 ms)\n",
		besideCancels,
		medianOf(medians),
		medianOf(worst),
	)
	return nil
}

// cancels runs one round on a fresh server.
func (l *lab) cancels(ctx context.Context) ([]time.Duration, error) {
	server, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	for slug, tokens := range map[string]int{"beside": besideTokens, "long": 100_000} {
		if err := server.agent(
			ctx,
			slug,
			"openai/"+bench.ModelName(tokens, besidePace),
			`{"kind":"single"}`,
		); err != nil {
			return nil, err
		}
	}
	stop, err := server.streamsBeside(ctx)
	if err != nil {
		return nil, err
	}
	took, err := server.cancelMany(ctx)
	return took, errors.Join(err, stop(), server.end())
}

// streamsBeside keeps streams running until stop, and returns once all of them run. They begin one after the other over
// the time of a turn, so that at every moment some turns begin, some end and most stream.
func (p *parleyRun) streamsBeside(ctx context.Context) (stop func() error, err error) {
	target, err := p.turns(ctx, "beside", besideCancels)
	if err != nil {
		return nil, err
	}
	ended, failed := make(chan struct{}), make(chan error, besideCancels)
	var streams sync.WaitGroup
	for i := range besideCancels {
		one := target
		one.Request = func(int) []byte { return target.Request(i) }
		streams.Go(func() { // ends with the turn that runs when stop is called
			for {
				select {
				case <-ended:
					return
				default:
				}
				if _, err := bench.Run(ctx, one, 1, 1); err != nil {
					failed <- err
					return
				}
			}
		})
		time.Sleep(besideTokens * besidePace / besideCancels)
	}
	return func() error {
		close(ended)
		streams.Wait()
		close(failed)
		var all error
		for err := range failed {
			all = errors.Join(all, err)
		}
		return all
	}, nil
}

// cancelMany cancels turns in a few sessions, one after the other in each.
func (p *parleyRun) cancelMany(ctx context.Context) (took []time.Duration, failed error) {
	var mu sync.Mutex // guards took and failed
	var lanes sync.WaitGroup
	for range cancelLanes {
		lanes.Go(func() {
			session, err := p.session(ctx, "long")
			for n := 0; n < cancelled/cancelLanes && err == nil; n++ {
				var one time.Duration
				if one, err = p.cancelOne(ctx, session); err == nil {
					mu.Lock()
					took = append(took, one)
					mu.Unlock()
				}
			}
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		})
	}
	lanes.Wait()
	return took, failed
}

// cancelOne begins a turn, cancels it at its first delta, and reads its stream to the end.
func (p *parleyRun) cancelOne(ctx context.Context, session string) (time.Duration, error) {
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		"http://"+p.addr+"/v1/sessions/"+session+"/messages",
		strings.NewReader(`{"content":{"text":"Go"}}`),
	)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := p.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // already read to its end
	var asked time.Time
	answered := make(chan error, 1)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		switch line := lines.Bytes(); {
		case asked.IsZero() && bytes.Equal(line, []byte("event: step.generating")):
			asked = time.Now()
			go func() {
				answered <- p.do(ctx, http.MethodPost, "/v1/sessions/"+session+"/cancel", "", nil)
			}() // ends with the answer
		case bytes.Equal(line, []byte("event: session.cancelled")):
			took := time.Since(asked)
			return took, <-answered
		}
	}
	return 0, errors.New("a stream ended without an event for its cancel")
}
