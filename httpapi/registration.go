package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// route is one operation of the API: its paths, its description, and the function that answers. Everything that a
// client can name is here.
type route struct {
	method string
	paths  []string // the first is the main one; the others do the same
	name   string   // operationId of the main path
	of     string   // operationId of the route that this one is the stream, the wait or a view of; "" for others
	view   string   // that view; "" for others
	waits  bool     // waits for the turn that it begins
	views  bool     // lists messages: views.go adds a route for each view with rows of its own
	tag    string
	says   string // summary
	about  string // description
	verb   engine.Verb
	open   bool // answers without a principal
	makes  bool // creates something of the caller's own and touches nothing that exists
	local  bool // for the server's own user only, whatever the role
	signs  bool // signs in or out: it finds the caller by itself

	query   []parameter
	headers []parameter
	input   *input // of routes that take a body
	answers []answer
	fails   []parley.Code // in addition to those of every route
	serve   func(*api, *exchange) error
	schema  *huma.Schema // of the input; set at registration
	lasting bool         // a stream: the work before it runs on another goroutine
	uploads bool         // reads its body itself: a file
	crowds  bool         // many of a principal's run at once: new messages, and sessions with one
	alone   bool         // one of a principal's runs at once: it reads much while others wait to write
	lingers bool         // reads what it answers while its client takes it: a file, an export
	most    int64        // bytes of its body; 0: parley.MaxBodyBytes
	foreign bool         // another protocol's: its query parameters are not ours to check
}

// parameter is a query parameter or a header of a request.
type parameter struct {
	name    string
	about   string
	schema  huma.Schema
	repeats bool
}

// input is a request's body.
type input struct {
	of      reflect.Type
	example string // JSON
}

// answer is one successful answer. It has a body if it has of or goType.
type answer struct {
	status  int
	about   string
	of      *huma.Schema
	goType  reflect.Type
	media   string // "": application/json
	example string // JSON, or text of another media type
	headers []parameter
}

// register puts every route into the multiplexer.
func (a *api) register(routes []route) {
	adapter := humago.NewAdapter(a.mux, "")
	for i := range routes {
		r := &routes[i]
		if r.input != nil {
			r.schema = a.schemas.Schema(r.input.of, true, "")
		}
		for _, path := range r.paths {
			adapter.Handle(&huma.Operation{Method: r.method, Path: path}, func(ctx huma.Context) {
				request, w := humago.Unwrap(ctx)
				a.answer(r, w, request)
			})
		}
	}
	a.mux.HandleFunc("/", a.nowhere)
}

// answer runs one route: it finds the caller, reads the input, and serves.
func (a *api) answer(r *route, w http.ResponseWriter, request *http.Request) {
	x := &exchange{w: w, r: request, requestID: idOf(w), memory: a.memory}
	defer x.letGo()
	var err error
	if r.lasting || r.foreign { // their answers may be streams
		stream.Aside(func() { err = a.prepare(r, x) })
	} else {
		err = a.prepare(r, x)
	}
	if err == nil && r.signs && foreignOrigin(request) {
		err = crossSite() // a page of another origin sends a key; it signs nobody in
	}
	if err != nil {
		a.fail(x, err)
		return
	}
	x.streamed, x.view = r.of != "" && r.view == "" && !r.waits, r.view
	if x.wait, x.waits, err = x.asksToWait(r); err != nil {
		a.fail(x, err)
		return
	}
	if !r.open && (r.lasting || x.waits || r.streams(x)) {
		end, err := beginStream(request.Context())
		if err != nil {
			x.streaming = true
			a.fail(x, err)
			return
		}
		defer end()
	}
	if r.lasting && request.Method == http.MethodHead {
		newSSE(w) // HEAD asks only for the headers
		return
	}
	if places := a.placesOf(r, x); places != nil {
		if x.leave, err = places.Enter(request.Context(), x.principal.ID); err != nil {
			a.fail(x, err)
			return
		}
		defer x.leavePlace()
	}
	defer func() { _ = x.leaveKey() }() // also after a panic
	if !r.open && (r.lingers || r.uploads) {
		a.endWithKey(x)
	}
	err = r.serve(a, x)
	if ended := x.leaveKey(); err != nil {
		a.fail(x, cmp.Or(ended, err))
		return
	}
	x.call.End(request.Context())
	if a.log.Enabled(request.Context(), slog.LevelDebug) {
		a.log.LogAttrs(request.Context(), slog.LevelDebug, "request answered", x.attrs()...)
	}
}

func (a *api) prepare(r *route, x *exchange) (err error) {
	if !r.open {
		who, err := a.caller(x)
		if err != nil {
			return err
		}
		x.principal, x.local, x.signIn = who.Principal, who.local, who.signIn
		letIn(x.r.Context(), &x.principal)
		if r.local && !x.local {
			return parley.Errorf(
				parley.CodeForbidden,
				"Only the server's own user may do this, because it concerns all workspaces. "+
					"Run the command line on the server's machine, or send the content of the file token in its data "+
					"directory as the key.",
			)
		}
		if err := a.begin(x, r.action()); err != nil {
			return err
		}
		if r.unaudited() {
			x.call.Unaudited()
		}
	}
	if !r.foreign {
		if x.query, err = checkQuery(r, x.r.URL.RawQuery); err != nil {
			return err
		}
	}
	x.schema = r.schema
	if r.input != nil {
		x.example = r.input.example
	}
	if r.uploads {
		return nil
	}
	return a.readBody(x, cmp.Or(r.most, parley.MaxBodyBytes)) // a route without input drops it
}

// action is the request's name in the audit, which does not tell a stream or view from its main route.
func (r *route) action() string {
	if r.of != "" {
		return r.of
	}
	return r.name
}

// begin makes the request a call of its principal.
func (a *api) begin(x *exchange, action string) error {
	ctx, call, err := a.engine.Begin(
		x.r.Context(),
		engine.Caller{Principal: x.principal, RequestID: x.requestID, Action: action},
	)
	if err != nil {
		x.keyLimited = true
		return err
	}
	x.r, x.call = x.r.WithContext(ctx), call
	return nil
}

// idOf reads the request id back from the answer's headers.
func idOf(w http.ResponseWriter) parley.ID {
	id, err := parley.ParseID(w.Header().Get(requestIDHeader))
	if err != nil {
		return parley.NewID()
	}
	return id
}

// nowhere answers requests that no route takes: with the page outside /v1 or, if there is none, by leading a browser to
// the docs.
func (a *api) nowhere(w http.ResponseWriter, r *http.Request) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case a.mountOf(r) != nil: // whatever asks there is a program
	case a.page != nil && reads && r.URL.Path != "/v1" && !strings.HasPrefix(r.URL.Path, "/v1/"):
		a.page.ServeHTTP(w, r)
		return
	case a.page == nil && reads && r.URL.Path == "/":
		http.Redirect(w, r, "/docs", http.StatusFound)
		return
	}
	x := &exchange{w: w, r: r, requestID: idOf(w)}
	if allowed := a.methodsOf(r); len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		a.fail(
			x,
			&wrongMethod{parley.Errorf(parley.CodeUnsupported, "This path accepts %s.", strings.Join(allowed, ", "))},
		) //nolint:contextcheck // the exchange holds the request with its context
		return
	}
	a.fail(
		x,
		parley.Errorf(parley.CodeNotFound, "This path does not exist. The API is described at /docs."),
	) //nolint:contextcheck // the exchange holds the request with its context
}

// methodsOf lists the methods that r's path has routes for.
func (a *api) methodsOf(r *http.Request) []string {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete} {
		probe := http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := a.mux.Handler(&probe); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// sendBytes answers with encoded JSON.
func (x *exchange) sendBytes(status int, body []byte) error {
	if err := x.holdAnswer(len(body)); err != nil {
		return err
	}
	header := x.w.Header()
	if reads := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead; reads && status == http.StatusOK {
		etag := etagOf(body)
		large := len(body) >= compressFrom
		if large {
			header.Add("Vary", "Accept-Encoding, Authorization, Sec-Fetch-Site")
		}
		pack := large && x.mayCompress()
		if pack {
			header.Set("ETag", strings.TrimSuffix(etag, `"`)+gzipTag+`"`)
		} else {
			header.Set("ETag", etag)
		}
		if names(x.r.Header["If-None-Match"], etag) {
			x.w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if pack {
			packed, err := compressed(body)
			if err != nil {
				return err
			}
			header.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	x.leavePlace()
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client may be gone; the work is done
	return nil
}

// sendJSON answers with a value that encoding/json encodes.
func sendJSON[T any](x *exchange, status int, value T) error {
	body, err := parley.EncodeJSON(value)
	if err != nil {
		return err
	}
	return x.sendBytes(status, body)
}

// sendExact answers with a value that contains a request to a model, byte by byte as it was sent.
func sendExact(x *exchange, value interface{ ExactJSON() ([]byte, error) }) error {
	body, err := value.ExactJSON()
	if err != nil {
		return err
	}
	return x.sendBytes(http.StatusOK, body)
}

func (x *exchange) sendNothing() error {
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// pathID reads an id from the path. CodeNotFound for an invalid one, as for any other id that this workspace does not
// have.
func (x *exchange) pathID(name string) (parley.ID, error) {
	id, err := parley.ParseID(x.r.PathValue(name))
	if err != nil {
		return parley.ID{}, parley.Errorf(
			parley.CodeNotFound,
			"The %s does not exist: %s is not an id.",
			name,
			strconv.Quote(parley.Clip(x.r.PathValue(name), 64)),
		)
	}
	return id, nil
}

// session is the id of the session in the path. Under an agent's path it must be that agent's.
func (a *api) session(x *exchange) (parley.ID, error) {
	id, err := x.pathID("session")
	if err != nil {
		return parley.ID{}, err
	}
	if err := a.ofAgent(x, id); err != nil {
		return parley.ID{}, err
	}
	return id, nil
}

// ofAgent checks the agent in the path, if there is one.
func (a *api) ofAgent(x *exchange, session parley.ID) error {
	agent := x.r.PathValue("agent")
	if agent == "" {
		return nil
	}
	_, err := a.engine.SessionOfAgent(x.r.Context(), x.principal, agent, session)
	return err
}

// idempotencyHeader makes a creation safe to repeat.
const idempotencyHeader = "Idempotency-Key"

// idempotency is the request's key with its fingerprint; the zero value without a key.
func (x *exchange) idempotency(target string) (store.Idempotency, error) {
	keys := x.r.Header[idempotencyHeader]
	if len(keys) == 0 {
		return store.Idempotency{}, nil
	}
	if len(keys) > 1 || keys[0] == "" {
		return store.Idempotency{}, parley.InvalidField(idempotencyHeader, "must be given once, and not be empty")
	}
	return x.call.Idempotency(keys[0], target, x.body), nil
}
