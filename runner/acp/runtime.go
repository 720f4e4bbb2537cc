package acp

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/internal/confine"
	"example.org/parley/internal/program"
	"example.org/parley/internal/projectdir"
	"example.org/parley/runner"
	"example.org/parley/store"
)

const (
	// DefaultIdle is how long a program is kept after its session became idle.
	DefaultIdle = 2 * time.Minute
	// DefaultProcesses is how many processes of one command run at once.
	DefaultProcesses = 16
	// longestWait is how long a program is kept while its turn waits for a person.
	longestWait = 24 * time.Hour

	maxNameBytes = 48
	prefix       = "acp/"
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Command is a program that an admin has named.
type Command struct {
	Name        string // agents say "acp/NAME"
	Path        string
	Args        []string
	Environment []string // the whole environment, as NAME=value
	Secrets     []string // values of the environment that never reach a log
	Cage        confine.Cage
	Idle        time.Duration // 0: DefaultIdle
	Processes   int           // 0: DefaultProcesses
}

// Check reports what is wrong with a command. CodeInvalid.
func (c *Command) Check() error {
	switch {
	case len(c.Name) > maxNameBytes || !namePattern.MatchString(c.Name):
		return parley.InvalidField("runtimes.name", "%q must be a lower-case word of at most %d letters, digits, "+
			"_ and -", parley.Clip(c.Name, 64), maxNameBytes)
	case c.Path == "":
		return parley.InvalidField("runtimes.command", "is missing for %q: name the program to start", c.Name)
	case c.Idle < 0 || c.Processes < 0:
		return parley.InvalidField("runtimes.idle", "idle and processes of %q must not be negative", c.Name)
	}
	return nil
}

// Options are shared by the programs of all commands.
type Options struct {
	// Self is this program, which keeps and confines others when it is executed again: it calls program.Main and
	// confine.Main.
	Self     string
	Projects *projectdir.Policy
	Version  string
	Log      *slog.Logger
}

// Runtime implements runner.Runtime for one command. Stop ends it.
type Runtime struct {
	command Command
	options Options

	mu       sync.Mutex // guards the fields below
	stopped  bool
	opening  int
	sessions map[parley.ID]*session
	ending   sync.WaitGroup // goroutines of sessions

	large sync.Mutex // held while a large message of a program is decoded
}

var _ runner.Runtime = (*Runtime)(nil)

// New returns a runtime for a command. CodeInvalid if the command is not valid.
func New(command Command, options Options) (*Runtime, error) {
	if err := command.Check(); err != nil {
		return nil, err
	}
	if command.Idle == 0 {
		command.Idle = DefaultIdle
	}
	if command.Processes == 0 {
		command.Processes = DefaultProcesses
	}
	return &Runtime{command: command, options: options, sessions: map[parley.ID]*session{}}, nil
}

// Name implements runner.Runtime.
func (r *Runtime) Name() string { return prefix + r.command.Name }

// Cancel implements runner.Runtime.
func (r *Runtime) Cancel(turnID parley.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.abandon(turnID) {
			r.ending.Go(func() { s.cancel(turnID) })
		}
	}
}

// Waiting implements runner.Runtime.
func (r *Runtime) Waiting() (waiting []runner.Waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		s.mu.Lock()
		if s.waits && !s.turnID.IsZero() {
			waiting = append(
				waiting,
				runner.Waiting{WorkspaceID: s.workspaceID, SessionID: s.id, TurnID: s.turnID},
			)
		}
		s.mu.Unlock()
	}
	return waiting
}

// Close implements runner.Runtime.
func (r *Runtime) Close(sessionID parley.ID) {
	if s := r.kept(sessionID); s != nil {
		s.close()
	}
}

// Stop ends all programs and returns when they are gone. Stop running turns first.
func (r *Runtime) Stop() {
	r.mu.Lock()
	r.stopped = true
	var all []*session
	for _, s := range r.sessions {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		s.close()
	}
	r.ending.Wait()
}

// kept returns the program that runs for a session; nil if none does.
func (r *Runtime) kept(sessionID parley.ID) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[sessionID]
}

// forget removes a session that is ending.
func (r *Runtime) forget(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.id] == s {
		delete(r.sessions, s.id)
	}
}

// errFull refuses a further process.
var errFull = errors.New("all places for agents of this kind are taken: try again when one has ended")

// open starts a program for a session of this server and opens the program's own session: an earlier one if it can.
// fresh reports that the program knows nothing of the conversation yet.
func (r *Runtime) open(
	ctx context.Context,
	of store.Fence,
	project string,
	earlier kept,
) (s *session, fresh bool, err error) {
	r.mu.Lock()
	switch {
	case r.stopped:
		err = errors.New("the server stops")
	case len(r.sessions)+r.opening >= r.command.Processes:
		err = errFull
	default:
		r.opening++
	}
	r.mu.Unlock()
	if err != nil {
		return nil, false, err
	}
	defer func() {
		r.mu.Lock()
		r.opening--
		r.mu.Unlock()
	}()
	if s, err = r.start(of, project); err != nil {
		return nil, false, err
	}
	ctx, stop := context.WithTimeoutCause(ctx, openTime, errors.New("the agent did not open a session in time"))
	defer stop()
	if fresh, err = s.introduce(ctx, r.options.Version, earlier); err != nil {
		s.close()
		return nil, false, err
	}
	return s, fresh, nil
}

// start starts the process.
func (r *Runtime) start(of store.Fence, project string) (*session, error) {
	path, args := confine.Command(r.options.Self, r.command.Cage, r.command.Path, r.command.Args)
	log := r.options.Log.With("runtime", r.Name(), "session_id", of.SessionID)
	process, err := program.Start(program.Command{
		Keeper: r.options.Self, Path: path, Args: args, Environment: r.command.Environment, Directory: project,
		Redact: r.redact, Log: log, Says: "an agent's process says",
	})
	if err != nil {
		return nil, err
	}
	s := &session{
		runtime:     r,
		workspaceID: of.WorkspaceID,
		id:          of.SessionID,
		process:     process,
		files:       files{policy: r.options.Projects, project: project},
		ended:       make(chan struct{}),
		calls:       map[string]*call{},
		wake:        make(chan struct{}, 1),
	}
	s.conn = acpwire.NewConn(func(line []byte) error {
		_, err := process.Write(line)
		return err
	})
	s.conn.Told, s.conn.Asked, s.conn.Redact, s.conn.Large = s.told, s.asked, r.redact, &r.large
	r.mu.Lock()
	r.sessions[of.SessionID] = s
	r.mu.Unlock()
	r.ending.Go(func() { // ends with the process
		s.listen()
		<-s.ended
	})
	if r.isStopped() {
		s.close()
	}
	return s, nil
}

func (r *Runtime) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// redact hides the secrets of the environment.
func (r *Runtime) redact(line string) string {
	for _, secret := range r.command.Secrets {
		if secret != "" {
			line = strings.ReplaceAll(line, secret, "[secret]")
		}
	}
	return line
}

// introduce opens the program's session. fresh reports a new one.
func (s *session) introduce(ctx context.Context, version string, earlier kept) (fresh bool, err error) {
	hello := initialize{Version: acpwire.Version}
	hello.Capabilities.Files.Read, hello.Capabilities.Files.Write = s.files.project != "", s.files.project != ""
	hello.Client.Name, hello.Client.Version = "parley", version
	var its initialized
	if err := s.conn.Request(ctx, acpwire.MethodInitialize, hello, &its); err != nil {
		return false, err
	}
	if its.Version != acpwire.Version {
		return false, errors.New("the agent speaks another version of the protocol than 1")
	}
	s.takes = its.Capabilities.Prompt
	request := sessionRequest{Directory: s.files.project, Servers: []struct{}{}}
	if request.Directory == "" {
		request.Directory = "/"
	}
	if method := its.takesUp(); method != "" && earlier.Session != "" {
		request.ID = earlier.Session
		s.mu.Lock()
		s.replays = true
		s.mu.Unlock()
		err := s.conn.Request(ctx, method, request, nil)
		s.mu.Lock()
		s.replays = false
		s.mu.Unlock()
		var refused *acpwire.Fault
		switch {
		case err == nil:
			s.named(earlier)
			return false, nil
		case !errors.As(err, &refused): // otherwise the program has forgotten the session
			return false, err
		}
		request.ID = ""
	}
	var made struct {
		ID string `json:"sessionId"`
	}
	if err := s.conn.Request(ctx, acpwire.MethodNew, request, &made); err != nil {
		return false, err
	}
	if made.ID == "" || len(made.ID) > maxOwnID {
		return false, errors.New("the agent gave its session no usable name")
	}
	s.named(kept{Session: made.ID})
	return true, nil
}

// maxOwnID bounds the program's own name of a session, in bytes.
const maxOwnID = 1024

func (s *session) named(own kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.spends.charged = own.Session, own.Cost
}

// takesUp returns the method that resumes an earlier session; "" if the program has none.
func (i *initialized) takesUp() string {
	switch {
	case i.Capabilities.Session.Resume != nil:
		return acpwire.MethodResume
	case i.Capabilities.Load:
		return acpwire.MethodLoad
	}
	return ""
}

// BaseEnvironment returns the part of this process's environment that every program gets: what programs need to run,
// and no credentials.
func BaseEnvironment(env func(string) string) (entries []string) {
	for _, name := range slices.Concat(
		[]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"},
		[]string{"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"},
	) {
		if value := env(name); value != "" {
			entries = append(entries, name+"="+value)
		}
	}
	return entries
}
