package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/inflight"
	"example.org/parley/observe"
	"example.org/parley/stream"
)

// Options are what a handler is made of. Engine and Streams are required.
type Options struct {
	Engine  *engine.Engine
	Streams *stream.Streams

	// LocalToken is the content of the token file: its owner is the server's own
	// user, admin of every workspace. "" when there is none.
	LocalToken string
	// Loopback says that the listener is on a loopback address: while no key exists
	// OwnUser decides who is let in without one, and only names of this machine are
	// answered to.
	Loopback bool
	// OwnUser reports whether the connection of a request's context is the server's
	// own user's: nil, or why not, ErrCannotTell where that cannot be known. nil:
	// nobody's is.
	OwnUser func(context.Context) error
	// InsecureLocal lets every user of this machine in while no key exists.
	InsecureLocal bool
	// SignInCode signs the server's own user in at /sign-in?code=…, once and within
	// SignInCodeTime. "" when there is none.
	SignInCode string
	// TrustedProxies are networks whose X-Forwarded-For says where a request comes from.
	TrustedProxies []netip.Prefix
	// Hosts are further names that requests may use in the Host header, without ports.
	Hosts []string

	Ready   func(context.Context) error // whether the server is ready; nil: always
	Page    http.Handler                // answers GET outside /v1; nil: none
	Metrics http.Handler                // answers /metrics; nil: nothing there
	Limited func(observe.RateScope)     // is told of each 429 by a limit; nil: nobody is
	// WrongKey is told of each wrong key with the status of its answer; nil: nobody is.
	WrongKey func(status int)
	Flush    time.Duration // standard pace of merged deltas; 0: stream.StandardFlush
	Log      *slog.Logger  // nil: slog.Default()

	after func(time.Duration) <-chan time.Time // of tests that move the time themselves; nil: time.After
}

// api is the handler. It keeps nothing between requests but the gate's memory.
type api struct {
	engine   *engine.Engine
	streams  *stream.Streams
	gate     *gate
	loopback bool
	hosts    []string
	ready    func(context.Context) error
	page     http.Handler
	metrics  http.Handler
	limited  func(observe.RateScope)
	wrongKey func(status int)
	guesses  *guesses
	flush    time.Duration
	log      *slog.Logger

	memory  *inflight.Bytes // that requests hold
	mux     *http.ServeMux
	schemas *registry // of the inputs
}

// New makes the handler of the whole API. CodeInvalid when a required option is
// missing.
func New(options Options) (http.Handler, error) {
	if options.Engine == nil || options.Streams == nil {
		return nil, parley.Errorf(parley.CodeInvalid, "the HTTP API needs an engine and its streams")
	}
	a := &api{
		engine:   options.Engine,
		streams:  options.Streams,
		gate:     newGate(&options),
		loopback: options.Loopback,
		ready:    options.Ready,
		page:     options.Page,
		metrics:  options.Metrics,
		limited:  options.Limited,
		wrongKey: options.WrongKey,
		flush:    options.Flush,
		log:      options.Log,
		mux:      http.NewServeMux(),
		schemas:  newRegistry(),
		memory:   inflight.NewBytes(heldAtOnce, heldOfOne),
	}
	for _, host := range options.Hosts {
		a.hosts = append(a.hosts, strings.ToLower(strings.Trim(host, "[]")))
	}
	if a.flush == 0 {
		a.flush = stream.StandardFlush
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.guesses = newGuesses(options.TrustedProxies, a.log)
	if options.after != nil {
		a.guesses.after = options.after
	}
	a.register(routes())
	return a, nil
}
