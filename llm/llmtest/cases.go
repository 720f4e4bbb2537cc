package llmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
)

// frames are the pieces of an answer in a format.
type frames struct{ open, text, close string }

func framesOf(format Format) frames {
	if format == Anthropic {
		return frames{
			open: "event: message_start\ndata: " +
				"{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: " +
				"{\"type\":\"content_block_start\"," +
				"\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
			text: "event: content_block_delta\ndata: " +
				"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\n",
			close: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: " +
				"{\"type\":\"message_delta\"," +
				"\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		}
	}
	return frames{
		open: "data: {\"choices\":[{\"index\":0," +
			"\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
		text:  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n",
		close: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	}
}

// wholeAnswer returns an answer with one text.
func wholeAnswer(format Format, text string) []byte {
	f := framesOf(format)
	return fmt.Appendf(nil, "%s"+f.text+"%s", f.open, text, f.close)
}

// ServeText answers every request with one text.
func ServeText(format Format, text string) http.Handler {
	wire := wholeAnswer(format, text)
	return Serve(wire, all(wire))
}

func all(wire []byte) Cut { return func() int { return len(wire) } }

// longLines: one line of 2 MB is read; one beyond the bound is a stream error without retry.
func longLines(t *testing.T, format Format, factory Factory) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 2<<20/16)
	wire := wholeAnswer(format, string(long))
	fold := ask(t, format, factory(t, Options{BaseURL: serve(t, Serve(wire, func() int { return 60_000 }))}))
	if len(fold.Blocks) != 1 || fold.Blocks[0].Text != string(long) || fold.Finish != parley.FinishStop {
		t.Errorf("2 MB: %d blocks, finish %q, error %v", len(fold.Blocks), fold.Finish, fold.Error)
	}
	wire = wholeAnswer(format, string(bytes.Repeat(long, 3)))
	fold = ask(t, format, factory(t, Options{BaseURL: serve(t, Serve(wire, all(wire)))}))
	if fold.Error == nil || fold.Error.Class != parley.ClassStream || fold.Error.Retryable {
		t.Errorf("6 MB: %+v, want a stream error without retry", fold.Error)
	}
	f := framesOf(format)
	endless := []byte(f.open)
	for range parley.MaxAnswerBytes/len(long) + 1 {
		endless = fmt.Appendf(endless, f.text, long)
	}
	fold = ask(t, format, factory(t, Options{BaseURL: serve(t, Serve(endless, all(endless)))}))
	if fold.Error == nil || fold.Error.Class != parley.ClassStream || fold.Error.Retryable {
		t.Errorf("an answer beyond the bound: %+v, want a stream error without retry", fold.Error)
	}
}

// connections: consecutive answers use one connection, for which the body must be read to its end; so do errors.
func connections(t *testing.T, format Format, factory Factory) {
	wire := wholeAnswer(format, "Hello")
	var asked atomic.Int32
	peers := make(chan string, 8)
	model := factory(t, Options{BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		peers <- r.RemoteAddr
		if asked.Add(1)%3 == 0 {
			http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
			return
		}
		Serve(wire, all(wire)).ServeHTTP(w, r)
	}))})
	for range 6 {
		ask(t, format, model)
	}
	first := <-peers
	for range 5 {
		if peer := <-peers; peer != first {
			t.Fatalf("a second connection, from %s after %s", peer, first)
		}
	}
}

// stalls: silence before the first content, with or without pings, and silence after it.
func stalls(t *testing.T, format Format, factory Factory) {
	f := framesOf(format)
	cases := map[string]struct {
		wire      string
		ping      bool
		class     parley.ErrorClass
		firstWait time.Duration
		idle      time.Duration
	}{
		"nothing at all":        {"", false, parley.ClassNetwork, 20 * time.Millisecond, time.Hour},
		"an opening, then none": {f.open, false, parley.ClassNetwork, 20 * time.Millisecond, time.Hour},
		"pings instead of text": {f.open, true, parley.ClassNetwork, 50 * time.Millisecond, time.Hour},
		"silence after the text": {
			f.open + fmt.Sprintf(f.text, "So far"),
			false,
			parley.ClassStream,
			time.Hour,
			20 * time.Millisecond,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			model := factory(
				t,
				Options{
					FirstToken: c.firstWait,
					Idle:       c.idle,
					BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						if c.wire != "" {
							Serve([]byte(c.wire), all([]byte(c.wire))).ServeHTTP(w, r)
						}
						tick := time.NewTicker(5 * time.Millisecond)
						defer tick.Stop()
						for {
							select {
							case <-r.Context().Done():
								return
							case <-tick.C:
								if c.ping {
									_, _ = io.WriteString(w, ": ping\n\n")
									_ = http.NewResponseController(w).Flush()
								}
							}
						}
					})),
				},
			)
			fold := ask(t, format, model)
			if fold.Error == nil || fold.Error.Class != c.class || !fold.Error.Retryable {
				t.Errorf("%+v, want a %s error that may be retried", fold.Error, c.class)
			}
		})
	}
}

// cancelled: a cancel ends a call that waits for the provider immediately, before its answer begins and in the middle
// of it, and leaves nothing running.
func cancelled(t *testing.T, format Format, factory Factory) {
	f := framesOf(format)
	for name, wire := range map[string]string{"before the answer": "",
		"in its middle": f.open + fmt.Sprintf(f.text, "So far")} {
		t.Run(name, func(t *testing.T) {
			waiting := make(chan struct{})
			base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if wire != "" {
					Serve([]byte(wire), all([]byte(wire))).ServeHTTP(w, r)
				}
				close(waiting)
				<-r.Context().Done()
			}))
			model := factory(t, Options{BaseURL: base, FirstToken: time.Hour, Idle: time.Hour})
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			cause := errors.New("the turn was cancelled")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { // ends with the server's signal
				<-waiting
				cancel(cause)
			}()
			var failure error
			for _, err := range model.Stream(ctx, encode(t, model, Request(format))) {
				failure = err
			}
			if !errors.Is(failure, cause) {
				t.Errorf("%v, want the context's cause", failure)
			}
		})
	}
}

// endless answers with more text than any buffer holds.
func endless(format Format) http.Handler {
	f := framesOf(format)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, f.open)
		for range 200 {
			_, err := fmt.Fprintf(w, f.text, "word ")
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
		_, _ = io.WriteString(w, f.close)
	})
}
