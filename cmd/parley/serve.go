package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	_ "time/tzdata" // current_time knows zones on machines without a zone database

	"github.com/spf13/cobra"

	"parley"
	"parley/engine"
	"parley/httpapi"
	"parley/live"
	"parley/sqlite"
	"parley/tool/builtin"
	"parley/worker"
)

// The bounds of a shutdown: turns get drainTime to finish, then requests get
// closeTime to end.
const (
	drainTime = 20 * time.Second
	closeTime = 5 * time.Second
)

func serveCommand(shared *flags, term terminal) *cobra.Command {
	var addr, model, logLevel string
	var flushLive, flushStore, lease time.Duration
	var workers int
	var roots []string
	command := &cobra.Command{
		Use:   "serve",
		Short: "Keep conversations: HTTP API, event streams, and the worker that runs turns",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(shared, getenv)
			if err != nil {
				return err
			}
			given := cmd.Flags().Changed
			if given("addr") {
				s.Addr = addr
			}
			if given("model") {
				s.Model = parley.ModelID(model)
			}
			if given("flush-live") {
				s.FlushLive = duration(flushLive)
			}
			if given("flush-store") {
				s.FlushStore = duration(flushStore)
			}
			if given("lease") {
				s.Lease = duration(lease)
			}
			if given("workers") {
				s.Workers = workers
			}
			if given("project-root") {
				s.ProjectRoots = roots
			}
			var level slog.Level
			if err := level.UnmarshalText([]byte(logLevel)); err != nil {
				return parley.InvalidField("log-level", "%q is not one of debug, info, warn, error", logLevel)
			}
			log := slog.New(slog.NewTextHandler(term.err, &slog.HandlerOptions{Level: level}))
			srv := &server{settings: s, env: getenv, log: log}
			if err := srv.open(cmd.Context()); err != nil {
				return errors.Join(err, srv.close())
			}
			fmt.Fprintf(term.out, "Parley listens on %s\n", srv.url())
			fmt.Fprintf(term.out, "  data   %s\n  model  %s\n  API    %s/v1   docs %s/docs\n", s.DataDir, modelLabel(srv.models.Default()), srv.url(), srv.url())
			return errors.Join(srv.wait(cmd.Context()), srv.close())
		},
	}
	flags := command.Flags()
	flags.StringVar(&addr, "addr", defaultAddr, "address to listen on (PARLEY_ADDR)")
	flags.StringVar(&model, "model", "", "default model, provider/model (PARLEY_MODEL)")
	flags.DurationVar(&flushLive, "flush-live", defaultFlushLive, "how often watchers get new text (PARLEY_FLUSH_LIVE)")
	flags.DurationVar(&flushStore, "flush-store", defaultFlushStore, "how often streaming text becomes durable (PARLEY_FLUSH_STORE)")
	flags.DurationVar(&lease, "lease", defaultLease, "after this long without a sign of life a process's turns are taken over (PARLEY_LEASE)")
	flags.IntVar(&workers, "workers", defaultWorkers, "turns at once (PARLEY_WORKERS)")
	flags.StringSliceVar(&roots, "project-root", nil, "directory that projects may lie in (repeatable, PARLEY_PROJECT_ROOTS; default the home directory)")
	flags.StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	return command
}

// server is everything that `parley serve` runs, in the order in which it is
// opened; close undoes it backwards.
type server struct {
	settings settings
	env      func(string) string
	log      *slog.Logger

	store     *sqlite.Store
	hub       *live.Hub
	models    parley.ModelSource
	providers []closer
	worker    *worker.Worker
	listener  net.Listener
	loopback  bool // the listener's address
	http      *http.Server
	draining  atomic.Bool
	failed    chan error // what http.Serve ended with
}

func (s *server) open(ctx context.Context) error {
	if err := s.settings.check(); err != nil {
		return err
	}
	dir := s.settings.DataDir
	if err := dataDirMade(dir); err != nil {
		return err
	}
	var err error
	if s.store, err = sqlite.Open(ctx, dir, sqlite.Options{Log: s.log}); err != nil {
		return err
	}
	token, err := localToken(dir)
	if err != nil {
		return err
	}
	if s.models, s.providers, err = buildModels(s.settings, s.env); err != nil {
		return err
	}
	if _, _, err := s.models.Resolve(s.models.Default()); err != nil {
		return err
	}
	if s.listener, err = s.listen(ctx); err != nil {
		return err
	}
	s.hub = live.New(s.store, live.Options{})
	tools := builtin.Tools()
	s.worker = worker.New(s.store, s.models, tools, s.hub, worker.Options{
		Slots: s.settings.Workers, Lease: time.Duration(s.settings.Lease), StoreFlush: time.Duration(s.settings.FlushStore),
		Drain: drainTime, ProcessName: processName(), Log: s.log,
	})
	s.store.Listen(s.hub)
	s.store.Listen(s.worker)
	if err := s.worker.Start(ctx); err != nil {
		return err
	}
	verbs := engine.New(engine.Options{Store: s.store, Models: s.models, Tools: tools, Runner: s.worker, ProjectRoots: s.settings.ProjectRoots, Log: s.log})
	handler, err := httpapi.New(httpapi.Options{
		Engine: verbs, Hub: s.hub, LocalToken: token, Loopback: s.loopback, Hosts: s.settings.AllowedHosts,
		Ready: s.ready, Version: version, Log: s.log,
		Flush: max(time.Duration(s.settings.FlushLive), time.Nanosecond), // 0 means each delta here, and the standard there
	})
	if err != nil {
		return err
	}
	s.http = httpapi.NewServer(handler, s.log)
	if err := writeWhole(filepath.Join(dir, urlFile), s.url()+"\n", 0o600); err != nil {
		return err
	}
	s.failed = make(chan error, 1)
	go func() { s.failed <- s.http.Serve(s.listener) }() // ended by close
	return nil
}

// listen opens the address. Beyond loopback it refuses until a key exists: who
// can reach the server could read everything.
func (s *server) listen(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(s.settings.Addr)
	if err != nil {
		return nil, parley.InvalidField("addr", "%q is no address: write host:port, for example %s", s.settings.Addr, defaultAddr)
	}
	ip := net.ParseIP(host)
	s.loopback = host == "localhost" || (ip != nil && ip.IsLoopback())
	if !s.loopback {
		keys, err := s.store.HasKeys(ctx)
		if err != nil {
			return nil, err
		}
		if !keys {
			return nil, parley.Errorf(parley.CodeForbidden, "%s can be reached from other machines, and no key exists yet: make one first with `parley keys create --name NAME`, or listen on %s", s.settings.Addr, defaultAddr)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.settings.Addr)
	if err != nil {
		return nil, parley.WrapError(parley.CodeUnavailable, err, "cannot listen on "+s.settings.Addr+"; choose another address with --addr")
	}
	return listener, nil
}

// ready reports whether the server takes turns: the database answers, and it
// does not stop.
func (s *server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return parley.Errorf(parley.CodeUnavailable, "this server is stopping")
	}
	return s.store.Ping(ctx)
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// wait returns when ctx ends (a signal) or serving fails.
func (s *server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info("stopping: turns may finish", "within", drainTime)
		return nil
	case err := <-s.failed:
		s.failed <- nil
		return err
	}
}

// close drains and closes whatever was opened. The worker goes first, while
// watchers still see its turns end; then the streams, then the store.
func (s *server) close() error {
	s.draining.Store(true)
	var errs []error
	if s.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), drainTime+closeTime)
		errs = append(errs, s.worker.Stop(ctx))
		cancel()
	}
	if s.hub != nil {
		s.hub.Close()
	}
	if s.http != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		if err := s.http.Shutdown(ctx); err != nil {
			errs = append(errs, s.http.Close())
		}
		cancel()
		if err := <-s.failed; err != nil && !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
		_ = os.Remove(filepath.Join(s.settings.DataDir, urlFile)) // a stale one only costs a failed connection
	} else if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for _, p := range s.providers {
		p.Close()
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
