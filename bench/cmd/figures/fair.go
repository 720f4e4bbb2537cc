package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/parley/bench"
)

// The loads under which one workspace may not delay another.
const (
	fairSlots   = 64
	fairCrowd   = 10_000 // waiting turns of 2 s each
	fairLong    = 64     // turns of ten minutes, which hold every slot
	fairTries   = 20     // first turns of the other workspace
	fairWriters = 32
)

// fairFigures measures how long a workspace's turn waits for its first token while another workspace has far more to do
// than there are slots.
func fairFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		for _, beside := range []crowd{
			{"10,000 turns of another workspace waiting", fairCrowd, bench.ModelName(400, 5*time.Millisecond)},
			{"64 turns of ten minutes of another workspace", fairLong, bench.ModelName(1200, 500*time.Millisecond)},
		} {
			if err := l.fair(ctx, out, database, beside); err != nil {
				return err
			}
		}
	}
	return nil
}

// crowd is the work of one workspace.
type crowd struct {
	name  string
	turns int
	model string
}

func (l *lab) fair(ctx context.Context, out io.Writer, database string, load crowd) error {
	settings := []string{fmt.Sprint("PARLEY_WORKERS=", fairSlots), "PARLEY_DRAIN=0s"}
	if database == "PostgreSQL" {
		url, err := l.database(ctx)
		if err != nil {
			return err
		}
		settings = append(settings, "PARLEY_DATABASE_URL="+url)
	}
	server, err := l.start(ctx, settings...)
	if err != nil {
		return err
	}
	busy, err := server.tenant(ctx, "busy", load.model)
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
	if err := busy.crowd(ctx, load.turns); err != nil {
		return err
	}
	beside, err := other.firstTurns(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		out,
		"%s, first token beside %s: %v in the middle, %v at worst of %d (bound 1 s more than the %v with nothing "+
			"beside)\n",
		database,
		load.name,
		beside[len(beside)/2].Round(time.Millisecond),
		beside[len(beside)-1].Round(time.Millisecond),
		len(beside),
		alone[len(alone)/2].Round(time.Millisecond),
	)
	return server.end()
}

// tenant returns the server as seen by the admin of a new workspace, with an agent for a model.
func (p *parleyRun) tenant(ctx context.Context, workspace, model string) (*parleyRun, error) {
	token, err := os.ReadFile(filepath.Join(p.dir, "token"))
	if err != nil {
		return nil, err
	}
	machine, admin := *p, *p
	machine.bearer = strings.TrimSpace(string(token))
	var made struct{ Key string }
	if err := machine.do(
		ctx,
		http.MethodPost,
		"/v1/keys",
		fmt.Sprintf(`{"name":"figures","workspace":%q}`, workspace),
		&made,
	); err != nil {
		return nil, err
	}
	admin.bearer = made.Key
	return &admin, admin.agent(ctx, "bench", "openai/"+model, `{"kind":"single"}`)
}

// crowd posts the given number of turns, each to a session of its own.
func (p *parleyRun) crowd(ctx context.Context, turns int) error {
	var mu sync.Mutex // guards failed
	var failed error
	var writers sync.WaitGroup
	for writer := range fairWriters {
		writers.Go(func() {
			for i := writer; i < turns; i += fairWriters {
				if err := p.do(
					ctx,
					http.MethodPost,
					"/v1/agents/bench/sessions",
					fmt.Sprintf(`{"message":{"content":{"text":%q}}}`, prompt),
					nil,
				); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	writers.Wait()
	return failed
}

// firstTurns returns the times to the first token of turns in new sessions, one after the other, sorted.
func (p *parleyRun) firstTurns(ctx context.Context) (took []time.Duration, err error) {
	for range fairTries {
		one, err := p.firstTurn(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, one)
	}
	slices.Sort(took)
	return took, nil
}

func (p *parleyRun) firstTurn(ctx context.Context) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		"http://"+p.addr+"/v1/agents/bench/sessions",
		strings.NewReader(fmt.Sprintf(`{"message":{"content":{"text":%q}}}`, prompt)),
	)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+p.bearer)
	began := time.Now()
	response, err := p.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // already read to its end
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if took == 0 && bytes.HasPrefix(lines.Bytes(), []byte("event: step.generat")) {
			took = time.Since(began)
		}
	}
	if took == 0 {
		return 0, errors.Join(
			fmt.Errorf("status %s: a stream ended before its first token", response.Status),
			lines.Err(),
		)
	}
	return took, nil
}
