package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"example.org/parley"
)

const (
	// MaxMessageBytes bounds one message from a server.
	MaxMessageBytes = 16 << 20
	// leaveTime is what a process gets to end after its input was closed, and
	// once more after SIGTERM.
	leaveTime = 2 * time.Second
	// writeTime bounds one write to a process that does not read.
	writeTime = 5 * time.Second
	// The lines of a process's stderr that are logged: so long, so many a second.
	maxLogLine   = 2 << 10
	logLineRate  = 20
	logLineBurst = 200
)

// process is the transport of a stdio server: a child process that leads a group
// of its own. It is used for one connection.
type process struct {
	server Server
	log    *slog.Logger

	mu     sync.Mutex // guards all below
	last   string     // line of stderr
	ending error      // what the process ended with
	stop   func() error
}

// Connect implements the SDK's Transport: it starts the process. Its pipes are
// our own, so that a grandchild that keeps one open holds nobody up, and writes
// have a deadline.
func (p *process) Connect(ctx context.Context) (sdk.Connection, error) {
	input, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	read, output, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, closeAll(input, write))
	}
	said, says, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, closeAll(input, write, read, output))
	}
	command := exec.Command( //nolint:gosec,noctx // the operator's own command; ended by close
		p.server.Command,
		p.server.Args...)
	command.Env = p.server.Environment
	command.Stdin, command.Stdout, command.Stderr = input, output, says
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = command.Start()
	_ = closeAll(input, output, says) // the child's ends
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot be started: %w", err), closeAll(write, read, said))
	}
	exited := make(chan struct{})
	go func() { // ends with the process, which close sees to
		ending := command.Wait()
		p.mu.Lock()
		p.ending = ending
		p.mu.Unlock()
		close(exited)
	}()
	heard := make(chan struct{})
	go func() { // ends when close closes said
		defer close(heard)
		p.listen(said)
	}()
	stop := sync.OnceValue(func() error {
		err := errors.Join(write.Close(), p.end(command.Process.Pid, exited))
		err = errors.Join(err, closeAll(read, said))
		<-heard
		return err
	})
	p.mu.Lock()
	p.stop = stop
	p.mu.Unlock()
	transport := &sdk.IOTransport{Reader: closing{read, stop}, Writer: timely{write}, MaxLineLength: MaxMessageBytes}
	return transport.Connect(ctx)
}

// end waits for the process to end and ends it, with all of its group.
func (p *process) end(pid int, exited <-chan struct{}) error {
	for _, signal := range []syscall.Signal{0, syscall.SIGTERM} {
		if signal != 0 {
			_ = syscall.Kill(-pid, signal) // it may be gone by now
		}
		select {
		case <-exited:
			_ = syscall.Kill(-pid, syscall.SIGKILL) // what it left behind
			return nil
		case <-time.After(leaveTime):
		}
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-exited
	return nil
}

// listen logs what a process says on stderr, within bounds.
func (p *process) listen(said io.Reader) {
	reader := bufio.NewReaderSize(said, maxLogLine)
	may := rate.NewLimiter(logLineRate, logLineBurst)
	for {
		line, more, err := reader.ReadLine()
		if err != nil {
			return
		}
		text := p.server.redact(strings.TrimSpace(string(line)))
		for more && err == nil { // the rest of a long line
			_, more, err = reader.ReadLine()
		}
		if text == "" {
			continue
		}
		p.mu.Lock()
		p.last = text
		p.mu.Unlock()
		if may.Allow() {
			p.log.Debug("an MCP server says", "line", text)
		}
	}
}

// close ends the process, also with calls on their way. It may be called more
// than once, and before Connect.
func (p *process) close() {
	p.mu.Lock()
	stop := p.stop
	p.mu.Unlock()
	if stop != nil {
		_ = stop() // pipes that were closed before
	}
}

// why adds to an error what the process said last.
func (p *process) why(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending != nil {
		err = fmt.Errorf("%w; the process ended: %w", err, p.ending)
	}
	if p.last != "" {
		err = fmt.Errorf("%w; it said: %s", err, parley.Clip(p.last, 256))
	}
	return err
}

// timely bounds each write: a process that does not read its input costs its own
// connection, not the goroutine that writes.
type timely struct{ *os.File }

// Write implements io.Writer.
func (w timely) Write(b []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return 0, err
	}
	return w.File.Write(b)
}

// Close implements io.Closer: the pipe is closed with the process, by closing.
func (timely) Close() error { return nil }

// closing is the reading end, whose Close ends the process.
type closing struct {
	io.Reader
	stop func() error
}

// Close implements io.Closer.
func (c closing) Close() error { return c.stop() }

func closeAll(files ...*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
