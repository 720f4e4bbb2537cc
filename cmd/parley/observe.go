package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/httpapi"
	"example.org/parley/telemetry"
)

// observe sets metrics and traces up, and makes the log name the trace of a line.
func (s *server) observe(ctx context.Context) error {
	var err error
	if s.telemetry, err = telemetry.New(ctx, telemetry.Options{Version: version, Log: s.log, Env: s.env}); err != nil {
		return err
	}
	s.log = s.telemetry.Logger(s.log)
	return nil
}

// side is a listener beside the API's.
type side struct {
	listener net.Listener
	http     *http.Server
	profiles *profiles
	failed   chan error // what Serve ended with
}

// openMetrics connects the sources of metrics, and opens the metrics' own address.
func (s *server) openMetrics(ctx context.Context) error {
	sources := telemetry.Sources{Queue: s.store.Queue, Ready: s.ready, Streams: s.hub.Stats, Database: s.store.Stats}
	if s.worker != nil {
		sources.Worker = s.worker.Stats
	}
	if s.relay != nil {
		sources.Relay = s.relay.Stats
	}
	s.telemetry.Watch(sources)
	if s.settings.MetricsAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.settings.MetricsAddr)
	if err != nil {
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"cannot listen on "+s.settings.MetricsAddr+"; choose another address with --metrics-addr",
		)
	}
	profiles := newProfiles(time.After)
	handler := profiles.beside(probes(s.ready, s.telemetry.Metrics()))
	s.metrics = &side{
		listener: listener,
		http:     httpapi.NewServer(handler, s.log),
		profiles: profiles,
		failed:   make(chan error, 1),
	}
	bounded := httpapi.Bounded(s.metrics.http, listener, httpapi.ConnectionLimits{Most: mostProbes, Log: s.log})
	go func() { s.metrics.failed <- s.metrics.http.Serve(bounded) }() // ended by closeTelemetry
	return nil
}

// closeTelemetry closes the metrics' listener and sends the remaining spans.
func (s *server) closeTelemetry() error {
	var errs []error
	if s.metrics != nil {
		errs = append(errs, s.metrics.http.Close())
		if err := <-s.metrics.failed; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
		s.metrics.profiles.close()
	}
	if s.telemetry != nil {
		s.telemetry.Shutdown(context.Background())
	}
	return errors.Join(errs...)
}
