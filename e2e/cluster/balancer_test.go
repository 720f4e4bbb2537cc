package cluster

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley/client"
)

// How often the balancer checks readiness, and how long it waits for the response.
const (
	checkEvery = 200 * time.Millisecond
	checkWaits = 10 * time.Second // on a busy machine a ready process may respond late
)

// balancer spreads requests over the processes that report ready, and checks them
// continuously. Like common balancers it tries another process if it cannot connect to one,
// and otherwise repeats nothing.
type balancer struct {
	url       string
	processes []*process
	ready     []atomic.Bool
	turn      atomic.Int64 // the next process
	transport *http.Transport
}

func newBalancer(t *testing.T, processes []*process) *balancer {
	t.Helper()
	b := &balancer{
		processes: processes,
		ready:     make([]atomic.Bool, len(processes)),
		transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}
	ctx, stop := context.WithCancel(context.Background())
	var checks sync.WaitGroup
	for i := range processes {
		b.check(ctx, i)
		checks.Go(func() { // ended by stop
			for pause(ctx, checkEvery) {
				b.check(ctx, i)
			}
		})
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme = "http" },
		Transport:     b,
		FlushInterval: -1,
	})
	b.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		checks.Wait()
		b.transport.CloseIdleConnections()
	})
	return b
}

func (b *balancer) check(ctx context.Context, i int) {
	ctx, cancel := context.WithTimeout(ctx, checkWaits)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.processes[i].addr+"/readyz", nil)
	if err != nil {
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	b.ready[i].Store(err == nil && response.StatusCode == http.StatusOK)
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(request *http.Request) (*http.Response, error) {
	var failed error
	for range 2 * len(b.processes) {
		i := int(b.turn.Add(1)) % len(b.processes)
		if !b.ready[i].Load() {
			continue
		}
		out := request.Clone(request.Context())
		out.URL.Host, out.Host = b.processes[i].addr, b.processes[i].addr
		response, err := b.transport.RoundTrip(out)
		var dialled *net.OpError
		if err == nil || !errors.As(err, &dialled) || dialled.Op != "dial" {
			return response, err
		}
		failed = err
	}
	return nil, errors.Join(failed, errors.New("no process takes the request"))
}

// through makes the accounts' clients use only the balancer.
func (x *trial) through(b *balancer) {
	x.t.Helper()
	for _, a := range x.accounts {
		c, err := client.New(client.Options{URL: b.url, Key: a.key, Retries: -1})
		if err != nil {
			x.t.Fatal(err)
		}
		x.t.Cleanup(c.Close)
		a.clients = []*client.Client{c}
	}
}
