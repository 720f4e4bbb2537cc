package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/parley/bench"
	"example.org/parley/internal/pgtest"
)

// lab is the machinery of a run: provider and proxy stay up, and each part starts Parley afresh.
type lab struct {
	rounds   int
	dir      string
	ownDir   bool
	self     string
	parley   string
	before   string // an earlier build to compare with; "" for none
	provider *bench.Process
	proxy    *bench.Process

	postgres  *pgtest.Cluster // nil until a part needs it
	messages  int             // number of messages to search
	databases int             // number of databases made
}

func newLab(ctx context.Context, rounds int, dir, binary string) (*lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &lab{rounds: rounds, dir: dir, self: self, parley: binary}
	if dir == "" {
		l.ownDir = true
		if l.dir, err = os.MkdirTemp("", "parley-bench-"); err != nil {
			return nil, err
		}
	}
	if binary == "" {
		l.parley = filepath.Join(l.dir, "parley")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", l.parley, "./cmd/parley")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as released
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, closing(err, l)
		}
	}
	if l.provider, err = bench.Start(ctx, nil, self, "provider"); err != nil {
		return nil, closing(err, l)
	}
	if l.proxy, err = bench.Start(ctx, nil, self, "proxy", "http://"+l.provider.Line); err != nil {
		return nil, closing(err, l)
	}
	return l, nil
}

func (l *lab) close() error {
	var errs []error
	if l.postgres != nil {
		errs = append(errs, l.postgres.Close())
	}
	for _, reference := range []*bench.Process{l.proxy, l.provider} {
		if reference != nil {
			errs = append(errs, reference.Stop())
		}
	}
	if l.ownDir {
		errs = append(errs, os.RemoveAll(l.dir))
	}
	return errors.Join(errs...)
}

func closing(err error, l *lab) error { return errors.Join(err, l.close()) }

// parleyRun is a fresh server on a fresh data directory.
type parleyRun struct {
	*bench.Process
	addr   string
	dir    string
	http   *http.Client
	bearer string // "" while no key exists
}

func (l *lab) start(ctx context.Context, settings ...string) (*parleyRun, error) {
	dir, err := os.MkdirTemp(l.dir, "data-")
	if err != nil {
		return nil, err
	}
	return l.startIn(ctx, dir, settings...)
}

// startIn starts a server on a data directory. Settings are variables of its environment.
func (l *lab) startIn(ctx context.Context, dir string, settings ...string) (*parleyRun, error) {
	env := append(
		[]string{
			"OPENAI_API_KEY=bench",
			"OPENAI_BASE_URL=http://" + l.provider.Line + "/v1",
			"PARLEY_DATA=" + dir,
			"PARLEY_MODEL=sim/echo",
		},
		settings...)
	process, err := bench.Start(ctx, env, l.parley, "serve", "--addr", "127.0.0.1:0", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	_, addr, ok := strings.Cut(process.Line, "http://")
	if !ok {
		return nil, fmt.Errorf("parley said %q", process.Line)
	}
	return &parleyRun{Process: process, addr: addr, dir: dir,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}, nil
}

// end stops the server and removes its data.
func (p *parleyRun) end() error {
	p.http.CloseIdleConnections()
	return errors.Join(p.Stop(), os.RemoveAll(p.dir))
}

// do sends JSON and decodes the answer into out.
func (p *parleyRun) do(ctx context.Context, method, path, body string, out any) error {
	raw, err := p.read(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// read sends JSON and returns the answer.
func (p *parleyRun) read(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if p.bearer != "" {
		request.Header.Set("Authorization", "Bearer "+p.bearer)
	}
	response, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	raw := bytes.NewBuffer(make([]byte, 0, 64<<10))
	if response.ContentLength > 0 {
		raw.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	if _, err := raw.ReadFrom(response.Body); err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, raw)
	}
	return raw.Bytes(), nil
}

// agent makes an agent with a context policy and returns its slug.
func (p *parleyRun) agent(ctx context.Context, slug, model, policy string) error {
	body := fmt.Sprintf(`{"name":%q,"slug":%q,"model":%q,"context_policy":%s}`, slug, slug, model, policy)
	return p.do(ctx, http.MethodPost, "/v1/agents", body, nil)
}

// session makes a session of an agent and returns its id.
func (p *parleyRun) session(ctx context.Context, agent string) (string, error) {
	var made struct{ ID string }
	err := p.do(ctx, http.MethodPost, "/v1/agents/"+agent+"/sessions", `{}`, &made)
	return made.ID, err
}

const prompt = "Please write two hundred words about the sea."

// turns returns Parley as a target: each client posts to a session of its own and reads its turn's stream to the end.
func (p *parleyRun) turns(ctx context.Context, agent string, clients int) (bench.Target, error) {
	sessions := make([]string, clients)
	for i := range sessions {
		var err error
		if sessions[i], err = p.session(ctx, agent); err != nil {
			return bench.Target{}, err
		}
	}
	return p.turnsIn(sessions), nil
}

func (p *parleyRun) turnsIn(sessions []string) bench.Target {
	body := fmt.Appendf(nil, `{"role":"user","content":{"text":%q}}`, prompt)
	// A client scheduled late finds the whole text in step.generated.
	return bench.Target{
		Name:  "parley",
		Addrs: []string{p.addr},
		First: []byte("event: step.generat"),
		Request: func(client int) []byte {
			return bench.Post(p.addr, "/v1/sessions/"+sessions[client]+"/messages", "text/event-stream", body)
		},
	}
}

// completions returns the provider, directly or behind the proxy, as a target.
func completions(name, addr, model string) bench.Target {
	body := fmt.Appendf(
		nil,
		`{"model":%q,"messages":[{"role":"user","content":%q}],"stream":true,"stream_options":{"include_usage":true}}`,
		model,
		prompt,
	)
	request := bench.Post(addr, "/v1/chat/completions", "text/event-stream", body)
	return bench.Target{
		Name:    name,
		Addrs:   []string{addr},
		First:   []byte(`"content":"`),
		Request: func(int) []byte { return bytes.Clone(request) },
	}
}

func medianOf[N int64 | float64 | time.Duration](values []N) N {
	slices.Sort(values)
	return values[len(values)/2]
}
