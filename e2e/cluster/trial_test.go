package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// shortLease is the lease of trials.
const shortLease = 2 * time.Second

// clocksApart is by how much the clocks of two processes differ: failure 41. The
// database's is the machine's.
const clocksApart = 10 * time.Minute

// How long a client waits for an answer before it asks another process, and how
// long one that asks no other.
const (
	tryBound    = 3 * time.Second
	strictBound = time.Minute
)

// trial is one run: a database, processes over it, a provider, and the
// workspaces whose clients use them.
type trial struct {
	t         *testing.T
	seed      uint64
	database  database
	provider  *provider
	processes []*process
	accounts  []*account
	effects   string       // file that the tool with an effect appends to
	next      atomic.Int64 // number of the last script
	words     int          // that a step has at most
	strict    bool         // a request that fails is a problem, whatever becomes of it
	done      atomic.Int64 // turns that were seen to end, or other work of the clients

	mu       sync.Mutex // guards what follows
	problems int
	counts   map[string]int
}

// account is a workspace as its clients use it: with a key, through any process.
type account struct {
	workspace string
	key       string
	clients   []*client.Client // by process
}

// newTrial starts a cluster with the workspaces and their agents.
func newTrial(t *testing.T, at uint64, db database, processes, workspaces int, args ...string) *trial {
	t.Helper()
	x := &trial{
		t:        t,
		seed:     at,
		words:    45,
		database: db,
		counts:   map[string]int{},
		effects:  filepath.Join(t.TempDir(), "effects"),
	}
	x.provider = newProvider(t, &x.done)
	t.Logf("seed %d", at)
	logs := t.ArtifactDir()
	env := append(
		slices.Clip(db.environment),
		"OPENAI_API_KEY=trial",
		"OPENAI_BASE_URL="+x.provider.url,
		effectsVariable+"="+x.effects,
	)
	for i := range processes {
		clock := clockVariable + "=" + fmt.Sprint((i-processes/2)*int(clocksApart.Seconds()))
		p := newProcess(
			t,
			fmt.Sprintf("p%d", i+1),
			logs,
			append(slices.Clip(env), clock),
			append([]string{"--lease", shortLease.String()}, args...)...)
		x.processes = append(x.processes, p)
		if err := p.start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range workspaces {
		x.accounts = append(x.accounts, x.open(fmt.Sprintf("trial-%d", i+1)))
	}
	return x
}

// open makes a workspace with a key and the agent of the trials.
func (x *trial) open(workspace string) *account {
	x.t.Helper()
	token, err := x.processes[0].token()
	if err != nil {
		x.t.Fatal(err)
	}
	owner, err := client.New(client.Options{URL: "http://" + x.processes[0].addr, Key: token, Retries: -1})
	if err != nil {
		x.t.Fatal(err)
	}
	defer owner.Close()
	key, err := owner.CreateKey(x.t.Context(), client.KeyInput{Name: "trial", Workspace: workspace})
	if err != nil {
		x.t.Fatal(err)
	}
	a := &account{workspace: workspace, key: key.Secret}
	for _, p := range x.processes {
		c, err := client.New(client.Options{URL: "http://" + p.addr, Key: key.Secret, Retries: -1})
		if err != nil {
			x.t.Fatal(err)
		}
		x.t.Cleanup(c.Close)
		a.clients = append(a.clients, c)
	}
	agent := `{"name":"Trial","model":"openai/trial","context_policy":{"kind":"single"},"tools":["effect","poison",` +
		`"current_time",` +
		`{"name":"ask","description":"Asks the client.","parameters":{"type":"object"}}]}`
	if err := create(x.t.Context(), a.clients[0].URL(), key.Secret, "/v1/agents", "", agent); err != nil {
		x.t.Fatal(err)
	}
	return a
}

// create posts JSON that the client package has no words for.
func create(ctx context.Context, server, key, path, idempotency, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server+path, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	if idempotency != "" {
		request.Header.Set("Idempotency-Key", idempotency)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return parley.WrapError(parley.CodeUnavailable, err, "no answer")
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return parley.WrapError(parley.CodeUnavailable, err, "the answer broke off")
	}
	if response.StatusCode == http.StatusCreated {
		return nil
	}
	var problem struct{ Code parley.Code }
	_ = json.Unmarshal(raw, &problem) // what is no problem document has no code
	return parley.Errorf(problem.Code, "%s was answered %s: %s", path, response.Status, raw)
}

// ask asks any process until one gives a definite answer. An outcome that stays
// unknown is asked for again, of another: once must bear that.
func (x *trial) ask(
	ctx context.Context,
	a *account,
	random *rand.Rand,
	once func(context.Context, *client.Client) error,
) error {
	for {
		through, bound := random.IntN(len(a.clients)), tryBound
		if x.strict {
			bound = strictBound
		}
		try, cancel := context.WithTimeout(ctx, bound)
		err := once(try, a.clients[through])
		expired := try.Err() != nil
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case x.strict && (expired || parley.ErrorCode(err) == parley.CodeUnavailable):
			x.problem("a request failed: %v", err)
			return err
		case expired:
			x.count("requests without an answer")
		case parley.ErrorCode(err) == parley.CodeUnavailable:
			x.count("requests refused or broken off")
			pause(ctx, time.Duration(20+random.IntN(80))*time.Millisecond)
		case parley.ErrorCode(err) == parley.CodeInternal:
			x.problem("%s failed inside: %v", x.processes[through].name, err)
			pause(ctx, 100*time.Millisecond)
		default:
			return err
		}
	}
}

// drivers opens sessions with a driver each.
func (x *trial) drivers(ctx context.Context, sessions int) []*driver {
	x.t.Helper()
	drivers := make([]*driver, sessions)
	for i := range drivers {
		drivers[i] = newDriver(x, i)
		if err := drivers[i].open(ctx, i); err != nil {
			x.t.Fatal(err)
		}
	}
	return drivers
}

// terminate ends all processes as a user would.
func (x *trial) terminate() {
	x.t.Helper()
	for _, p := range x.processes {
		if err := p.terminate(); err != nil {
			x.problem("%v", err)
		}
	}
}

// problem reports what must not be, a bounded number of times.
func (x *trial) problem(format string, args ...any) {
	x.t.Helper()
	const most = 25
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.problems++; x.problems <= most {
		x.t.Errorf(format, args...)
	}
}

func (x *trial) count(what string) { x.add(what, 1) }

func (x *trial) add(what string, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts[what] += n
}

func (x *trial) counted(what string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts[what]
}

// tell prints what the trial did.
func (x *trial) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(x.counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", x.counts[what], what))
	}
	x.t.Logf("seed %d: %s", x.seed, strings.Join(lines, ", "))
}
