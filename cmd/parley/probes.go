package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"example.org/parley"
	"example.org/parley/store"
)

// probes is the handler of an address without the API. It reveals nothing that needs a key, except totals over all
// workspaces.
func probes(ready func(context.Context) error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		sendPlain(w, http.StatusOK, "application/json", `{"status":"ok"}`)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			says := "The server is not ready: it is draining, or its store does not answer."
			var damage *store.Damage
			if errors.As(err, &damage) {
				says = damage.Error()
			}
			sendProblem(w, http.StatusServiceUnavailable, parley.CodeUnavailable, says)
			return
		}
		sendPlain(w, http.StatusOK, "application/json", `{"status":"ok"}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sendProblem(w, http.StatusNotFound, parley.CodeNotFound,
			"This address has no API, only /metrics, /healthz and /readyz. Ask a process whose role is all or api.")
	})
	return mux
}

func sendPlain(w http.ResponseWriter, status int, media, body string) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone
}

// sendProblem answers with an RFC 9457 body, as the API does.
func sendProblem(w http.ResponseWriter, status int, code parley.Code, detail string) {
	body := fmt.Appendf(
		nil,
		`{"type":"urn:parley:error:%s","title":%q,"status":%d,"detail":`,
		code,
		http.StatusText(status),
		status,
	)
	body = parley.AppendJSONString(body, detail)
	sendPlain(w, status, "application/problem+json", string(fmt.Appendf(body, `,"code":%q}`, code)))
}
