package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"os"

	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// TestAnAbsentServerSaysWhy: a server that is away is listed with the reason and what to do, without its output, its
// secrets or its paths; the entry disappears when the server is there.
func TestAnAbsentServerSaysWhy(t *testing.T) {
	t.Parallel()
	locked := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(locked, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	dies, silent := childServer(t, "dies", "dies"), childServer(t, "silent", "silent")
	dies.Environment = append(dies.Environment, "SECRET_TOKEN=s3cret-value")
	silent.ConnectTime = time.Second
	source := open(t, dies, silent, childServer(t, "zoo", "tools"),
		mcp.Server{Name: "absent", Command: "/nowhere/to-be-found"},
		mcp.Server{Name: "unfound", Command: "parley-has-no-such-program"},
		mcp.Server{Name: "locked", Command: locked},
		mcp.Server{Name: "key", URL: refusing.URL, AllowPrivate: true},
		mcp.Server{Name: "path", URL: missing.URL, AllowPrivate: true},
		mcp.Server{Name: "port", URL: "http://127.0.0.1:1/mcp", AllowPrivate: true},
		mcp.Server{Name: "private", URL: "http://127.0.0.1:1/mcp"})
	faults := map[string]tool.Fault{}
	for _, fault := range source.Faults() {
		faults[fault.Name] = fault
	}
	want := map[string][2]string{
		"dies__*":    {"ended with exit status 3", "log"},
		"silent__*":  {"did not answer within 1s", "connect_timeout"},
		"absent__*":  {"not found", "`command`"},
		"unfound__*": {"not found", "PATH"},
		"locked__*":  {"may not be executed", "executable"},
		"key__*":     {"credentials: 401 Unauthorized", "secret_headers"},
		"path__*":    {"answered 404 Not Found", "`url`"},
		"port__*":    {"nothing listens", "Start it"},
		"private__*": {"private address", "allow_private"},
	}
	if len(faults) != len(want) {
		t.Errorf("there are %d faults: %v", len(faults), faults)
	}
	for name, says := range want {
		fault := faults[name]
		if !strings.Contains(fault.Reason, says[0]) || !strings.Contains(fault.Do, says[1]) {
			t.Errorf("%s says %q, %q", name, fault.Reason, fault.Do)
		}
		if prefix, ok := fault.Server(); !ok || fault.Source != "mcp/"+strings.TrimSuffix(prefix, "__") {
			t.Errorf("%s is of %q, a server: %v", name, fault.Source, ok)
		}
		for _, secret := range []string{"s3cret", "no token", locked, "/nowhere", "127.0.0.1"} {
			if strings.Contains(fault.Reason+fault.Do, secret) {
				t.Errorf("%s tells %q", name, secret)
			}
		}
	}
}

// TestAnAbsentServerIsWarnedOfOnce: attempts that fail for the same reason do not fill the log.
func TestAnAbsentServerIsWarnedOfOnce(t *testing.T) {
	t.Parallel()
	source, log := logged(t, mcp.Server{Name: "absent", Command: "/nowhere/to-be-found"})
	until(t, "several attempts", func() bool { return strings.Count(log.String(), "is away") > 1 })
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
	if len(source.Faults()) != 1 {
		t.Errorf("faults: %v", source.Faults())
	}
}
