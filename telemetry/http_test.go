package telemetry

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestHTTPIsCountedByRoute(t *testing.T) {
	t.Parallel()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{thing}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("thing") == "none" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	url := serve(t, told.HTTP(mux))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, c := range [][2]string{{"GET", "/things/1"}, {"GET", "/things/2"}, {"GET", "/things/none"}, {"GET", "/else"},
		{"BREW", "/coffee"}} {
		request, err := http.NewRequestWithContext(t.Context(), c[0], url+c[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // its status is enough
	}
	expect(t, scraped(t, told), map[string]string{
		`parley_http_requests_total{method="GET",route="/things/{thing}",status="200"}`: "2",
		`parley_http_requests_total{method="GET",route="/things/{thing}",status="404"}`: "1",
		`parley_http_requests_total{method="GET",route="other",status="418"}`:           "1",
		`parley_http_requests_total{method="other",route="other",status="418"}`:         "1",
		`parley_http_request_seconds_count{method="GET",route="/things/{thing}"}`:       "3",
	})
}

// A reader that accepts nothing is counted once when it is cut off; one that leaves by itself is not.
func TestReadersThatAreCutOffAreCounted(t *testing.T) {
	t.Parallel()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	url := serve(t, told.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		control := http.NewResponseController(w)
		if r.URL.Path == "/slow" {
			if err := control.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				ended <- err
				return
			}
		}
		piece := []byte(strings.Repeat("data: x\n\n", 4096))
		for {
			_, err := w.Write(piece)
			if err == nil {
				err = control.Flush()
			}
			if err != nil {
				_, _ = w.Write(piece) // a second failure of the same reader
				ended <- err
				return
			}
		}
	})))
	address := strings.TrimPrefix(url, "http://")
	for _, path := range []string{"/slow", "/gone"} {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(connection, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if path == "/gone" {
			if _, err := connection.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_ = connection.Close() // like a client that leaves
		}
		if err := <-ended; path == "/slow" && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("the slow reader's stream ended with %v", err)
		}
		_ = connection.Close() // closing twice is harmless
		expect(t, scraped(t, told), map[string]string{"parley_readers_cut_total": "1"})
	}
}
