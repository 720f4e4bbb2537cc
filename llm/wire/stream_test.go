package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/llm/sse"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words is a format in which every frame is a word, "." ends the answer, and
// ";" makes it complete.
type words struct{ complete bool }

func (w *words) Decode(frame sse.Frame, chunks []model.Chunk) ([]model.Chunk, bool, error) {
	switch text := string(frame.Data); text {
	case ".":
		return append(chunks, model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}), true, nil
	case ";":
		w.complete = true
		return chunks, false, nil
	case "usage":
		return append(chunks, model.Chunk{Kind: model.ChunkUsage}), false, nil
	default:
		return append(chunks, model.Chunk{Kind: model.ChunkText, Text: text}), false, nil
	}
}

func (w *words) Complete() bool { return w.complete }

func (w *words) UsageOf([]byte) parley.Usage { return parley.Usage{} }

func (w *words) End(chunks []model.Chunk) ([]model.Chunk, error) {
	if !w.complete {
		return chunks, wire.ErrUnfinished
	}
	return append(chunks, model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}), nil
}

// line is one action of a provider in memory.
type line struct {
	after time.Duration
	text  string
	err   error
}

// provider is an http.RoundTripper that answers with lines; then it stays silent until the request's context ends.
type provider struct{ lines []line }

func (p provider) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       &body{ctx: r.Context(), lines: p.lines},
		Request:    r,
	}, nil
}

type body struct {
	ctx   context.Context // the request's, as a real body has it
	lines []line
	rest  string
}

func (b *body) Read(p []byte) (int, error) {
	for b.rest == "" {
		if len(b.lines) == 0 {
			<-b.ctx.Done()
			return 0, b.ctx.Err()
		}
		next := b.lines[0]
		b.lines = b.lines[1:]
		select {
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		case <-time.After(next.after):
		}
		if next.err != nil {
			return 0, next.err
		}
		b.rest = next.text
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }

func word(after time.Duration, text string) line {
	return line{after: after, text: "data: " + text + "\n\n"}
}

// TestDeadlines: the first content must arrive within 10 s whatever else does, later silences stay below 3 s, and the
// consumer's own time never counts.
func TestDeadlines(t *testing.T) {
	const s = time.Second
	cases := map[string]struct {
		lines   []line
		consume time.Duration // what the consumer takes for each chunk
		text    string
		class   parley.ErrorClass // "" for a whole answer
		took    time.Duration
	}{
		"in time": {[]line{word(9*s, "a"), word(2*s, "b"), word(2*s, ".")}, 0, "ab", "", 13 * s},
		"silence": {nil, 0, "", parley.ClassNetwork, 10 * s},
		"pings are no content": {
			[]line{{after: 4 * s, text: ": ping\n\n"}, word(4*s, "usage"), word(4*s, "a")},
			0,
			"",
			parley.ClassNetwork,
			10 * s,
		},
		"pings keep an answer alive": {
			[]line{word(s, "a"), {after: 2 * s, text: ": ping\n\n"}, word(2*s, ".")},
			0,
			"a",
			"",
			5 * s,
		},
		"stall": {[]line{word(s, "a"), word(4*s, ".")}, 0, "a", parley.ClassStream, 4 * s},
		"stall inside a frame": {
			[]line{word(s, "a"), {after: s, text: "data: b"}},
			0,
			"a",
			parley.ClassStream,
			5 * s,
		},
		"a slow consumer": {[]line{word(s, "a"), word(s, "b"), word(s, ".")}, 20 * s, "ab", "", 63 * s},
		"end": {
			[]line{word(s, "a"), {after: s, err: io.EOF}},
			0,
			"a",
			parley.ClassStream,
			2 * s,
		},
		"reset": {
			[]line{word(s, "a"), {after: s, err: errors.New("connection reset by peer")}},
			0,
			"a",
			parley.ClassStream,
			2 * s,
		},
		"reset once complete": {
			[]line{word(s, "a"), word(s, ";"), {after: s, err: errors.New("connection reset by peer")}},
			0,
			"a",
			"",
			3 * s,
		},
		"silence once complete": {[]line{word(s, "a"), word(s, ";")}, 0, "a", "", 5 * s},
		"pings once complete": {
			append([]line{word(s, "a"), word(s, ";")}, trickle(60, line{after: s, text: ": ping\n\n"})...),
			0,
			"a",
			"",
			22 * s,
		},
		"the end of the body is late": {[]line{word(s, "a"), word(s, ".")}, 0, "a", "", 2*s + 50*time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.class == "" && name != "the end of the body is late" && !strings.HasSuffix(name, "once complete") {
					c.lines = append(c.lines, line{err: io.EOF})
				}
				endpoint := newEndpoint(t, provider{c.lines})
				begun := time.Now()
				text, finished := "", false
				var failure error
				for chunk, err := range endpoint.Stream(t.Context(), nil, func() wire.Decoder { return &words{} }) {
					failure = err
					text += chunk.Text
					finished = finished || chunk.Kind == model.ChunkFinish
					<-time.After(c.consume) // by the bubble's clock
				}
				if took := time.Since(begun); took != c.took || text != c.text || finished != (c.class == "") {
					t.Errorf("%q after %s, finished %t; want %q after %s", text, took, finished, c.text, c.took)
				}
				var known *model.Error
				switch {
				case c.class == "" && failure != nil:
					t.Errorf("failed with %v", failure)
				case c.class != "" && (!errors.As(failure, &known) || known.Class != c.class || !known.Retryable):
					t.Errorf("failed with %v, want class %s, retryable", failure, c.class)
				}
			})
		})
	}
}

// trickle returns a provider that repeats itself.
func trickle(times int, what line) []line {
	lines := make([]line, times)
	for i := range lines {
		lines[i] = what
	}
	return lines
}

// An answer that never ends, one word every two seconds, is ended by its turn's time and keeps its text.
func TestAnAnswerWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outOfTime := errors.New("the turn's time is over")
		limit := parley.Limits{}.Time()
		ctx, stop := context.WithTimeoutCause(t.Context(), limit, outOfTime)
		defer stop()
		begun, words := time.Now(), 0
		var failure error
		for chunk, err := range newEndpoint(t, provider{trickle(100_000, word(2*time.Second, "x"))}).Stream(ctx,
			nil, newWords) {
			if failure = err; err == nil && chunk.Kind == model.ChunkText {
				words++
			}
		}
		if took := time.Since(begun); took != limit || !errors.Is(failure, outOfTime) || words < 1000 {
			t.Errorf("%d words after %s, %v", words, took, failure)
		}
	})
}

// After a fruitless attempt the next one waits half as long.
func TestLessPatienceAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		for _, err := range newEndpoint(t, provider{}).Stream(model.WithLessPatience(t.Context()), nil, newWords) {
			if known := new(model.Error); !errors.As(err, &known) || known.Class != parley.ClassNetwork {
				t.Errorf("failed with %v", err)
			}
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it waited %s", took)
		}
	})
}

func newWords() wire.Decoder { return &words{} }

func newEndpoint(t *testing.T, via http.RoundTripper) *wire.Endpoint {
	t.Helper()
	endpoint, err := wire.NewEndpoint(wire.EndpointOptions{
		BaseURL: "http://provider.test/v1", Path: "/x", Header: http.Header{}, HTTPClient: &http.Client{Transport: via},
		FirstToken: 10 * time.Second, Idle: 3 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func TestCancelGivesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cancelled by a person")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(cause) })
		begun := time.Now()
		var failure error
		for _, err := range newEndpoint(t, provider{[]line{word(time.Second, "a")}}).Stream(ctx, nil,
			func() wire.Decoder {
				return &words{}
			}) {
			failure = err
		}
		if !errors.Is(failure, cause) || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %s, want the cause after 2s", failure, time.Since(begun))
		}
	})
}

func TestBaseURLs(t *testing.T) {
	for base, want := range map[string]string{
		"https://h/v1":                  "https://h/v1/chat",
		"https://h/v1/":                 "https://h/v1/chat",
		"https://h":                     "https://h/chat",
		"https://h/v1?api-version=2026": "https://h/v1/chat?api-version=2026",
		"":                              "", "h/v1": "", "ftp://h/": "", "http://": "", "http://h:bad/": "",
	} {
		var got string
		endpoint, err := wire.NewEndpoint(
			wire.EndpointOptions{BaseURL: base, Path: "/chat", Header: http.Header{}, HTTPClient: &http.Client{
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					got = r.URL.String()
					return nil, errors.New("no network")
				}),
			}},
		)
		if want == "" {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("%q: %v, want CodeInvalid", base, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", base, err)
		}
		for _, err := range endpoint.Stream(t.Context(), nil, func() wire.Decoder { return &words{} }) {
			if err == nil {
				t.Errorf("%q: an answer without a network", base)
			}
		}
		if got != want {
			t.Errorf("%q asked %q, want %q", base, got, want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Chunks that had already arrived when the call was cancelled are not shown.
func TestCancelDropsBufferedChunks(t *testing.T) {
	cause := errors.New("cancelled by a person")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	whole := provider{[]line{{text: strings.Repeat("data: a\n\n", 5)}}}
	text := ""
	var failure error
	for chunk, err := range newEndpoint(t, whole).Stream(ctx, nil, func() wire.Decoder { return &words{} }) {
		text, failure = text+chunk.Text, err
		cancel(cause)
	}
	if text != "a" || !errors.Is(failure, cause) {
		t.Errorf("%q and %v, want one word and the cause", text, failure)
	}
}

// TestLongPiecesShareTheProcess: many answers that come in long pieces without an end hold
// little together, and what they held is there again when they have ended.
func TestLongPiecesShareTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := provider{[]line{{text: "data: " + strings.Repeat("x", 3<<20)}}} // and then silence
		whole := provider{[]line{{text: "data: " + strings.Repeat("x", 3<<20) + "\n\n"}, word(0, ".")}}
		endpoint, err := wire.NewEndpoint(wire.EndpointOptions{
			BaseURL: "http://provider", Header: http.Header{}, FirstToken: 10 * time.Second, Idle: 3 * time.Second,
			HTTPClient: &http.Client{Transport: &taking{long, whole}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(which string) (failed *model.Error) {
			for _, err := range endpoint.Stream(t.Context(), []byte(which), func() wire.Decoder { return &words{} }) {
				if err != nil && !errors.As(err, &failed) {
					t.Error(err)
				}
			}
			return failed
		}
		const streams = 20
		var crowded atomic.Int64
		var all sync.WaitGroup
		for range streams {
			all.Go(func() {
				if failed := ask("long"); failed != nil && failed.Class == parley.ClassLimit {
					crowded.Add(1)
				}
			})
		}
		all.Wait()
		if n := crowded.Load(); n == 0 || n == streams {
			t.Errorf("%d of %d streams found no room", n, streams)
		}
		if failed := ask("whole"); failed != nil {
			t.Errorf("afterwards: %v", failed)
		}
	})
}

// taking answers as the request's body asks.
type taking struct{ long, whole provider }

func (p *taking) RoundTrip(r *http.Request) (*http.Response, error) {
	if which, err := io.ReadAll(r.Body); err != nil || string(which) == "whole" {
		return p.whole.RoundTrip(r)
	}
	return p.long.RoundTrip(r)
}
