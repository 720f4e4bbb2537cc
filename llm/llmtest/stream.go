package llmtest

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// Format is a wire format of the recordings.
type Format string

// The formats.
const (
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
)

//go:embed testdata
var testdata embed.FS

// Stream is a recorded answer.
type Stream struct {
	Name string
	Wire []byte
}

// Streams lists the recordings of a format by name.
func Streams(format Format) []Stream {
	names, err := fs.Glob(testdata, path.Join("testdata", string(format), "*.sse"))
	if err != nil || len(names) == 0 {
		panic("llmtest: no recordings of " + string(format))
	}
	var streams []Stream
	for _, name := range names {
		wire, err := testdata.ReadFile(name)
		if err != nil {
			panic(err) // embedded: cannot be missing
		}
		streams = append(streams, Stream{Name: strings.TrimSuffix(path.Base(name), ".sse"), Wire: wire})
	}
	return streams
}

// Serve answers with a recorded stream, written and flushed in pieces chosen by cut.
func Serve(wire []byte, cut Cut) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w)
		for rest := wire; len(rest) > 0; {
			n := min(max(cut(), 1), len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return // the client has gone
			}
			_ = flush.Flush() // as above
			rest = rest[n:]
		}
	})
}

// lateServe answers with the contents of wire at the time of the request. The caller changes it only between answers.
func lateServe(wire *[]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := *wire
		Serve(whole, func() int { return len(whole) }).ServeHTTP(w, r)
	})
}

// Cut returns the size in bytes of a stream's next piece.
type Cut func() int
