package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"example.org/parley"
	"example.org/parley/worker"
)

// The defaults of settings.
const (
	defaultAddr         = "127.0.0.1:7878"
	defaultFlushLive    = 120 * time.Millisecond
	defaultFlushStore   = 600 * time.Millisecond
	defaultLease        = 10 * time.Second
	defaultWorkers      = 1024
	defaultDrain        = 20 * time.Second
	defaultDrainWait    = 2 * time.Second // with PostgreSQL, where other processes take over
	defaultDatabaseWait = time.Minute
	defaultLogLevel     = "info"

	defaultKeepVersions = worker.DefaultKeepVersions
)

// The bounds of settings.
const (
	mostWorkers   = 100_000
	mostConns     = 10_000
	longestDrain  = time.Hour
	longestFlush  = time.Minute
	shortestKeep  = time.Minute
	longestLease  = 10 * time.Minute
	longestWait   = time.Hour // for the database
	shortestLease = time.Second
)

// role is the part of the work that a process does.
type role string

// The roles. SQLite, which one process owns, allows only roleAll.
const (
	roleAll    role = "all"
	roleAPI    role = "api"    // answers requests and streams; turns run elsewhere
	roleWorker role = "worker" // runs turns; answers probes only
)

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// byDatabase means that the drain wait depends on the database.
const byDatabase = duration(-1)

// flags are the flags of every command.
type flags struct {
	data, url, key, workspace string
	databaseURL, listenURL    string
	json                      bool
}

// settings are the server's settings: from flags, else the environment, else parley.yaml in the data directory.
type settings struct {
	DataDir      string           `yaml:"-"`
	DatabaseURL  string           `yaml:"database_url"` // postgres://…, a secret; "": SQLite in the data directory
	ListenURL    string           `yaml:"listen_url"`   // past a pooler; a secret too
	MaxConns     int              `yaml:"max_conns"`    // of the pool; 0: the store's default
	Role         role             `yaml:"role"`
	Addr         string           `yaml:"addr"`
	MetricsAddr  string           `yaml:"metrics_addr"` // of a listener for metrics and probes alone; "": none
	Model        parley.ModelID   `yaml:"model"`
	FlushLive    duration         `yaml:"flush_live"`
	FlushStore   duration         `yaml:"flush_store"`
	Lease        duration         `yaml:"lease"`
	Workers      int              `yaml:"workers"`    // turns at once
	Drain        duration         `yaml:"drain"`      // for turns that run at SIGTERM to finish
	DrainWait    duration         `yaml:"drain_wait"` // from SIGTERM until connections are refused
	Retention    retentionSetting `yaml:"retention"`
	LogLevel     string           `yaml:"log_level"`
	LogFormat    string           `yaml:"log_format"`
	AllowedHosts []string         `yaml:"allowed_hosts"`
	// AllowedOrigins are those whose pages may use the server from a browser, with a key.
	AllowedOrigins []string `yaml:"allowed_origins"`
	// TrustedProxies are networks (CIDR) whose X-Forwarded-For is trusted.
	TrustedProxies []string `yaml:"trusted_proxies"`
	// InsecureLocal lets every user of this machine in while no key exists.
	InsecureLocal bool `yaml:"insecure_local"`
	// DatabaseWait is how long a start waits for a PostgreSQL that does not answer.
	DatabaseWait duration `yaml:"database_wait"`

	ProjectRoots []string `yaml:"project_roots"`
	MaxSessions  int64    `yaml:"max_sessions"` // of each workspace; 0: not limited
	MaxStorage   size     `yaml:"max_storage"`  // bytes of each workspace's files; 0: not limited
	// patterns of files that file tools must not touch, in addition to the standard ones
	SecretFiles []string               `yaml:"secret_files"`
	Providers   []providerSetting      `yaml:"providers"`
	Models      []modelSetting         `yaml:"models"`
	MCP         []mcpSetting           `yaml:"mcp"`
	Runtimes    []runtimeSetting       `yaml:"runtimes"`
	HTTPTools   []httpToolSetting      `yaml:"http_tools"`
	Fetch       fetchSetting           `yaml:"fetch"`
	Webhooks    webhooksSetting        `yaml:"webhooks"`
	Redact      []parley.RedactPattern `yaml:"redact"` // hidden from every provider
	// directory to write exchanges with providers to; "": none
	Record string `yaml:"record"`
	// directory to read answers from instead of asking providers; "": none
	Replay string `yaml:"replay"`
}

// fetchSetting says what the tool fetch may read.
type fetchSetting struct {
	AllowPrivate bool `yaml:"allow_private"` // addresses in loopback and private networks too
}

// webhooksSetting says where webhooks may lead.
type webhooksSetting struct {
	AllowPrivate bool `yaml:"allow_private"` // to addresses in loopback and private networks too
}

// retentionSetting says how long to keep data that is not the record itself.
type retentionSetting struct {
	Versions duration `yaml:"versions"` // of messages; 0: for ever
}

// keep is the setting for the worker.
func (r retentionSetting) keep() time.Duration {
	if r.Versions == 0 {
		return -1
	}
	return time.Duration(r.Versions)
}

// modelSetting describes a model to the registry, in place of its own data: what is left out is unknown.
type modelSetting struct {
	ID            parley.ModelID `yaml:"id"`
	ContextLength int            `yaml:"context_length"`
	MaxOutput     int            `yaml:"max_output"`
	Reasoning     bool           `yaml:"reasoning"`
	Caching       bool           `yaml:"caching"`
	CacheHour     bool           `yaml:"cache_hour"`
	Tools         bool           `yaml:"tools"`
	Vision        bool           `yaml:"vision"`
	Search        bool           `yaml:"search"`
	ThinkTags     bool           `yaml:"think_tags"`
	Price         *priceSetting  `yaml:"price"`
}

// priceSetting is in US dollars per million tokens.
type priceSetting struct {
	Input       float64  `yaml:"input"`
	Output      float64  `yaml:"output"`
	CachedInput *float64 `yaml:"cached_input"` // nil: as input
	CacheWrite  *float64 `yaml:"cache_write"`

	CacheWriteHour *float64 `yaml:"cache_write_hour"` // nil: as CacheWrite
}

// providerSetting configures a model provider. The key itself is never in the
// file: KeyEnv names the environment variable that holds it.
type providerSetting struct {
	Name         string `yaml:"name"`
	Kind         string `yaml:"kind"` // openai (default) or anthropic: which wire it speaks
	BaseURL      string `yaml:"base_url"`
	KeyEnv       string `yaml:"key_env"`
	DefaultModel string `yaml:"default_model"`
}

// duration is spelled as 2s or 600ms.
type duration time.Duration

// UnmarshalText reads a duration such as 600ms.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration: write 600ms or 2s", text)
	}
	*d = duration(parsed)
	return nil
}

// dataDir finds the data directory without creating it.
func (f *flags) dataDir(env func(string) string) (string, error) {
	if f.data != "" {
		return filepath.Abs(f.data)
	}
	if dir := env("PARLEY_DATA"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", parley.WrapError(
			parley.CodeInvalid,
			err,
			"this user has no home directory to keep data in; set --data or PARLEY_DATA",
		)
	}
	return filepath.Join(home, ".local", "share", "parley"), nil
}

// loadSettings reads the file and the environment, then the flags of every command; the serve command adds its own.
func loadSettings(f *flags, env func(string) string) (settings, error) {
	s := settings{
		Addr:         defaultAddr,
		Role:         roleAll,
		Workers:      defaultWorkers,
		Drain:        duration(defaultDrain),
		DrainWait:    byDatabase,
		FlushLive:    duration(defaultFlushLive),
		FlushStore:   duration(defaultFlushStore),
		Lease:        duration(defaultLease),
		DatabaseWait: duration(defaultDatabaseWait),
		LogLevel:     defaultLogLevel,
		LogFormat:    logText,
		Retention:    retentionSetting{Versions: duration(defaultKeepVersions)},
	}
	dir, err := f.dataDir(env)
	if err != nil {
		return s, err
	}
	s.DataDir = dir
	file := filepath.Join(dir, settingsFile)
	raw, err := os.ReadFile(file) //nolint:gosec // the user's own data directory
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return s, parley.WrapError(parley.CodeInvalid, err, file+" cannot be read")
	default:
		if err := yaml.UnmarshalWithOptions(raw, &s, yaml.Strict()); err != nil {
			return s, parley.Errorf(parley.CodeInvalid, "%s: %s", file, yaml.FormatError(err, false, false))
		}
	}
	if err := s.fromEnvironment(env); err != nil {
		return s, err
	}
	if f.databaseURL != "" {
		s.DatabaseURL = f.databaseURL
	}
	if f.listenURL != "" {
		s.ListenURL = f.listenURL
	}
	return s, nil
}

func (s *settings) fromEnvironment(env func(string) string) error {
	for name, target := range map[string]*string{
		"PARLEY_ADDR": &s.Addr, "PARLEY_METRICS_ADDR": &s.MetricsAddr, "PARLEY_DATABASE_URL": &s.DatabaseURL,
		"PARLEY_LISTEN_URL": &s.ListenURL,
		"PARLEY_ROLE":       (*string)(&s.Role), "PARLEY_MODEL": (*string)(&s.Model),
		"PARLEY_LOG_LEVEL": &s.LogLevel, "PARLEY_LOG_FORMAT": &s.LogFormat, "PARLEY_RECORD": &s.Record,
		"PARLEY_REPLAY": &s.Replay,
	} {
		if v := env(name); v != "" {
			*target = v
		}
	}
	for name, target := range map[string]*duration{
		"PARLEY_FLUSH_LIVE": &s.FlushLive, "PARLEY_FLUSH_STORE": &s.FlushStore, "PARLEY_LEASE": &s.Lease,
		"PARLEY_DRAIN": &s.Drain, "PARLEY_DRAIN_WAIT": &s.DrainWait, "PARLEY_RETENTION_VERSIONS": &s.Retention.Versions,
		"PARLEY_DATABASE_WAIT": &s.DatabaseWait,
	} {
		if v := env(name); v != "" {
			if err := target.UnmarshalText([]byte(v)); err != nil {
				return parley.Errorf(parley.CodeInvalid, "%s: %s", name, err)
			}
		}
	}
	if v := env("PARLEY_MAX_SESSIONS"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return parley.Errorf(parley.CodeInvalid, "PARLEY_MAX_SESSIONS: %q is not a number", v)
		}
		s.MaxSessions = n
	}
	if v := env("PARLEY_MAX_STORAGE"); v != "" {
		if err := s.MaxStorage.UnmarshalText([]byte(v)); err != nil {
			return parley.Errorf(parley.CodeInvalid, "PARLEY_MAX_STORAGE: %s", err)
		}
	}
	for name, target := range map[string]*int{"PARLEY_WORKERS": &s.Workers, "PARLEY_MAX_CONNS": &s.MaxConns} {
		if v := env(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil {
				return parley.Errorf(parley.CodeInvalid, "%s: %q is not a number", name, v)
			}
			*target = n
		}
	}
	if v := env("PARLEY_PROJECT_ROOTS"); v != "" {
		s.ProjectRoots = filepath.SplitList(v)
	}
	if v := env("PARLEY_SECRET_FILES"); v != "" {
		s.SecretFiles = strings.Split(v, ",")
	}
	if v := env("PARLEY_ALLOWED_HOSTS"); v != "" {
		s.AllowedHosts = strings.Split(v, ",")
	}
	if v := env("PARLEY_ALLOWED_ORIGINS"); v != "" {
		s.AllowedOrigins = strings.Split(v, ",")
	}
	if v := env("PARLEY_TRUSTED_PROXIES"); v != "" {
		s.TrustedProxies = strings.Split(v, ",")
	}
	if v := env("PARLEY_INSECURE_LOCAL"); v != "" {
		open, err := strconv.ParseBool(v)
		if err != nil {
			return parley.Errorf(
				parley.CodeInvalid,
				"PARLEY_INSECURE_LOCAL: %q is neither true nor false",
				parley.Clip(v, 32),
			)
		}
		s.InsecureLocal = open
	}
	return nil
}

// check reports the first setting that cannot work. Its errors never contain a database's address: a mistaken one may
// have its password anywhere.
func (s *settings) check() error {
	switch {
	case s.Record != "" && s.Replay != "":
		return parley.InvalidField("replay", "cannot be used together with record")
	case s.Workers < 1 || s.Workers > mostWorkers:
		return parley.InvalidField("workers", "must lie between 1 and %d", mostWorkers)
	case time.Duration(s.Lease) < shortestLease || time.Duration(s.Lease) > longestLease:
		return parley.InvalidField("lease", "must lie between 1s and 10m")
	case time.Duration(s.FlushStore) < 10*time.Millisecond || time.Duration(s.FlushStore) > longestFlush:
		return parley.InvalidField("flush_store", "must lie between 10ms and 1m")
	case time.Duration(s.FlushLive) > longestFlush:
		return parley.InvalidField("flush_live", "must be at most 1m")
	case time.Duration(s.Drain) > longestDrain:
		return parley.InvalidField("drain", "must be at most 1h")
	case time.Duration(s.DrainWait) > longestDrain:
		return parley.InvalidField("drain_wait", "must be at most 1h")
	case time.Duration(s.DatabaseWait) > longestWait:
		return parley.InvalidField("database_wait", "must be at most 1h")
	case s.Retention.Versions != 0 && time.Duration(s.Retention.Versions) < shortestKeep:
		return parley.InvalidField("retention", "versions must be at least 1m, or 0 to keep them forever")
	case s.MaxConns < 0 || s.MaxConns > mostConns:
		return parley.InvalidField("max_conns", "must lie between 0 (the default) and %d", mostConns)
	case s.MaxSessions < 0 || s.MaxSessions > parley.MaxQuota:
		return parley.InvalidField("max_sessions", "must lie between 0 (not limited) and %d", int64(parley.MaxQuota))
	case s.LogFormat != logText && s.LogFormat != logJSON:
		return parley.InvalidField("log_format", "%q is not one of text, json", parley.Clip(s.LogFormat, 32))
	case new(slog.Level).UnmarshalText([]byte(s.LogLevel)) != nil:
		return parley.InvalidField(
			"log_level",
			"%q is not one of debug, info, warn, error",
			parley.Clip(s.LogLevel, 32),
		)
	}
	if err := s.checkDatabase(); err != nil {
		return err
	}
	if _, err := s.proxies(); err != nil {
		return err
	}
	if err := parley.ValidateRedact("redact", s.Redact); err != nil {
		return err
	}
	if s.Model != "" {
		return s.Model.Validate()
	}
	return nil
}

func (s *settings) checkDatabase() error {
	for field, url := range map[string]string{"database_url": s.DatabaseURL, "listen_url": s.ListenURL} {
		if url != "" && !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
			return parley.InvalidField(
				field,
				"must be the address of a PostgreSQL database: postgres://user:password@host:5432/database; leave it "+
					"out for SQLite in the data directory",
			)
		}
	}
	switch {
	case s.Role != roleAll && s.Role != roleAPI && s.Role != roleWorker:
		return parley.InvalidField("role", "%q is not one of all, api, worker", parley.Clip(string(s.Role), 32))
	case s.DatabaseURL == "" && s.Role != roleAll:
		return parley.InvalidField(
			"role",
			"%s needs other processes on the same database, and SQLite allows only one; set PARLEY_DATABASE_URL, or "+
				"leave the role at all",
			s.Role,
		)
	case s.DatabaseURL == "" && s.ListenURL != "":
		return parley.InvalidField("listen_url", "is only useful together with database_url")
	}
	return nil
}

// proxies returns the networks of trusted proxies; a single address is a network of one.
func (s *settings) proxies() ([]netip.Prefix, error) {
	networks := make([]netip.Prefix, 0, len(s.TrustedProxies))
	for _, text := range s.TrustedProxies {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, notOne := netip.ParseAddr(text)
			if notOne != nil {
				return nil, parley.InvalidField(
					"trusted_proxies",
					"%q is neither a network nor an address: write 10.0.0.0/8 or 10.1.2.3",
					parley.Clip(text, 64),
				)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// origins returns the allowed origins as browsers name them: a scheme, a host, and a port unless it is the scheme's
// own.
func (s *settings) origins() ([]string, error) {
	origins := make([]string, 0, len(s.AllowedOrigins))
	for _, text := range s.AllowedOrigins {
		text = strings.ToLower(strings.TrimSpace(text))
		origin, err := url.Parse(text)
		if err != nil || origin.Scheme != "https" && origin.Scheme != "http" || origin.Hostname() == "" ||
			strings.Contains(origin.Host, "*") || origin.Scheme+"://"+origin.Host != text {
			return nil, parley.InvalidField(
				"allowed_origins",
				"%q is not an origin: write https://chat.example.org, or http://localhost:3000, without a path",
				parley.Clip(text, 64),
			)
		}
		origins = append(origins, text)
	}
	return origins, nil
}

// drainWait is how long the server accepts connections while it drains.
func (s *settings) drainWait() time.Duration {
	switch {
	case s.DrainWait != byDatabase:
		return time.Duration(s.DrainWait)
	case s.DatabaseURL == "":
		return 0 // no other process could take them
	}
	return defaultDrainWait
}
