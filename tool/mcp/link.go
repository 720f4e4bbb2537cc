package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/tool"
)

const (
	// The pauses between attempts to connect: the first, and the longest after doubling. A connection that lasted for
	// steadyAfter starts again with the first.
	firstPause   = time.Second
	longestPause = time.Minute
	// shortestPause is the least time between attempts, even if calls ask for one.
	shortestPause = 250 * time.Millisecond
	// refusedPause is the time between attempts at a server that lets nobody in: until a person has acted, nothing
	// changes. A call tries again earlier, but not within refusedLeast.
	refusedPause = time.Hour
	refusedLeast = time.Minute
	steadyAfter  = time.Minute
	// callPatience is how long a call waits for a server being connected. A call to a server whose next attempt is
	// further away triggers the attempt.
	callPatience = 10 * time.Second
	// relistEvery is how often the tools are listed again: not every server reports changes.
	relistEvery = 5 * time.Minute
	// askTime bounds one list, and the check whether a silent server still answers.
	askTime = 5 * time.Second
	// maxWarned bounds the warnings that a link remembers, each given once.
	maxWarned = 1024
)

// link is the connection to one server, renewed as long as the link runs.
type link struct {
	server  Server
	options Options
	lists   *inflight.Bytes // that the lists of all servers hold
	owner   inflight.Owner  // as which this server's does
	log     *slog.Logger
	bearer  *bearer       // nil: the server is not authorized by OAuth
	changed func()        // the tools of this link have changed
	told    string        // the error of the last warning, until the server is connected; only run uses it
	tried   chan struct{} // closed when the first attempt has ended
	kick    chan struct{} // capacity 1: try now
	suspect chan struct{} // capacity 1: a call got no answer; check the server

	mu       sync.Mutex // guards all below
	current  *connection
	trying   bool
	attempts int           // to connect, including the current one
	over     bool          // the link runs no more
	turned   chan struct{} // closed and replaced when current, trying or over changes
	trouble  error         // why there is no connection
	tools    []*remoteTool
	faults   []tool.Fault // of tools left out of the last list
	had      bool         // tools were listed once
	warned   map[string]bool
}

func newLink(server Server, options Options, lists *inflight.Bytes, changed func()) *link {
	return &link{
		lists: lists, owner: inflight.Owner{WorkspaceID: parley.NewID()},
		server: server, options: options, log: options.Log.With("mcp", server.Name), changed: changed,
		tried: make(chan struct{}), kick: make(chan struct{}, 1), suspect: make(chan struct{}, 1),
		turned: make(chan struct{}), warned: map[string]bool{},
	}
}

// run keeps the server connected until ctx ends.
func (l *link) run(ctx context.Context) {
	first := sync.OnceFunc(func() { close(l.tried) })
	defer first()
	defer l.turn(func() { l.over, l.trying = true, false })
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := l.hold(ctx, first)
		if ctx.Err() != nil {
			return
		}
		first()
		if time.Since(began) > steadyAfter {
			pause = firstPause
		}
		wait, least := pause/2+rand.N(pause), shortestPause //nolint:gosec // spreads attempts, keeps no secret
		if waitsForPerson(err) {
			wait, least = refusedPause, refusedLeast
		}
		l.logAway(ctx, err, wait)
		l.rest(ctx, min(wait, least), wait)
		pause = min(2*pause, longestPause)
	}
}

// logAway warns once of each reason in a row; later attempts that fail for the same reason are debug.
func (l *link) logAway(ctx context.Context, err error, wait time.Duration) {
	text, level := l.server.redact(err.Error()), slog.LevelDebug
	if l.told != text {
		level, l.told = slog.LevelWarn, text
	}
	l.log.Log(ctx, level, "an MCP server is away; its tools return an error until it is back",
		"error", text, "next_attempt_in", wait.Round(time.Millisecond))
}

// rest waits for the next attempt; a call may end the wait.
func (l *link) rest(ctx context.Context, shortest, longest time.Duration) {
	least, most := time.NewTimer(shortest), time.NewTimer(longest)
	defer least.Stop()
	defer most.Stop()
	select {
	case <-ctx.Done():
		return
	case <-least.C:
	}
	select {
	case <-ctx.Done():
	case <-most.C:
	case <-l.kick:
	}
}

// hold makes a connection and stays until it has ended; it returns the reason.
func (l *link) hold(ctx context.Context, tried func()) (err error) {
	l.turn(func() { l.trying, l.attempts = true, l.attempts+1 })
	defer func() {
		l.turn(func() { l.current, l.trying, l.trouble = nil, false, err })
	}()
	connecting, stop := context.WithTimeoutCause(ctx, l.server.connectTime(), errSilent)
	defer stop()
	c, err := l.connect(connecting)
	if err != nil {
		return causeOf(connecting, err)
	}
	defer func() {
		l.turn(func() { l.current = nil }) // send no new call into a closing connection
		c.close()
		err = c.transport.why(err)
	}()
	if err := l.relist(connecting, c); err != nil {
		return causeOf(connecting, err)
	}
	l.turn(func() { l.current, l.trying, l.trouble = c, false, nil })
	tried()
	l.told = ""
	l.log.Info(
		"an MCP server is connected",
		"tools",
		len(l.listed()),
		"protocol",
		c.session.InitializeResult().ProtocolVersion,
	)
	return l.watch(ctx, c)
}

var errSilent = errors.New("it does not answer")

// causeOf prefers the cause of a context's end to the error that it caused.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// watch follows a connection until it ends or becomes unusable, or ctx ends.
func (l *link) watch(ctx context.Context, c *connection) error {
	ended := make(chan error, 1)
	go func() { ended <- c.session.Wait() }() // ends when hold closes c
	ticker := time.NewTicker(relistEvery)
	defer ticker.Stop()
	var due <-chan time.Time // for the next list, if the server has reported a change
	next := time.Now()       // the earliest time of it
	relist := func() error {
		began := time.Now()
		err := l.ask(ctx, func(ctx context.Context) error { return l.relist(ctx, c) })
		next = time.Now().Add(relistPause(time.Since(began)))
		return err
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.transport.ended():
			return errFlood
		case err := <-ended:
			if err == nil {
				err = errors.New("the server closed the connection")
			}
			return err
		case <-c.changed:
			if due == nil {
				due = time.After(time.Until(next))
			}
		case <-due:
			due = nil
			err = relist()
		case <-ticker.C:
			err = relist()
		case <-l.suspect:
			err = l.ask(ctx, func(ctx context.Context) error { return c.session.Ping(ctx, nil) })
		}
		if err == nil {
			continue
		}
		if refusal, refused := refusalOf(err); refused { // the server is alive
			l.log.Debug("an MCP server refuses a question", "error", l.server.redact(refusal.Message))
			continue
		}
		return err
	}
}

// ask asks a question within askTime.
func (l *link) ask(ctx context.Context, question func(context.Context) error) error {
	ctx, stop := context.WithTimeoutCause(ctx, askTime, errSilent)
	defer stop()
	if err := question(ctx); err != nil {
		return causeOf(ctx, err)
	}
	return nil
}

// turn changes what callers wait for, and wakes them.
func (l *link) turn(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.turned)
	l.turned = make(chan struct{})
}

// connected returns the connection; it waits for one being made, and triggers the next attempt. It returns
// CodeUnavailable if there is none in time.
func (l *link) connected(ctx context.Context) (*connection, error) {
	patience, stop := context.WithTimeout(ctx, callPatience)
	defer stop()
	l.mu.Lock()
	last := l.attempts // wait for the end of this attempt
	if !l.trying {
		last++
	}
	l.mu.Unlock()
	for {
		l.mu.Lock()
		c, trying, over, done, trouble, turned := l.current, l.trying, l.over, l.attempts, l.trouble, l.turned
		l.mu.Unlock()
		switch {
		case c != nil:
			return c, nil
		case over || (!trying && (done >= last || waitsForPerson(trouble))):
			wakeUp(l.kick)
			return nil, l.away(trouble)
		case !trying:
			wakeUp(l.kick)
		}
		select {
		case <-turned:
		case <-patience.Done():
			return nil, l.away(trouble)
		}
	}
}

// away tells the model that the server cannot be reached. The reason, which may contain paths and addresses, is in the
// log.
func (l *link) away(trouble error) error {
	if waitsForPerson(trouble) {
		return parley.WrapError(
			parley.CodeUnavailable,
			trouble,
			fmt.Sprintf("Not run: the tool server %s lets nobody in "+
				"until a person has authorized it or corrected its credentials. Tell the user, or go on without it.",
				quoted(l.server.Name)),
		)
	}
	return parley.WrapError(
		parley.CodeUnavailable,
		trouble,
		fmt.Sprintf(
			"Not run: the tool server %s is not connected at the moment. Try again later or go on without it.",
			quoted(l.server.Name),
		),
	)
}

// source returns the Source of the server's tools.
func (l *link) source() string { return sourceName(&l.server) }

func sourceName(server *Server) string { return "mcp/" + server.Name }

// listed returns the tools of the last list.
func (l *link) listed() []*remoteTool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools
}

// faulty returns the tools left out of the last list, and the server itself while it is away.
func (l *link) faulty() []tool.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil || l.trouble == nil || l.over {
		return l.faults
	}
	reason, do := l.server.explain(l.trouble)
	return append(slices.Clone(l.faults), tool.Fault{
		Name: l.server.Name + nameJoint + "*", Source: l.source(), Reason: reason, Do: do,
	})
}

// known reports whether the tools were ever listed.
func (l *link) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.had
}

// warn logs a warning once per key.
func (l *link) warn(key, text string, args ...any) {
	l.mu.Lock()
	seen := l.warned[key] || len(l.warned) >= maxWarned
	l.warned[key] = l.warned[key] || !seen
	l.mu.Unlock()
	if !seen {
		l.log.Warn(text, args...)
	}
}
