package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.org/parley/bench"
)

// The load of webhooks: each turn of a workspace is told to all of its endpoints. A workspace may have 64.
const (
	hookWorkspaces = 2
	hookEndpoints  = 50 // of each workspace; one of all is dead
	hookClients    = 20 // turns at once, of about a second: 20 turns × 50 endpoints a second
	hookTurns      = 200
)

// webhookFigures measures how late 1,000 deliveries a second arrive beside an endpoint that never answers, and how much
// longer turns take meanwhile.
func webhookFigures(ctx context.Context, l *lab, out io.Writer) error {
	dir, err := os.MkdirTemp(l.dir, "data-")
	if err != nil {
		return err
	}
	settings := []byte("webhooks: {allow_private: true}\n")
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), settings, 0o600); err != nil {
		return err
	}
	server, err := l.startIn(ctx, dir)
	if err != nil {
		return err
	}
	ends, err := listenForHooks(ctx)
	if err != nil {
		return err
	}
	defer ends.close()
	var tenants []*parleyRun
	for i := range hookWorkspaces {
		tenant, err := server.tenant(ctx, fmt.Sprint("hooks-", i), bench.ModelName(200, 5*time.Millisecond))
		if err != nil {
			return err
		}
		tenants = append(tenants, tenant)
	}
	hooks, err := subscribe(ctx, tenants, ends)
	if err != nil {
		return err
	}
	target, err := hookTurnsOf(ctx, tenants)
	if err != nil {
		return err
	}
	var without, with []time.Duration
	var rates []float64
	for round := range l.rounds + 1 {
		for _, status := range []string{"disabled", "active"} {
			for _, hook := range hooks {
				if err := hook.tenant.do(ctx, http.MethodPatch, "/v1/webhooks/"+hook.id,
					fmt.Sprintf(`{"status":%q}`, status), nil); err != nil {
					return err
				}
			}
			ends.measure(round > 0 && status == "active")
			began := time.Now()
			samples, err := bench.Run(ctx, target, hookClients, hookTurns)
			if err != nil {
				return err
			}
			took := bench.Median(samples, func(s bench.Sample) time.Duration { return s.Total })
			switch {
			case round == 0: // warms up
			case status == "disabled":
				without = append(without, took)
			default:
				const live = hookTurns * (hookEndpoints*hookWorkspaces - 1) / hookWorkspaces
				if err := ends.waitFor(ctx, live*len(with)+live); err != nil {
					return err
				}
				with = append(with, took)
				rates = append(rates, live/time.Since(began).Seconds())
			}
		}
	}
	late := ends.late()
	fmt.Fprintf(out, "webhooks, %.0f deliveries a second to 99 endpoints beside a dead one: %v after the event in the "+
		"middle, %v at the 99th of 100, %v at worst of %d (bound 1 s)\n", medianOf(rates),
		late[len(late)/2].Round(time.Millisecond), late[len(late)*99/100].Round(time.Millisecond),
		late[len(late)-1].Round(time.Millisecond), len(late))
	fmt.Fprintf(out, "turns of 200 tokens at 5 ms beside them: %v, without webhooks %v: %.3f× (bound 1.05×)\n",
		medianOf(with).Round(time.Millisecond), medianOf(without).Round(time.Millisecond),
		ratio(medianOf(with), medianOf(without)))
	return server.end()
}

// hook is a webhook and who owns it.
type hook struct {
	tenant *parleyRun
	id     string
}

// subscribe makes every endpoint of every workspace; the first of all leads to the one that never answers.
func subscribe(ctx context.Context, tenants []*parleyRun, ends *hookEnds) ([]hook, error) {
	var hooks []hook
	for _, tenant := range tenants {
		for i := range hookEndpoints {
			at := fmt.Sprintf("http://%s/%d", ends.alive.Addr(), i)
			if len(hooks) == 0 {
				at = "http://" + ends.dead.Addr().String()
			}
			var made struct{ ID string }
			if err := tenant.do(ctx, http.MethodPost, "/v1/webhooks",
				fmt.Sprintf(`{"name":"figure-%d","url":%q,"events":["session.completed"]}`, i, at), &made); err != nil {
				return nil, err
			}
			hooks = append(hooks, hook{tenant, made.ID})
		}
	}
	return hooks, nil
}

// hookTurnsOf returns turns of all workspaces in alternation as a target.
func hookTurnsOf(ctx context.Context, tenants []*parleyRun) (bench.Target, error) {
	requests := make([][]byte, hookClients)
	for i := range requests {
		tenant := tenants[i%len(tenants)]
		session, err := tenant.session(ctx, "bench")
		if err != nil {
			return bench.Target{}, err
		}
		requests[i] = bench.Post(tenant.addr, "/v1/sessions/"+session+"/messages",
			"text/event-stream\r\nAuthorization: Bearer "+tenant.bearer,
			fmt.Appendf(nil, `{"role":"user","content":{"text":%q}}`, prompt))
	}
	return bench.Target{
		Name: "parley", Addrs: []string{tenants[0].addr}, First: []byte("event: step.generat"),
		Request: func(client int) []byte { return requests[client] },
	}, nil
}

// hookEnds are the endpoints: one server for all that live, and a socket whose connections nobody takes.
type hookEnds struct {
	alive, dead net.Listener
	server      *http.Server

	mu       sync.Mutex // guards what follows
	counts   bool
	arrivals []time.Duration
	more     chan struct{} // closed and made anew at each arrival
}

func listenForHooks(ctx context.Context) (*hookEnds, error) {
	e := &hookEnds{more: make(chan struct{})}
	var err error
	if e.alive, err = bench.Listen(ctx); err != nil {
		return nil, err
	}
	if e.dead, err = bench.Listen(ctx); err != nil {
		return nil, errors.Join(err, e.alive.Close())
	}
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go e.server.Serve(e.alive) //nolint:errcheck // ended by close
	return e, nil
}

func (e *hookEnds) close() {
	_, _ = e.server.Close(), e.dead.Close() // nothing is lost with them
}

// ServeHTTP notes how long after its event a delivery came.
func (e *hookEnds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var event struct {
		CreatedAt time.Time `json:"created_at"`
	}
	err := json.NewDecoder(r.Body).Decode(&event)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts {
		e.arrivals = append(e.arrivals, now.Sub(event.CreatedAt))
		close(e.more)
		e.more = make(chan struct{})
	}
}

func (e *hookEnds) measure(counts bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts = counts
}

// waitFor waits until so many deliveries have arrived.
func (e *hookEnds) waitFor(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		e.mu.Lock()
		n, more := len(e.arrivals), e.more
		e.mu.Unlock()
		if n >= count {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d deliveries arrived: %w", n, count, ctx.Err())
		}
	}
}

func (e *hookEnds) late() []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.arrivals))
}
