package main

import (
	"context"
	"errors"
	"net/http"

	"parley"
	"parley/store"
)

// probes is the handler of an address without the API. It tells nothing that
// needs a key, but of what all workspaces do together.
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
			sendPlain(w, http.StatusServiceUnavailable, "application/problem+json", string(append(parley.AppendJSONString(
				[]byte(`{"type":"urn:parley:error:unavailable","title":"Service Unavailable","status":503,"detail":`), says), `,"code":"unavailable"}`...)))
			return
		}
		sendPlain(w, http.StatusOK, "application/json", `{"status":"ok"}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sendPlain(w, http.StatusNotFound, "application/problem+json",
			`{"type":"urn:parley:error:not_found","title":"Not Found","status":404,"detail":"This address has no API: /metrics, /healthz and /readyz alone. Ask that of a process whose role is all or api.","code":"not_found"}`)
	})
	return mux
}

func sendPlain(w http.ResponseWriter, status int, media, body string) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone
}
