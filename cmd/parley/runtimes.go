package main

import (
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/parley"
	"example.org/parley/internal/confine"
	"example.org/parley/runner"
	"example.org/parley/runner/acp"
)

// maxRuntimes bounds the programs that parley.yaml names.
const maxRuntimes = 32

// reachesData is what an admin must write to run a program that nothing keeps from the server's data.
const reachesData = "I accept that this program can read and change this server's data"

// runtimeSetting names a program that speaks the Agent Client Protocol. It runs the agents whose runtime is acp/NAME.
type runtimeSetting struct {
	Name      string            `yaml:"name"`
	Command   string            `yaml:"command"`
	Args      []string          `yaml:"args"`
	Env       map[string]string `yaml:"env"`  // with ${NAME}
	User      string            `yaml:"user"` // to run it as; only if the server is root
	Idle      duration          `yaml:"idle"`
	Processes int               `yaml:"processes"`
	Unguarded string            `yaml:"unguarded"` // reachesData, in the admin's own words
}

// openRuntimes makes the runtimes that the settings name.
func (s *server) openRuntimes() error {
	if len(s.settings.Runtimes) > maxRuntimes {
		return parley.InvalidField("runtimes", "at most %d programs", maxRuntimes)
	}
	self, err := itself()
	if err != nil {
		return err
	}
	closed, err := s.settings.ownDirectories()
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, given := range s.settings.Runtimes {
		command, err := given.resolve(s.env, closed)
		if err != nil {
			return err
		}
		if named[given.Name] {
			return parley.InvalidField("runtimes.name", "%q is named twice", given.Name)
		}
		named[given.Name] = true
		opened, err := acp.New(command, acp.Options{
			Self: self, Projects: s.projects, Version: version, Log: s.log,
		})
		if err != nil {
			return err
		}
		s.runtimes = append(s.runtimes, opened)
	}
	return nil
}

// itself returns where this program can be executed again: on Linux also when another file has taken its place.
func itself() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// ports returns the runtimes for the worker.
func (s *server) ports() (ports []runner.Runtime) {
	for _, runtime := range s.runtimes {
		ports = append(ports, runtime)
	}
	return ports
}

// runtimeNames returns the names that agents may use.
func (s *server) runtimeNames() (names []string) {
	for _, runtime := range s.runtimes {
		names = append(names, runtime.Name())
	}
	return names
}

// resolve reads the setting. The program must not reach the directories closed.
func (r runtimeSetting) resolve(env func(string) string, closed []string) (acp.Command, error) {
	command := acp.Command{
		Name: r.Name, Path: r.Command, Args: r.Args, Idle: time.Duration(r.Idle), Processes: r.Processes,
		Environment: acp.BaseEnvironment(env),
	}
	if err := command.Check(); err != nil {
		return acp.Command{}, err
	}
	if err := r.guard(&command, closed); err != nil {
		return acp.Command{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) { // later entries win
		value, err := expandSecrets("runtimes."+r.Name+".env."+parley.Clip(name, 64), r.Env[name], env)
		if err != nil {
			return acp.Command{}, err
		}
		if value != r.Env[name] {
			command.Secrets = append(command.Secrets, value)
		}
		command.Environment = append(command.Environment, name+"="+value)
	}
	return command, nil
}

// guard keeps the program from the server's data: by its own user, else by Landlock, or not at all if the admin accepts
// that.
func (r runtimeSetting) guard(command *acp.Command, closed []string) error {
	field := "runtimes." + r.Name
	switch {
	case r.User != "" && os.Getuid() != 0:
		return parley.InvalidField(field+".user", "only root starts programs as other users; leave it out")
	case r.User != "":
		return r.become(command, field, closed)
	case r.Unguarded != "" && r.Unguarded != reachesData:
		return parley.InvalidField(field+".unguarded", "must say: %s", reachesData)
	case r.Unguarded != "":
		return nil
	case os.Getuid() == 0:
		return parley.InvalidField(field+".user", "is missing: root's programs reach everything; name a user to "+
			"run this program as, or write unguarded: %s", reachesData)
	case !confine.Supported():
		return parley.InvalidField(field, "this system has no Landlock to keep the program from the server's data; "+
			"run the server as root and name a user, or write unguarded: %s", reachesData)
	}
	command.Cage.Closed = closed
	return nil
}

// become makes the program run as its own user, who must not reach the server's directories.
func (r runtimeSetting) become(command *acp.Command, field string, closed []string) error {
	found, err := user.Lookup(r.User)
	if err != nil {
		return parley.InvalidField(field+".user", "the user %q does not exist", parley.Clip(r.User, 64))
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	gid, failed := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil || failed != nil || uid == 0 {
		return parley.InvalidField(field+".user", "%q cannot be used: name a user who is not root", r.User)
	}
	for _, directory := range closed {
		info, err := os.Stat(directory)
		if err != nil {
			continue
		}
		owner, known := info.Sys().(*syscall.Stat_t)
		switch {
		case info.Mode().Perm()&0o007 != 0:
			return parley.InvalidField(
				field+".user",
				"every user may enter %s: chmod o-rwx it first",
				directory,
			)
		case known && (owner.Uid == uint32(uid) || owner.Gid == uint32(gid) && info.Mode().Perm()&0o070 != 0):
			return parley.InvalidField(
				field+".user",
				"%s belongs to %q or to its group: give it to the server's user with chown, and chmod g-rwx it",
				directory,
				parley.Clip(r.User, 64),
			)
		}
	}
	command.Cage.User = &confine.User{UID: uint32(uid), GID: uint32(gid)}
	kept := command.Environment[:0]
	for _, entry := range command.Environment {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains([]string{"HOME", "USER", "LOGNAME", "TMPDIR"}, name) {
			kept = append(kept, entry)
		}
	}
	command.Environment = append(kept, "HOME="+found.HomeDir, "USER="+r.User, "LOGNAME="+r.User)
	return nil
}

// ownDirectories returns the server's directories that foreign programs must not reach.
func (s *settings) ownDirectories() ([]string, error) {
	own := []string{s.DataDir}
	for _, dir := range []string{s.Record, s.Replay} { // exchanges with providers
		if dir == "" {
			continue
		}
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(absolute); err == nil {
			own = append(own, absolute)
		}
	}
	return own, nil
}
