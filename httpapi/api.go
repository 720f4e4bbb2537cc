package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"parley/engine"
	"parley/live"
)

// Options are what a handler is made of. Engine and Hub are required.
type Options struct {
	Engine *engine.Engine
	Hub    *live.Hub

	// LocalToken is the content of the token file: its owner is the machine's own
	// user, admin of every workspace. "" when there is none.
	LocalToken string
	// Loopback says that the listener is on a loopback address: while no key
	// exists every request is the local owner's, and only names of this machine
	// are answered to.
	Loopback bool
	// Hosts are further names that requests may use in the Host header, without ports.
	Hosts []string

	Ready   func(context.Context) error // whether the server is ready; nil: always
	Page    http.Handler                // answers GET outside /v1; nil: none
	Version string                      // in the document; "dev" when empty
	Flush   time.Duration               // standard pace of merged deltas; 0: StandardFlush
	Log     *slog.Logger                // nil: slog.Default()
}

// api is the handler. It keeps nothing between requests but the gate's memory.
type api struct {
	engine   *engine.Engine
	hub      *live.Hub
	gate     *gate
	loopback bool
	hosts    []string
	ready    func(context.Context) error
	page     http.Handler
	flush    time.Duration
	log      *slog.Logger

	mux      *http.ServeMux
	schemas  *registry
	document *huma.OpenAPI
	json     []byte // the document, encoded once
	yaml     []byte
}

// New makes the handler of the whole API. It fails only if the document cannot
// be encoded.
func New(options Options) (http.Handler, error) {
	a, err := assemble(options.Version)
	if err != nil {
		return nil, err
	}
	a.engine, a.hub = options.Engine, options.Hub
	a.gate = newGate(options.Engine, options.LocalToken, options.Loopback)
	a.loopback = options.Loopback
	for _, host := range options.Hosts {
		a.hosts = append(a.hosts, strings.ToLower(strings.Trim(host, "[]")))
	}
	a.ready, a.page, a.flush, a.log = options.Ready, options.Page, options.Flush, options.Log
	if a.flush == 0 {
		a.flush = StandardFlush
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	return a, nil
}

// OpenAPI is the document of the API as JSON.
func OpenAPI(version string) ([]byte, error) {
	a, err := assemble(version)
	if err != nil {
		return nil, err
	}
	return a.json, nil
}

// assemble registers every route and encodes the document.
func assemble(version string) (*api, error) {
	if version == "" {
		version = "dev"
	}
	schemas := newRegistry()
	a := &api{mux: http.NewServeMux(), schemas: schemas, document: newDocument(version, schemas)}
	a.register(routes())
	return a, a.encodeDocument()
}
