package telemetry

import (
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.org/parley"
)

const endpointEnv = "OTEL_EXPORTER_OTLP_ENDPOINT"

// someSpans returns a batch to send.
func someSpans() []byte { return encodeSpans(tracetest.SpanStubs{{Name: "a span"}}.Snapshots()) }

func TestCollectorIsReachedAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env    map[string]string // URL stands for the collector's address
		path   string
		header map[string]string
	}{
		"an endpoint": {map[string]string{endpointEnv: "URL"}, "/v1/traces", nil},
		"with a path": {map[string]string{endpointEnv: "URL/otlp/"}, "/otlp/v1/traces", nil},
		"of traces": {map[string]string{endpointEnv: "http://unused",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "URL/here"}, "/here", nil},
		"headers": {map[string]string{endpointEnv: "URL",
			"OTEL_EXPORTER_OTLP_HEADERS": "X-A=b%20c, authorization = Basic x=,"}, "/v1/traces",
			map[string]string{"X-A": "b c", "Authorization": "Basic x="}},
		"compressed": {map[string]string{endpointEnv: "URL", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
			"/v1/traces", map[string]string{"Content-Encoding": "gzip"}},
		"by name of protocol": {map[string]string{endpointEnv: "URL", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
			"OTEL_EXPORTER_OTLP_TIMEOUT": "20000"}, "/v1/traces",
			map[string]string{"Content-Type": "application/x-protobuf"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got service.ExportTraceServiceRequest
			url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body := io.Reader(r.Body)
				if r.Header.Get("Content-Encoding") == "gzip" {
					var err error
					if body, err = gzip.NewReader(r.Body); err != nil {
						t.Error(err)
						return
					}
				}
				raw, err := io.ReadAll(body)
				if err = errors.Join(
					err,
					proto.Unmarshal(raw, &got),
				); err != nil || r.URL.Path != c.path ||
					r.Method != http.MethodPost {
					t.Errorf("%s %s: %v", r.Method, r.URL, err)
				}
				for header, want := range c.header {
					if r.Header.Get(header) != want {
						t.Errorf("%s is %q; want %q", header, r.Header.Get(header), want)
					}
				}
			}))
			to, err := newCollector(func(name string) string { return strings.Replace(c.env[name], "URL", url, 1) })
			if err != nil {
				t.Fatal(err)
			}
			err = to.upload(t.Context(), someSpans())
			if to.close(); err != nil || len(got.GetResourceSpans()) != 1 ||
				got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName() != "a span" {
				t.Errorf("%v arrived, %v", &got, err)
			}
		})
	}
}

func TestCollectorOverTLS(t *testing.T) {
	t.Parallel()
	arrived := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived = true }))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(
		file,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	to, err := newCollector(
		environment(map[string]string{endpointEnv: server.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE": file}),
	)
	if err != nil {
		t.Fatal(err)
	}
	err = to.upload(t.Context(), someSpans())
	if to.close(); err != nil || !arrived {
		t.Errorf("arrived: %t, %v", arrived, err)
	}
}

// Passing failures are retried, not before the collector allows it; permanent ones are not.
func TestCollectorIsTriedAgain(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		statuses []int
		after    string
		stop     bool // while it waits
		waits    []time.Duration
		fails    bool
	}{
		"taken":               {[]int{200}, "", false, nil, false},
		"refused":             {[]int{400}, "", false, nil, true},
		"in trouble":          {[]int{503, 502, 202}, "", false, []time.Duration{sendPause, 2 * sendPause}, false},
		"asks for a pause":    {[]int{429, 200}, "7", false, []time.Duration{7 * time.Second}, false},
		"asks for a long one": {[]int{429, 200}, "7000", false, []time.Duration{longestPause}, false},
		"gone for good": {[]int{504, 504, 504, 504, 200}, "", false,
			[]time.Duration{sendPause, 2 * sendPause, 4 * sendPause}, true},
		"stopped": {[]int{503, 200}, "", true, []time.Duration{sendPause}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(c.statuses[asked])
				asked++
			}))
			to, err := newCollector(environment(map[string]string{endpointEnv: url}))
			if err != nil {
				t.Fatal(err)
			}
			var waits []time.Duration
			to.pause = func(_ context.Context, d time.Duration) error {
				if waits = append(waits, d); c.stop {
					return stopped
				}
				return nil
			}
			err = to.upload(t.Context(), someSpans())
			if (err != nil) != c.fails || errors.Is(err, stopped) != c.stop {
				t.Errorf("it ended with %v", err)
			}
			if diff := cmp.Diff(c.waits, waits); diff != "" || asked != len(waits)+1 && !c.stop {
				t.Errorf("%d requests; waits (-want +got):\n%s", asked, diff)
			}
			to.close()
		})
	}
}

func TestSettingsOfACollectorThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"ENDPOINT": "collector:4318", "PROTOCOL": "grpc", "COMPRESSION": "zstd", "HEADERS": "s3cret", "TIMEOUT": "10s",
		"CERTIFICATE": "/nowhere", "CLIENT_KEY": "/nowhere",
	} {
		env := map[string]string{endpointEnv: "http://127.0.0.1:1"}
		env["OTEL_EXPORTER_OTLP_"+name] = wrong
		_, err := newCollector(environment(env))
		if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP") ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
