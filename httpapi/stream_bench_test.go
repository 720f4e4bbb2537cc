package httpapi

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/live"
	"example.org/parley/stream"
)

// BenchmarkStream is one token from the worker to the bytes that its reader is sent: of a text, and of a structured
// answer with its patches.
func BenchmarkStream(b *testing.B) {
	b.Run("Text", func(b *testing.B) { benchmarkStream(b, "") })
	b.Run("Object", func(b *testing.B) { benchmarkStream(b, `{"text":"`) })
}

func benchmarkStream(b *testing.B, begins string) {
	hub := live.New(quiet{}, live.Options{Log: slog.New(slog.DiscardHandler), Poll: time.Hour})
	defer hub.Close()
	session := parley.NewID()
	anybody := parley.Principal{ID: parley.NewID(), WorkspaceID: parley.NewID(), Role: parley.RoleAdmin}
	whole := stream.Request{Sessions: []stream.Place{{SessionID: session}}}
	watched, err := stream.New(engine.New(engine.Options{}), hub).Follow(b.Context(), anybody, whole)
	if err != nil {
		b.Fatal(err)
	}
	defer watched.Close()
	to := newTurnstile()
	over := make(chan error, 1)
	go func() { over <- newSSE(to).Write(b.Context(), watched) }() // ends when the hub closes
	open := func() *live.Stream {
		opened := hub.Open(live.StreamRef{SessionID: session, MessageID: parley.NewID(), Epoch: 1})
		if begins != "" {
			opened.Append(parley.KindText, begins)
			<-to.sent
		}
		return opened
	}
	writing := open()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%4096 == 4095 {
			writing.Drop()
			writing = open()
		}
		writing.Append(parley.KindText, "word ")
		<-to.sent
	}
	hub.Close()
	if err := <-over; err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64(to.bytes)/float64(b.N), "sent-B/op")
}

// turnstile tells of each write.
type turnstile struct {
	http.ResponseWriter
	sent  chan struct{}
	bytes int64 // written so far; read when nothing is
}

func newTurnstile() *turnstile {
	return &turnstile{ResponseWriter: &httptest.ResponseRecorder{}, sent: make(chan struct{})}
}

// Write implements http.ResponseWriter.
func (s *turnstile) Write(frames []byte) (int, error) {
	s.bytes += int64(len(frames))
	s.sent <- struct{}{}
	return io.Discard.Write(frames)
}

// SetWriteDeadline is what an http.ResponseController looks for.
func (s *turnstile) SetWriteDeadline(time.Time) error { return nil }

// FlushError is what an http.ResponseController looks for.
func (s *turnstile) FlushError() error { return nil }
