package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// The document is served compressed as it stands in the program, unpacked to those that do not take gzip, and not at
// all to those that have it.
func TestDocumentIsServedPacked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	document, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		status int
		header http.Header
	}
	ask := func(method, path string, header ...string) (answer, []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		transport := &http.Transport{DisableCompression: true} // else it asks for gzip by itself
		defer transport.CloseIdleConnections()
		got, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		var body io.Reader = got.Body
		if got.Header.Get("Content-Encoding") == "gzip" && method != http.MethodHead &&
			got.StatusCode == http.StatusOK {
			if body, err = gzip.NewReader(got.Body); err != nil {
				t.Fatal(err)
			}
		}
		read, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{got.StatusCode, got.Header}, read
	}
	tags := map[string]bool{}
	for _, accept := range []string{"gzip", "br, GZIP;q=0.5", "identity", "gzip;q=0", ""} {
		got, body := ask("GET", "/v1/openapi.json", "Accept-Encoding", accept)
		if string(body) != string(document) {
			t.Errorf("Accept-Encoding %q: another document, of %d bytes", accept, len(body))
		}
		if packed := got.header.Get(
			"Content-Encoding",
		) == "gzip"; packed != (accept == "gzip" || accept == "br, GZIP;q=0.5") {
			t.Errorf("Accept-Encoding %q: Content-Encoding %q", accept, got.header.Get("Content-Encoding"))
		}
		if got.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Vary %q", got.header.Get("Vary"))
		}
		etag := got.header.Get("ETag")
		tags[etag] = true
		again, body := ask(
			"GET",
			"/v1/openapi.json",
			"Accept-Encoding",
			accept,
			"If-None-Match",
			etag,
		)
		if again.status != http.StatusNotModified || len(body) > 0 {
			t.Errorf("Accept-Encoding %q: status %d for who has it", accept, again.status)
		}
		head, body := ask("HEAD", "/v1/openapi.json", "Accept-Encoding", accept)
		if head.status != http.StatusOK || len(body) > 0 || head.header.Get("ETag") != etag {
			t.Errorf("HEAD: status %d, %d bytes, ETag %s", head.status, len(body), head.header.Get("ETag"))
		}
	}
	if len(tags) != 2 {
		t.Errorf("two forms have the ETags %v", tags)
	}
	got, text := ask("GET", "/v1/openapi.yaml", "Accept-Encoding", "gzip")
	if tags[got.header.Get("ETag")] {
		t.Error("YAML has the ETag of JSON")
	}
	same, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var asJSON, asYAML any
	if err := errors.Join(json.Unmarshal(document, &asJSON), json.Unmarshal(same, &asYAML)); err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(asJSON, asYAML); difference != "" {
		t.Errorf("YAML differs from JSON: %s", difference)
	}
}

// BenchmarkDocument is the first request for the document, to a client of its own.
func BenchmarkDocument(b *testing.B) {
	for _, accept := range []string{"gzip", "identity"} {
		b.Run(accept, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/openapi.json", nil)
				r.Header.Set("Accept-Encoding", accept)
				if err := serveOpenAPI(nil, &exchange{w: discard{http.Header{}}, r: r}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("described", func(b *testing.B) { // what a request took that describes the API
		b.ReportAllocs()
		for b.Loop() {
			if _, err := OpenAPI(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// discard is an answer that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
