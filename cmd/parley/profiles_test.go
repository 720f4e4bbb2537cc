package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.org/parley/internal/bounded"
)

// profiled reads a profile to its end, which is compressed; an error for anything else.
func profiled(body io.Reader) error {
	unpacked, err := gzip.NewReader(body)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, unpacked)
	if err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	return err
}

// profiling is a server of profiles whose time passes when the test says so.
type profiling struct {
	*profiles
	t     *testing.T
	url   string
	asked chan time.Duration // how long each profile of the processor is to last
	over  chan time.Time
}

func newProfiling(t *testing.T) *profiling {
	p := &profiling{t: t, asked: make(chan time.Duration, 1), over: make(chan time.Time)}
	p.profiles = newProfiles(func(d time.Duration) <-chan time.Time { p.asked <- d; return p.over })
	server := httptest.NewServer(p.beside(http.NotFoundHandler()))
	t.Cleanup(server.Close)
	p.url = server.URL + "/debug/pprof/"
	return p
}

// profileAnswer is how a request for a profile was answered.
type profileAnswer struct {
	status int   // 0: not at all
	body   error // why it is no profile
}

// get asks for a profile in the background.
func (p *profiling) get(ctx context.Context, name string) <-chan profileAnswer {
	answered := make(chan profileAnswer, 1)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+name, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	go func() { // ends with the request, which the server's end bounds
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			close(answered)
			return
		}
		defer response.Body.Close()
		answered <- profileAnswer{response.StatusCode, profiled(response.Body)}
	}()
	return answered
}

// want compares an answer's status.
func (p *profiling) want(answered <-chan profileAnswer, status int) {
	p.t.Helper()
	answer := bounded.Receive(p.t, answered, "an answer")
	if answer.status != status || (answer.body == nil) != (status == http.StatusOK) {
		p.t.Errorf("status %d (%v); want %d", answer.status, answer.body, status)
	}
}

// Not parallel, like the next one: a process can take one profile of the processor, and
// TestMetricsHaveAnAddressOfTheirOwn takes one too.
func TestOneProfileAtATime(t *testing.T) {
	p := newProfiling(t)
	first := p.get(t.Context(), "profile?seconds=60")
	if d := bounded.Receive(t, p.asked, "the profile to begin"); d != mostProfiled {
		t.Errorf("a profile of %s; want %s", d, mostProfiled)
	}
	for _, name := range []string{"profile", "heap", "allocs", "goroutine"} {
		p.want(p.get(t.Context(), name), http.StatusConflict)
	}
	p.over <- time.Time{}
	p.want(first, http.StatusOK)
	for _, name := range []string{"heap", "allocs", "goroutine"} {
		p.want(p.get(t.Context(), name), http.StatusOK)
	}
	for _, seconds := range []string{"0", "-1", "61", "1.5", "x", "99999999999999999999"} {
		p.want(p.get(t.Context(), "profile?seconds="+seconds), http.StatusUnprocessableEntity)
	}
}

func TestProfilesEndWithTheirClientAndTheServer(t *testing.T) {
	p := newProfiling(t)
	ctx, leave := context.WithCancel(t.Context())
	gone := p.get(ctx, "profile")
	if d := bounded.Receive(t, p.asked, "the profile to begin"); d != usualProfiled {
		t.Errorf("a profile of %s; want %s", d, usualProfiled)
	}
	leave()
	if answer := bounded.Receive(t, gone, "the request to end"); answer.status != 0 {
		t.Errorf("somebody who left was answered %d", answer.status)
	}
	ended := make(chan struct{})
	go func() { // ends with that profile
		p.slot <- struct{}{}
		<-p.slot
		close(ended)
	}()
	bounded.Receive(t, ended, "the profile to end")
	last := p.get(t.Context(), "profile")
	bounded.Receive(t, p.asked, "the profile to begin")
	p.close()
	p.want(last, http.StatusOK)
	p.want(p.get(t.Context(), "heap"), http.StatusConflict)
}
