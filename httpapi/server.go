package httpapi

import (
	_ "embed"
	"errors"
	"log/slog"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// health is the answer of the two probes.
type health struct {
	Status string `json:"status" enum:"ok"`
}

func serveHealth(_ *api, x *exchange) error { return sendJSON(x, http.StatusOK, health{"ok"}) }

// serveReady answers probes. A server that is not ready is not logged: each proxy asks once a second while it
// drains.
func serveReady(a *api, x *exchange) error {
	if a.ready != nil {
		if err := a.ready(x.r.Context()); err != nil {
			says := "The server is not ready: it is starting, draining, or its store does not answer."
			var damage *store.Damage
			if errors.As(err, &damage) {
				says = damage.Error()
			}
			a.failAt(slog.LevelDebug, x, parley.WrapError(parley.CodeUnavailable, err, says))
			return nil
		}
	}
	return sendJSON(x, http.StatusOK, health{"ok"})
}

// serveMetrics answers Prometheus.
func serveMetrics(a *api, x *exchange) error {
	if err := a.engine.AdmitMetrics(x.r.Context(), x.principal); err != nil {
		return err
	}
	if a.metrics == nil {
		return parley.Errorf(parley.CodeNotFound, "This server has no metrics.")
	}
	a.metrics.ServeHTTP(x.w, x.r)
	return nil
}

// modelPage is a page of models with the server's default.
type modelPage struct {
	engine.ModelList
}

func serveModels(a *api, x *exchange) error {
	args := x.arguments()
	paging := args.paging()
	if args.err != nil {
		return args.err
	}
	models, err := a.engine.Models(x.r.Context(), x.principal, paging)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, modelPage{ModelList: models})
}

// providerPage is the list of providers.
type providerPage struct {
	engine.ProviderList
	Next *string `json:"next" doc:"Always null: the list is whole."`
}

func serveProviders(a *api, x *exchange) error {
	providers, err := a.engine.Providers(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, providerPage{ProviderList: providers})
}

// docsPage shows the document and loads nothing from elsewhere; docs.html says how.
//
//go:embed docs.html
var docsPage []byte

// docsPolicy lets the page run its own script, by hash, and fetch the document.
const docsPolicy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'self'; base-uri " +
	"'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed docs.js
var docsScript []byte

func serveDocs(_ *api, x *exchange) error {
	x.w.Header().Set("Content-Security-Policy", docsPolicy)
	x.w.Header().Set("Referrer-Policy", "no-referrer")
	return x.sendStatic("text/html; charset=utf-8", docsPage)
}

func serveDocsScript(_ *api, x *exchange) error {
	return x.sendStatic("text/javascript; charset=utf-8", docsScript)
}

func (x *exchange) sendStatic(media string, body []byte) error {
	header := x.w.Header()
	header.Set("Content-Type", media)
	header.Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(body) // the client may be gone; nothing depends on it
	return nil
}
