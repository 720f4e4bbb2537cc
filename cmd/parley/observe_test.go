package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// The metrics of a server are for admins once there are keys, and for whoever
// reaches their own address, which has probes and profiles beside them.
func TestMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	srv, c := opened(t, t.TempDir(), map[string]string{"PARLEY_METRICS_ADDR": "127.0.0.1:0"}, io.Discard)
	defer c.Close()
	closed := false
	defer func() {
		if !closed {
			t.Error(srv.close())
		}
	}()
	admin, err := localToken(srv.settings.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	get := func(url, bearer string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if bearer != "" {
			request.Header.Set("Authorization", "Bearer "+bearer)
		}
		request.Close = true
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(raw)
	}
	own := "http://" + srv.metrics.listener.Addr().String()
	expect := func(url, bearer string, status int, holds string) {
		t.Helper()
		if got, body := get(url, bearer); got != status || !strings.Contains(body, holds) {
			t.Errorf("%s: status %d: %s; want %d with %q", url, got, parley.Clip(body, 200), status, holds)
		}
	}
	expect(srv.url()+"/metrics", "", 200, "\nparley_ready 1\n") // no key yet, and on loopback
	if _, err := c.CreateKey(t.Context(), client.KeyInput{Name: "someone", Role: parley.RoleMember}); err != nil {
		t.Fatal(err)
	}
	expect(srv.url()+"/metrics", "", 401, "unauthenticated")
	expect(srv.url()+"/metrics", admin, 200, "\nparley_worker_slots 1024\n")
	for path, status := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/v1/sessions": 404,
		"/docs": 404} {
		expect(own+path, "", status, "")
	}
	for _, name := range []string{"heap", "allocs", "goroutine", "profile?seconds=1"} {
		path := "/debug/pprof/" + name
		if status, body := get(own+path, ""); status != 200 || profiled(strings.NewReader(body)) != nil {
			t.Errorf("%s: status %d, %v", path, status, profiled(strings.NewReader(body)))
		}
		for _, bearer := range []string{"", admin} {
			if _, body := get(srv.url()+path, bearer); profiled(strings.NewReader(body)) == nil {
				t.Errorf("the API's address answers %s", path)
			}
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol",
		"/debug/pprof/trace"} {
		expect(own+path, "", 404, "not_found")
	}
	closed = true
	if err := srv.close(); err != nil {
		t.Fatal(err)
	}
	if response, err := http.Get(own + "/healthz"); err == nil {
		_ = response.Body.Close()
		t.Error("the metrics' address outlives its server")
	}
}
