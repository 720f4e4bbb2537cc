package main

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/internal/cgroup"
	"example.org/parley/internal/confine"
	_ "example.org/parley/internal/zones" // current_time knows zones on machines without a zone database
)

func serveCommand(shared *flags, term terminal) *cobra.Command {
	var given serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Keep conversations: HTTP API, event streams, and the worker that runs turns",
		Long: `Keep conversations: HTTP API, event streams, and the worker that runs turns.

Each setting is a flag, else an environment variable, else a line of parley.yaml in the
data directory. Host names that requests may use beside this machine's own, for a server
on a loopback address behind a proxy, are set by PARLEY_ALLOWED_HOSTS (a,b); origins whose
pages may use the server with a key, by PARLEY_ALLOWED_ORIGINS.

On SIGTERM the server drains: /readyz answers 503, nothing is claimed any more, running
turns get --drain to finish and are given back with what they have said so far, and
connections are taken for --drain-wait at least, so that a proxy can leave first. A
second signal ends it at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(shared, getenv)
			if err != nil {
				return err
			}
			given.over(&s, cmd.Flags().Changed)
			if err := s.check(); err != nil {
				return err
			}
			log, err := newLog(s, term.err)
			if err != nil {
				return err
			}
			defer adaptCollector(getenv)()
			limitMemory(getenv, cgroup.MemoryMax, log) // first: what memory bounds is made after it
			if err := confine.Hide(); err != nil {
				return err
			}
			srv := &server{settings: s, env: getenv, log: log}
			if err := srv.open(cmd.Context()); err != nil {
				return errors.Join(err, srv.close())
			}
			srv.greet(term)
			return errors.Join(srv.wait(cmd.Context()), srv.close())
		},
	}
	given.declare(command)
	return command
}

// greet prints where the server is and what it works on.
func (s *server) greet(term terminal) {
	fmt.Fprintf(term.out, "Parley listens on %s\n", s.url())
	fmt.Fprintf(term.out, "  data   %s\n", s.settings.DataDir)
	if s.settings.DatabaseURL != "" {
		fmt.Fprintf(term.out, "  store  %s\n", databaseName(s.settings.DatabaseURL))
	}
	fmt.Fprintf(term.out, "  model  %s\n", modelLabel(s.models.Default()))
	if s.metrics != nil {
		fmt.Fprintf(term.out, "  metrics http://%s/metrics\n", s.metrics.listener.Addr())
	}
	if s.settings.Role == roleWorker {
		fmt.Fprintf(term.out, "  role   worker: runs turns, answers probes only\n")
		return
	}
	fmt.Fprintf(term.out, "  page   %s/\n  API    %s/v1   docs %s/docs\n", s.url(), s.url(), s.url())
	if s.notice() != "" {
		fmt.Fprintf(term.out, "  %s\n", s.notice())
	}
	s.greetOwner(term)
}

// databaseName is a PostgreSQL database's place without user and password.
func databaseName(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "PostgreSQL"
	}
	return "PostgreSQL " + parsed.Host + parsed.Path
}

// serveFlags are the flags of serve, which win over environment and file.
type serveFlags struct {
	addr, metricsAddr, model, role, logLevel, logFormat string
	record, replay                                      string
	flushLive, flushStore, lease                        time.Duration
	drain, drainWait                                    time.Duration
	workers, maxConns                                   int
	maxSessions                                         int64
	maxStorage                                          size
	roots, proxies, secretFiles                         []string
	insecureLocal                                       bool
	databaseWait                                        time.Duration
}

func (f *serveFlags) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.addr, "addr", defaultAddr, "address to listen on (PARLEY_ADDR)")
	flags.StringVar(
		&f.metricsAddr,
		"metrics-addr",
		"",
		"address of a listener that answers /metrics, /healthz, /readyz and /debug/pprof alone, without a key "+
			"(PARLEY_METRICS_ADDR)",
	)
	flags.StringVar(
		&f.role,
		"role",
		string(roleAll),
		"all, api (no turns run here) or worker (nothing but turns); the last two need PostgreSQL (PARLEY_ROLE)",
	)
	flags.StringVar(&f.model, "model", "", "default model, provider/model (PARLEY_MODEL)")
	flags.IntVar(
		&f.workers,
		"workers",
		defaultWorkers,
		"turns at once; a quarter more is reserved for workspaces that run few (PARLEY_WORKERS)",
	)
	flags.IntVar(
		&f.maxConns,
		"max-conns",
		0,
		"connections to PostgreSQL at most, 0 for the default (PARLEY_MAX_CONNS)",
	)
	flags.DurationVar(
		&f.flushLive,
		"flush-live",
		defaultFlushLive,
		"how often watchers get new text (PARLEY_FLUSH_LIVE)",
	)
	flags.DurationVar(
		&f.flushStore,
		"flush-store",
		defaultFlushStore,
		"how often streaming text becomes durable (PARLEY_FLUSH_STORE)",
	)
	flags.DurationVar(
		&f.lease,
		"lease",
		defaultLease,
		"how long a silent process keeps its turns before others take them over (PARLEY_LEASE)",
	)
	flags.DurationVar(
		&f.drain,
		"drain",
		defaultDrain,
		"how long running turns may finish after SIGTERM; 0s gives them back at once (PARLEY_DRAIN)",
	)
	flags.DurationVar(
		&f.drainWait,
		"drain-wait",
		defaultDrainWait,
		"how long connections are accepted after SIGTERM, while /readyz says 503 (PARLEY_DRAIN_WAIT; with "+
			"SQLite 0s)",
	)
	flags.StringSliceVar(
		&f.roots,
		"project-root",
		nil,
		"directory that may contain projects (repeatable, PARLEY_PROJECT_ROOTS; without any, the home directory, "+
			"where only this machine's own user may choose)",
	)
	flags.StringSliceVar(
		&f.secretFiles,
		"secret-file",
		nil,
		"file or path, such as *.secret or .docker/config.json, that file tools must not touch, in addition to the "+
			"standard ones; ! before one allows it (repeatable, PARLEY_SECRET_FILES)",
	)
	flags.Int64Var(
		&f.maxSessions,
		"max-sessions",
		0,
		"sessions of each workspace, 0 for no limit (PARLEY_MAX_SESSIONS)",
	)
	flags.Var(
		&f.maxStorage,
		"max-storage",
		"bytes of each workspace's files, such as 10GiB, 0 for no limit (PARLEY_MAX_STORAGE)",
	)
	flags.StringSliceVar(
		&f.proxies,
		"trusted-proxy",
		nil,
		"network or address of a proxy whose X-Forwarded-For is trusted (repeatable, "+
			"PARLEY_TRUSTED_PROXIES)",
	)
	flags.BoolVar(
		&f.insecureLocal,
		"insecure-local",
		false,
		"while no key exists, let every user of this machine do everything (PARLEY_INSECURE_LOCAL)",
	)
	flags.DurationVar(
		&f.databaseWait,
		"database-wait",
		defaultDatabaseWait,
		"how long the start waits for a PostgreSQL that does not answer; 0s does not wait (PARLEY_DATABASE_WAIT)",
	)
	flags.StringVar(&f.record, "record", "", "write every exchange with a provider to this directory (PARLEY_RECORD)")
	flags.StringVar(
		&f.replay,
		"replay",
		"",
		"answer from the exchanges recorded in this directory, without providers, keys or network (PARLEY_REPLAY)",
	)
	flags.StringVar(&f.logLevel, "log-level", defaultLogLevel, "debug, info, warn or error (PARLEY_LOG_LEVEL)")
	flags.StringVar(&f.logFormat, "log-format", logText, "text or json (PARLEY_LOG_FORMAT)")
}

// over puts the given flags into settings.
func (f *serveFlags) over(s *settings, given func(flag string) bool) {
	for flag, lay := range map[string]func(){
		"addr":           func() { s.Addr = f.addr },
		"metrics-addr":   func() { s.MetricsAddr = f.metricsAddr },
		"role":           func() { s.Role = role(f.role) },
		"model":          func() { s.Model = parley.ModelID(f.model) },
		"workers":        func() { s.Workers = f.workers },
		"max-conns":      func() { s.MaxConns = f.maxConns },
		"flush-live":     func() { s.FlushLive = duration(f.flushLive) },
		"flush-store":    func() { s.FlushStore = duration(f.flushStore) },
		"lease":          func() { s.Lease = duration(f.lease) },
		"drain":          func() { s.Drain = duration(f.drain) },
		"drain-wait":     func() { s.DrainWait = duration(f.drainWait) },
		"trusted-proxy":  func() { s.TrustedProxies = f.proxies },
		"insecure-local": func() { s.InsecureLocal = f.insecureLocal },
		"database-wait":  func() { s.DatabaseWait = duration(f.databaseWait) },
		"project-root":   func() { s.ProjectRoots = f.roots },
		"max-sessions":   func() { s.MaxSessions = f.maxSessions },
		"max-storage":    func() { s.MaxStorage = f.maxStorage },
		"record":         func() { s.Record = f.record },
		"replay":         func() { s.Replay = f.replay },
		"log-level":      func() { s.LogLevel = f.logLevel },
		"log-format":     func() { s.LogFormat = f.logFormat },
		"secret-file":    func() { s.SecretFiles = f.secretFiles },
	} {
		if given(flag) {
			lay()
		}
	}
}
