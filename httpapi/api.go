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
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// Options are what a handler is made of. Engine and Streams are required.
type Options struct {
	Engine  *engine.Engine
	Streams *stream.Streams

	// LocalToken is the content of the token file, whose owner is the server's own user and admin of every workspace.
	// "" without one.
	LocalToken string
	// LocalSince is when the token was made: browsers that its owner signed in before are signed out. 0: unknown.
	LocalSince parley.Time
	// Loopback says that the listener is on a loopback address: OwnUser then decides who gets in while no key exists,
	// and requests must name this machine as their host.
	Loopback bool
	// OwnUser returns nil if the connection of the request's context belongs to the server's own user, and otherwise
	// the reason: ErrCannotTell if the system cannot tell. A nil function admits nobody.
	OwnUser func(context.Context) error
	// InsecureLocal lets every user of this machine in while no key exists.
	InsecureLocal bool
	// SignInCode signs the server's own user in at /sign-in?code=…, once and within SignInCodeTime. "" without one.
	SignInCode string
	// TrustedProxies are networks whose X-Forwarded-For says where a request comes from.
	TrustedProxies []netip.Prefix
	// Hosts are other names that the Host header may have, without ports.
	Hosts []string
	// Origins are those whose pages may use the server from a browser, with a key in a header: "https://example.org".
	Origins []string
	// Mounts are other people's protocols.
	Mounts []protocol.Mount

	Ready   func(context.Context) error // whether the server is ready; nil: always
	Page    http.Handler                // answers GET outside /v1; nil: none
	Metrics http.Handler                // answers /metrics; nil: 404
	Limited func(observe.RateScope)     // hears of each 429 by a limit; may be nil
	// WrongKey hears of each wrong key with the status of its answer; may be nil.
	WrongKey func(status int)
	Flush    time.Duration // standard pace of merged deltas; 0: stream.StandardFlush
	Log      *slog.Logger  // nil: slog.Default()

	after func(time.Duration) <-chan time.Time // tests set it to move time themselves; nil: time.After
}

// api is the handler. It keeps nothing between requests but the gate's memory.
type api struct {
	engine   *engine.Engine
	streams  *stream.Streams
	gate     *gate
	loopback bool
	hosts    []string
	origins  []string // lower case
	mounts   []*protocol.Mount
	ready    func(context.Context) error
	page     http.Handler
	metrics  http.Handler
	limited  func(observe.RateScope)
	wrongKey func(status int)
	guesses  *guesses
	flush    time.Duration
	log      *slog.Logger

	memory  *inflight.Bytes  // that requests hold
	reads   *inflight.Places // of reading requests
	changes *inflight.Places // of changing ones
	writes  *inflight.Places // of changes that run alone
	answers *inflight.Places // of what requests that waited for a turn read of it
	mux     *http.ServeMux
	schemas *registry // of the inputs
}

// New makes the handler of the whole API. CodeInvalid if a required option is missing.
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
		reads:    inflight.NewPlaces(readsOfOne),
		changes:  inflight.NewPlaces(changesOfOne),
		writes:   inflight.NewPlaces(1),
		answers:  inflight.NewPlaces(answersOfOne),
	}
	for _, host := range options.Hosts {
		a.hosts = append(a.hosts, strings.ToLower(strings.Trim(host, "[]")))
	}
	for _, origin := range options.Origins {
		a.origins = append(a.origins, strings.ToLower(origin))
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
	for i := range options.Mounts {
		a.mount(&options.Mounts[i])
	}
	return a, nil
}
