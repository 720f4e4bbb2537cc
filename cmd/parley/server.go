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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/httpapi"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/peer"
	"example.org/parley/internal/projectdir"
	"example.org/parley/internal/webhook"
	"example.org/parley/live"
	"example.org/parley/llm/record"
	"example.org/parley/model"
	"example.org/parley/postgres"
	"example.org/parley/protocol"
	"example.org/parley/protocol/a2a"
	"example.org/parley/protocol/agui"
	"example.org/parley/protocol/aisdk"
	anthropicserver "example.org/parley/protocol/anthropic"
	mcpserver "example.org/parley/protocol/mcp"
	"example.org/parley/protocol/openai"
	"example.org/parley/runner/acp"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/stream"
	"example.org/parley/telemetry"
	"example.org/parley/tool"
	"example.org/parley/tool/builtin"
	"example.org/parley/tool/document"
	"example.org/parley/tool/mcp"
	"example.org/parley/tool/team"
	"example.org/parley/web"
	"example.org/parley/worker"
)

// closeTime is how long requests may take to end after the drain.
const closeTime = 5 * time.Second

// server is everything that `parley serve` runs, in the order of opening; close closes it in reverse.
type server struct {
	settings settings
	env      func(string) string
	log      *slog.Logger

	telemetry *telemetry.Telemetry
	metrics   *side // nil without its own address
	store     store.Store
	hub       *live.Hub
	relay     *postgres.Relay // nil with SQLite
	models    model.Source
	providers []closer
	sources   []closer         // of tools
	servers   *mcp.Source      // one of them
	worker    *worker.Worker   // nil with roleAPI
	audit     *engine.AuditLog // nil with roleWorker
	listener  net.Listener
	loopback  bool // the listener's address
	kernel    kernel
	code      string // signs the page in once; "" if the system tells who connects
	http      *http.Server
	projects  *projectdir.Policy
	documents *artifact.Places // for people and agents together
	runtimes  []*acp.Runtime
	draining  atomic.Bool
	failed    chan error // the error of http.Serve

	patrols sync.WaitGroup // of one: patrol
	offDuty chan struct{}  // closing it ends the patrol; nil before it begins
}

func (s *server) open(ctx context.Context) error {
	dir := s.settings.DataDir
	if err := ownFiles(dir); err != nil {
		return err
	}
	s.documents = artifact.NewPlaces()
	var err error
	if s.projects, err = s.settings.projects(); err != nil {
		return err
	}
	if err := s.observe(ctx); err != nil {
		return err
	}
	if s.store, err = s.awaitStore(ctx); err != nil {
		return err
	}
	s.offDuty = make(chan struct{})
	s.patrols.Go(func() { patrol(s.offDuty, s.store, s.log) }) //nolint:contextcheck // it outlives ctx; close ends it
	if s.models, s.providers, err = buildModels(s.settings, s.env); err != nil {
		return err
	}
	if _, _, err := s.models.Resolve(s.models.Default()); err != nil {
		return err
	}
	if s.listener, err = s.listen(ctx); err != nil {
		return err
	}
	options := live.Options{Log: s.log, Repair: time.Duration(s.settings.FlushStore)}
	switch store := s.store.(type) {
	case *postgres.Store:
		s.relay = store.Relay()
		options.Relay = s.relay
	case *sqlite.Store:
		options.Relay = store.Streams()
	}
	s.hub = live.New(s.store, options)
	s.store.Listen(s.hub)
	tools, err := s.openTools()
	if err != nil {
		return err
	}
	if err := s.openRuntimes(); err != nil {
		return err
	}
	if s.settings.Role != roleAPI {
		if err := s.openWorker(ctx, tools); err != nil {
			return err
		}
	}
	handler, err := s.handler(ctx, tools)
	if err != nil {
		return err
	}
	if err := s.openMetrics(ctx); err != nil {
		return err
	}
	limits, err := s.connectionLimits()
	if err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(dir, urlFile), s.url()+"\n", 0o600); err != nil {
		return err
	}
	s.http = httpapi.NewServer(s.telemetry.HTTP(s.leaving(handler)), s.log)
	s.http.ConnContext = peer.ConnContext
	listener := httpapi.Bounded(s.http, s.listener, limits)
	s.failed = make(chan error, 1)
	go func() { s.failed <- s.http.Serve(listener) }() // ended by close
	return nil
}

func (s *server) openWorker(ctx context.Context, tools tool.Source) error {
	s.worker = worker.New(s.store, s.models, tools, s.hub, worker.Options{
		Slots:        s.settings.Workers,
		Lease:        time.Duration(s.settings.Lease),
		StoreFlush:   time.Duration(s.settings.FlushStore),
		KeepVersions: s.settings.Retention.keep(),
		Drain: orNone(
			time.Duration(s.settings.Drain),
		),
		ProcessName: processName(),
		Log:         s.log,
		Observer:    s.telemetry,
		Redact:      s.settings.Redact,
		MaxSessions: s.settings.MaxSessions,
		Runtimes:    s.ports(),
		MaxStorage:  int64(s.settings.MaxStorage),
		Background:  team.Tools(s.store),
		Webhooks:    webhook.NewSender(s.settings.Webhooks.AllowPrivate, a2a.Notification),
	})
	s.store.Listen(s.worker)
	return s.worker.Start(ctx)
}

// openTools joins the built-in tools and the configured ones.
func (s *server) openTools() (tool.Source, error) {
	endpoints, err := httpTools(s.settings.HTTPTools, s.env)
	if err != nil {
		return nil, err
	}
	s.sources = append(s.sources, endpoints)
	sources := []tool.Source{builtin.ToolsWithin(s.projects), builtin.Sessions(s.store),
		builtin.Record(s.store), endpoints,
		document.Tools(s.store, document.Options{
			MaxStorage: int64(s.settings.MaxStorage), Places: s.documents,
		}),
		builtin.NewFetch(builtin.FetchOptions{AllowPrivate: s.settings.Fetch.AllowPrivate})}
	if key := s.env("TAVILY_API_KEY"); key != "" {
		search, err := builtin.NewWebSearch(builtin.WebSearchOptions{Key: key, BaseURL: s.env("TAVILY_BASE_URL")})
		if err != nil {
			return nil, err
		}
		s.sources = append(s.sources, search)
		sources = append(sources, search)
	}
	self, err := itself()
	if err != nil {
		return nil, err
	}
	given := s.settings
	if given.Replay != "" {
		given.MCP = nil // no tool runs: what the servers offered is in the recordings
	}
	options := mcp.Options{
		Version: version, Self: self, Log: s.log, Authorizations: s.store, Redirects: slices.Clone(given.AllowedHosts),
	}
	for _, origin := range given.AllowedOrigins {
		if _, host, ok := strings.Cut(origin, "://"); ok {
			options.Redirects = append(options.Redirects, host)
		}
	}
	if slices.ContainsFunc(given.MCP, func(m mcpSetting) bool { return m.OAuth != nil }) {
		if options.Key, err = secretKey(s.settings.DataDir, s.env); err != nil {
			return nil, err
		}
	}
	servers, err := openMCP(given, s.env, options)
	if err != nil {
		return nil, err
	}
	s.sources, s.servers = append(s.sources, servers), servers
	joined, err := tool.Join(append(sources, servers)...)
	if err != nil {
		return nil, err
	}
	return recordedTools(s.settings, joined, s.env("TAVILY_API_KEY"))
}

// recordedTools wraps the tools in a recorder or a player if the settings ask for one.
func recordedTools(s settings, tools tool.Source, key string) (tool.Source, error) {
	switch {
	case s.Record != "":
		return record.RecordTools(tools, s.Record, record.Options{Secrets: []string{key}})
	case s.Replay != "":
		return record.PlayTools(tools, s.Replay, record.Options{})
	}
	return tools, nil
}

// orNone converts a time whose 0 means none here, and the default there.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// handler answers requests, by the role of the process.
func (s *server) handler(ctx context.Context, tools tool.Source) (http.Handler, error) {
	if s.settings.Role == roleWorker {
		return probes(s.ready, s.telemetry.Metrics()), nil
	}
	replaced, err := replaceOldToken(s.settings.DataDir)
	if err != nil {
		return nil, err
	}
	if replaced {
		s.log.Warn(
			"the local token was replaced: file tools of earlier releases could read it; copies of the old one no "+
				"longer let anybody in",
			"file",
			filepath.Join(s.settings.DataDir, tokenFile),
		)
	}
	token, err := localToken(s.settings.DataDir)
	if err != nil {
		return nil, err
	}
	since, err := tokenSince(s.settings.DataDir)
	if err != nil {
		return nil, err
	}
	options := engine.Options{
		Store:       s.store,
		Models:      s.models,
		Providers:   describedProviders(s.settings, getenv),
		Tools:       tools,
		Servers:     s.servers,
		Projects:    s.projects,
		Documents:   s.documents,
		MaxSessions: s.settings.MaxSessions,
		MaxStorage:  int64(s.settings.MaxStorage),
		Runtimes:    s.runtimeNames(),
		Webhooks:    webhook.NewSender(s.settings.Webhooks.AllowPrivate, a2a.Notification),
		Log:         s.log,
	}
	if s.worker != nil {
		options.Runner, options.DryRunner = s.worker, s.worker
	} else {
		options.DryRunner = worker.NewDryRunner(
			s.store,
			s.models,
			tools,
			worker.Options{Log: s.log, Redact: s.settings.Redact, Background: team.Tools(s.store)},
		)
	}
	proxies, err := s.settings.proxies()
	if err != nil {
		return nil, err
	}
	origins, err := s.settings.origins()
	if err != nil {
		return nil, err
	}
	if err := s.nameOwner(ctx); err != nil {
		return nil, err
	}
	page, err := web.Handler(s.notice())
	if err != nil {
		return nil, err
	}
	s.audit = engine.NewAuditLog(s.store, s.log)
	options.Audit = s.audit
	verbs := engine.New(options)
	streams := stream.New(verbs, s.hub)
	return httpapi.New(httpapi.Options{
		Page:     page,
		Limited:  s.telemetry.RateLimited,
		WrongKey: s.telemetry.WrongKey,
		Engine:   verbs,
		Streams:  streams,
		Mounts: append([]protocol.Mount{
			openai.Mount(verbs, streams), anthropicserver.Mount(verbs, streams), aisdk.Mount(verbs, streams),
			agui.Mount(verbs, streams),
			mcpserver.Mount(verbs, streams, version),
		}, a2a.Mounts(verbs, streams, version)...),
		LocalToken:     token,
		LocalSince:     since,
		Loopback:       s.loopback,
		Hosts:          s.settings.AllowedHosts,
		Origins:        origins,
		OwnUser:        s.kernel.ownUser,
		InsecureLocal:  s.settings.InsecureLocal,
		SignInCode:     s.code,
		TrustedProxies: proxies,
		Ready:          s.ready,
		Metrics:        s.telemetry.Metrics(),
		Log:            s.log,
		Flush: max(
			time.Duration(s.settings.FlushLive),
			time.Nanosecond,
		), // 0 means each delta here, and the default there
	})
}

// leaving makes each answer of a draining server the last one on its connection, so that clients and proxies open the
// next one to another process.
func (s *server) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// listen opens the address. Beyond loopback it refuses until a key exists: anybody who reaches the server could read
// everything.
func (s *server) listen(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(s.settings.Addr)
	if err != nil {
		return nil, parley.InvalidField(
			"addr",
			"%q is not an address: write host:port, for example %s",
			s.settings.Addr,
			defaultAddr,
		)
	}
	ip := net.ParseIP(host)
	s.loopback = host == "localhost" || (ip != nil && ip.IsLoopback())
	if !s.loopback && s.settings.Role != roleWorker { // a worker has nothing to read
		keys, err := s.store.HasKeys(ctx)
		if err != nil {
			return nil, err
		}
		if !keys {
			return nil, parley.Errorf(
				parley.CodeForbidden,
				"%s can be reached from other machines, and no key exists yet: make one first with `parley keys "+
					"create --name NAME`, or listen on %s",
				s.settings.Addr,
				defaultAddr,
			)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.settings.Addr)
	if err != nil {
		return nil, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"cannot listen on "+s.settings.Addr+"; choose another address with --addr",
		)
	}
	return listener, nil
}

// ready returns nil if the server takes turns: the database answers, and the server is not stopping.
func (s *server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return parley.Errorf(parley.CodeUnavailable, "this server is stopping")
	}
	if damage := s.store.Stats().Damage; damage != nil {
		return damage
	}
	return s.store.Ping(ctx)
}

func (s *server) url() string { return "http://" + s.listener.Addr().String() }

// wait returns when ctx ends (a signal) or serving fails.
func (s *server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.log.Info(
			"draining: running turns may finish",
			"within",
			time.Duration(s.settings.Drain),
			"connections_for",
			s.settings.drainWait(),
		)
		return nil
	case err := <-s.failed:
		s.failed <- nil
		return err
	}
}

// close drains and closes whatever was opened. From the first moment the process is not ready and claims nothing. While
// its turns finish and proxies notice, it still answers requests, and watchers see the turns end. Then it closes the
// streams, which clients resume elsewhere, the connections, and the store.
func (s *server) close() error {
	s.draining.Store(true)
	var errs []error
	stopped := make(chan error, 1)
	go func() { stopped <- s.stopWorker() }() // ends within drain and closeTime
	if s.http != nil {
		time.Sleep(s.settings.drainWait())
	}
	errs = append(errs, <-stopped)
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
		_ = os.Remove(filepath.Join(s.settings.DataDir, urlFile)) // a stale file only costs a failed connection
	} else if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for _, runtime := range s.runtimes {
		runtime.Stop()
	}
	for _, c := range slices.Concat(s.providers, s.sources) {
		c.Close()
	}
	if s.audit != nil {
		s.audit.Close()
	}
	errs = append(errs, s.closeTelemetry()) // last, so that metrics cover the drain
	if s.offDuty != nil {
		close(s.offDuty)
		s.patrols.Wait()
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

func (s *server) stopWorker() error {
	if s.worker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(s.settings.Drain)+closeTime)
	defer cancel()
	return s.worker.Stop(ctx)
}

func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
