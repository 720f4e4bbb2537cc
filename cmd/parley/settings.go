package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"parley"
)

// The defaults of settings that nobody gave.
const (
	defaultAddr       = "127.0.0.1:7878"
	defaultFlushLive  = 120 * time.Millisecond
	defaultFlushStore = 600 * time.Millisecond
	defaultLease      = 10 * time.Second
	defaultWorkers    = 1024
)

// flags are what every command may be told.
type flags struct {
	data, url, key, workspace string
	json                      bool
}

// settings are what the server runs by: flag, else environment, else
// parley.yaml in the data directory.
type settings struct {
	DataDir      string            `yaml:"-"`
	Addr         string            `yaml:"addr"`
	Model        parley.ModelID    `yaml:"model"`
	FlushLive    duration          `yaml:"flush_live"`
	FlushStore   duration          `yaml:"flush_store"`
	Lease        duration          `yaml:"lease"`
	Workers      int               `yaml:"workers"` // turns at once
	AllowedHosts []string          `yaml:"allowed_hosts"`
	ProjectRoots []string          `yaml:"project_roots"`
	Providers    []providerSetting `yaml:"providers"`
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
		return fmt.Errorf("%q is no duration: write 600ms or 2s", text)
	}
	*d = duration(parsed)
	return nil
}

// dataDir finds the data directory without making it.
func (f *flags) dataDir(env func(string) string) (string, error) {
	if f.data != "" {
		return filepath.Abs(f.data)
	}
	if dir := env("PARLEY_DATA"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", parley.WrapError(parley.CodeInvalid, err, "there is no home directory to keep data in; give --data or PARLEY_DATA")
	}
	return filepath.Join(home, ".local", "share", "parley"), nil
}

// loadSettings reads file and environment; the serve command lays its flags over it.
func loadSettings(f *flags, env func(string) string) (settings, error) {
	s := settings{
		Addr: defaultAddr, Workers: defaultWorkers,
		FlushLive: duration(defaultFlushLive), FlushStore: duration(defaultFlushStore), Lease: duration(defaultLease),
	}
	dir, err := f.dataDir(env)
	if err != nil {
		return s, err
	}
	s.DataDir = dir
	file := filepath.Join(dir, "parley.yaml")
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
	return s, s.fromEnvironment(env)
}

func (s *settings) fromEnvironment(env func(string) string) error {
	if v := env("PARLEY_ADDR"); v != "" {
		s.Addr = v
	}
	if v := env("PARLEY_MODEL"); v != "" {
		s.Model = parley.ModelID(v)
	}
	for name, target := range map[string]*duration{"PARLEY_FLUSH_LIVE": &s.FlushLive, "PARLEY_FLUSH_STORE": &s.FlushStore, "PARLEY_LEASE": &s.Lease} {
		if v := env(name); v != "" {
			if err := target.UnmarshalText([]byte(v)); err != nil {
				return parley.Errorf(parley.CodeInvalid, "%s: %s", name, err)
			}
		}
	}
	if v := env("PARLEY_WORKERS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return parley.Errorf(parley.CodeInvalid, "PARLEY_WORKERS: %q is no number", v)
		}
		s.Workers = n
	}
	if v := env("PARLEY_PROJECT_ROOTS"); v != "" {
		s.ProjectRoots = filepath.SplitList(v)
	}
	if v := env("PARLEY_ALLOWED_HOSTS"); v != "" {
		s.AllowedHosts = strings.Split(v, ",")
	}
	return nil
}

// check reports the first setting that cannot work.
func (s *settings) check() error {
	switch {
	case s.Workers < 1 || s.Workers > 100_000:
		return parley.InvalidField("workers", "must lie between 1 and 100000")
	case time.Duration(s.Lease) < time.Second || time.Duration(s.Lease) > 10*time.Minute:
		return parley.InvalidField("lease", "must lie between 1s and 10m")
	case time.Duration(s.FlushStore) < 10*time.Millisecond || time.Duration(s.FlushStore) > time.Minute:
		return parley.InvalidField("flush_store", "must lie between 10ms and 1m")
	case time.Duration(s.FlushLive) > time.Minute:
		return parley.InvalidField("flush_live", "must be at most 1m")
	}
	if s.Model != "" {
		return s.Model.Validate()
	}
	return nil
}
