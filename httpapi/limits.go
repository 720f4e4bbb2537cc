package httpapi

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/caught"
	"example.org/parley/internal/inflight"
)

// The bounds of a connection and a request. A stream has no total deadline.
const (
	HeaderTimeout  = 10 * time.Second // until a request's headers have arrived
	BodyTimeout    = 30 * time.Second // until its body has arrived
	AnswerTimeout  = 2 * time.Minute  // until its answer has been read; a stream's writes have WriteTimeout each
	IdleTimeout    = 2 * time.Minute  // of a connection between requests
	MaxHeaderBytes = 32 << 10
	maxURLBytes    = 8 << 10
)

// requestIDHeader is on every answer.
const requestIDHeader = "Parley-Request-Id"

// NewServer is an HTTP server for the handler with the bounds set: slow headers
// and bodies are cut off, streams are not.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: HeaderTimeout,
		WriteTimeout:      AnswerTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
	}
	if log != nil {
		server.ErrorLog = slog.NewLogLogger(
			log.Handler(),
			slog.LevelDebug,
		) // handshakes and broken connections of clients
	}
	return server
}

// exchange is one request on its way to its answer.
type exchange struct {
	w         http.ResponseWriter
	r         *http.Request
	principal parley.Principal
	local     bool      // the principal is the machine's own user
	signIn    parley.ID // the browser's; zero if something else let the request in
	requestID parley.ID
	query     url.Values   // of the route's parameters only, each at most once unless it repeats
	body      []byte       // whole; nil without one
	schema    *huma.Schema // of the body
	example   string       // of the body
	call      *engine.Call // nil until the request is let in, and for open routes

	memory *inflight.Bytes // which all requests share
	held   int64           // how much of it this one holds
	holder inflight.Owner  // for whom: a sign-in changes who asks
	leave  func()          // gives its place among its principal's requests back; nil without one

	known func() error // ends what endWithKey began; nil without it

	turn parley.ID // begun by the request, if any

	keyLimited bool // the key's own rate refused it before anything else
	guessing   bool // its sender sent wrong keys too fast
	streaming  bool // its principal has no stream left
	streamed   bool // its path is that of a stream
	waits      bool // it is answered when its turn ends
	wait       time.Duration
	view       string // its path is that of this view of messages; "" of other paths
	person     bool   // a person opened the address: problems are pages
}

// ServeHTTP gives the request an id, checks its origin and bounds, and lets the route answer. A panic becomes an
// internal error.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	id := parley.NewID()
	header.Set(requestIDHeader, id.String())
	header.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		header.Set("Cache-Control", "private, no-cache") // unless the route says otherwise
	}
	a.dropOldCookie(w, r)
	defer a.recovered(w, r, id)
	if a.allowOrigin(w, r) {
		return
	}
	if r.ContentLength != 0 { // even if no route reads the body: net/http waits for it before it answers
		_ = http.NewResponseController(w).
			SetReadDeadline(time.Now().Add(BodyTimeout))
		// an error only means a connection without deadlines
	}
	if err := a.admit(r); err != nil {
		a.fail(
			&exchange{w: w, r: r, requestID: id},
			err,
		) //nolint:contextcheck // the exchange holds the request with its context
		return
	}
	a.mux.ServeHTTP(w, r)
}

// recovered ends a panic at the edge: it logs it once, and answers with an internal error if nothing was answered yet.
func (a *api) recovered(w http.ResponseWriter, r *http.Request, id parley.ID) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	of := caught.New(cause)
	a.log.LogAttrs(r.Context(), slog.LevelError, "request panicked", slog.String("request_id", id.String()),
		slog.String("route", r.Pattern), slog.String("panic", of.What()), slog.String("stack", of.Stack()))
	a.fail(
		&exchange{w: w, r: r, requestID: id},
		parley.Errorf(parley.CodeInternal, "panic"),
	) //nolint:contextcheck // the exchange holds the request with its context
}

// admit refuses what no route should see: host names of other servers (a rebound DNS name may lead to a loopback
// listener), pages of other sites, and addresses that are too long.
func (a *api) admit(r *http.Request) error {
	if len(r.RequestURI) > maxURLBytes {
		return parley.Errorf(parley.CodeTooLarge, "The address is longer than %d bytes.", maxURLBytes)
	}
	if a.loopback && !a.ownHost(r.Host) {
		return parley.Errorf(
			parley.CodeForbidden,
			"This server answers to localhost only, not to the name in the Host header. Use http://localhost or add "+
				"the name to the server's configured hosts.",
		)
	}
	if foreignOrigin(r) {
		if a.allows(r.Header.Get("Origin")) {
			return nil
		}
		return crossSite()
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return crossSite()
	}
	return nil
}

func crossSite() error {
	return parley.Errorf(
		parley.CodeForbidden,
		"Pages of other sites may not use this server. Call it from its own page, or without an Origin header. An "+
			"admin can allow an origin with the setting allowed_origins (PARLEY_ALLOWED_ORIGINS).",
	)
}

// ownHost reports whether a Host header names this machine or a configured name.
func (a *api) ownHost(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	switch name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return slices.Contains(a.hosts, name)
}

// mergePatch is the media type of RFC 7396, which every PATCH accepts besides JSON: an absent field stays, null clears.
const mergePatch = "application/merge-patch+json"

// readBody reads the whole body, at most so many bytes of JSON, within the deadline that ServeHTTP set. It
// refuses a longer body before it reads any of it.
func (a *api) readBody(x *exchange, most int64) error {
	r := x.r
	if r.ContentLength > most {
		return bodyTooLarge(x, most)
	}
	if r.ContentLength != 0 {
		if media, _, err := mime.ParseMediaType(
			r.Header.Get("Content-Type"),
		); err != nil ||
			media != "application/json" && (media != mergePatch || r.Method != http.MethodPatch) {
			x.w.Header().Set("Connection", "close") // do not read the rest
			return parley.Errorf(parley.CodeUnsupported, "Send JSON with the header Content-Type: application/json.")
		}
		if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
			x.w.Header().Set("Connection", "close")
			return parley.Errorf(parley.CodeUnsupported, "Send the body without Content-Encoding.")
		}
	}
	if r.ContentLength == 0 {
		return nil
	}
	size := r.ContentLength
	if size < 0 { // the length is unknown
		size = most
	}
	if err := x.hold(size); err != nil {
		x.w.Header().Set("Connection", "close") // do not read the rest
		return err
	}
	// otherwise a stream would end with the body's deadline
	defer func() { _ = http.NewResponseController(x.w).SetReadDeadline(time.Time{}) }()
	var err error
	if n := r.ContentLength; n > 0 {
		x.body = make([]byte, n)
		_, err = io.ReadFull(r.Body, x.body)
	} else {
		x.body, err = io.ReadAll(io.LimitReader(r.Body, most+1))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		x.w.Header().Set("Connection", "close")
		return parley.Errorf(parley.CodeInvalid, "The body did not arrive within %s.", BodyTimeout)
	case err != nil:
		x.w.Header().Set("Connection", "close")
		return parley.Errorf(parley.CodeInvalid, "The body broke off before it was complete.")
	case int64(len(x.body)) > most:
		return bodyTooLarge(x, most)
	}
	if err := parley.CheckJSON(x.body); err != nil {
		return err
	}
	return x.holdDecoded()
}

func bodyTooLarge(x *exchange, most int64) error {
	x.w.Header().Set("Connection", "close")
	return parley.Errorf(parley.CodeTooLarge, "The body is larger than %d bytes.", most)
}
