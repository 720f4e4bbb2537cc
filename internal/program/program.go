// Package program runs programs that are spoken to on their standard input and output.
// It owns the process and its group. On Linux a program ends with everything that came from it, even what has left the
// group and the session: a keeper, this program again, is the parent of all that its own parent has left, and ends it
// with the program, or when the server is gone. What a program says on standard error goes to the log, within bounds.
package program

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"example.org/parley"
)

const (
	// leaveTime is what a process gets to end after its input was closed, and
	// once more after SIGTERM.
	leaveTime = 2 * time.Second
	// writeTime bounds the write of a piece to a process that does not read.
	writeTime  = 5 * time.Second
	writePiece = 1 << 20
	// The lines of a process's stderr that are logged: so long, so many a second.
	maxLogLine   = 2 << 10
	logLineRate  = 20
	logLineBurst = 200

	exitFailed = 126 // of a keeper that could not start its program
)

// Command is what is started.
type Command struct {
	// Keeper is this program, which calls Main. "": what leaves the program's group outlives it.
	Keeper      string
	Path        string
	Args        []string // without the program's name
	Environment []string // all that it gets
	Directory   string   // "": this process's
	// Redact hides secrets in what it says on standard error; nil: nothing is hidden.
	Redact func(line string) string
	Log    *slog.Logger
	// Says is the log's message for such a line.
	Says string
}

// Process is a program that runs, and leads a group of its own.
type Process struct {
	Input  *os.File // what it reads; each write by Write has a deadline
	Output *os.File // what it writes

	command Command
	keeper  *os.File // the lifeline; nil without a keeper
	exited  chan struct{}
	heard   chan struct{}
	pid     int
	stop    func() error

	mu     sync.Mutex // guards all below
	said   []string   // the latest lines on stderr, at most saidLines
	ending error      // what the process ended with
}

// Start starts a program. Its pipes are our own, so that a grandchild that keeps one
// open holds nobody up. Close ends it.
func Start(command Command) (*Process, error) {
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
	run := exec.Command(command.Path, command.Args...) //nolint:gosec,noctx // an admin's own command; ended by Close
	run.Env, run.Dir = command.Environment, command.Directory
	run.Stdin, run.Stdout, run.Stderr = input, output, says
	// Its session is a new one, and so is its group: it has no way to this process's terminal.
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	keeper, err := begin(run, command.Keeper)
	_ = closeAll(input, output, says) // the child's ends
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot be started: %w", err), closeAll(write, read, said))
	}
	p := &Process{
		Input: write, Output: read, command: command, keeper: keeper,
		exited: make(chan struct{}), heard: make(chan struct{}), pid: run.Process.Pid,
	}
	go func() { // ends with the process, which Close sees to
		ending := run.Wait()
		p.mu.Lock()
		p.ending = ending
		p.mu.Unlock()
		close(p.exited)
	}()
	go func() { // ends when Close closes said
		defer close(p.heard)
		p.listen(said)
	}()
	p.stop = sync.OnceValue(func() error {
		p.end()
		err := closeAll(read, said)
		<-p.heard
		return err
	})
	return p, nil
}

// begin starts the program, or its keeper, whose lifeline it returns.
func begin(run *exec.Cmd, self string) (*os.File, error) {
	if self == "" || !keeps || run.Err != nil {
		return nil, run.Start()
	}
	at := run.Path
	if !filepath.IsAbs(at) {
		at = filepath.Join(run.Dir, at)
	}
	if _, err := os.Stat(at); err != nil { // which a keeper could only say on standard error
		return nil, err
	}
	lifeline, start, err := kept(self, run)
	if err != nil {
		return nil, err
	}
	if err := start(); err != nil {
		if run.Process != nil {
			_ = run.Process.Kill() // it has not been told what to start
			_ = run.Wait()
		}
		return nil, errors.Join(err, lifeline.Close())
	}
	return lifeline, nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Write writes to the program's input. A program that does not read it costs its own
// connection, not the goroutine that writes.
func (p *Process) Write(b []byte) (written int, err error) {
	for len(b) > 0 && err == nil {
		if err := p.Input.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return written, err
		}
		var n int
		n, err = p.Input.Write(b[:min(len(b), writePiece)])
		written, b = written+n, b[n:]
	}
	return written, err
}

// Close ends the program and its group, and returns when they are gone. It may be
// called more than once.
func (p *Process) Close() error { return p.stop() }

// end closes the input, waits for the process to end, and ends it.
func (p *Process) end() {
	_ = p.Input.Close()
	ways := []func(){func() {}, func() { _ = syscall.Kill(-p.pid, syscall.SIGTERM) }} // it may be gone by now
	if p.keeper != nil {
		defer func() { _ = p.keeper.Close() }() // its reader is gone
		ways = append(ways, func() { _, _ = p.keeper.Write([]byte{0}) })
	}
	for _, end := range ways {
		end()
		timer := time.NewTimer(leaveTime)
		select {
		case <-p.exited:
			timer.Stop()
			_ = syscall.Kill(-p.pid, syscall.SIGKILL) // what it left behind
			return
		case <-timer.C:
		}
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.exited
}

// listen logs what the process says on stderr, within bounds.
func (p *Process) listen(said io.Reader) {
	reader := bufio.NewReaderSize(said, maxLogLine)
	may := rate.NewLimiter(logLineRate, logLineBurst)
	for {
		line, more, err := reader.ReadLine()
		if err != nil {
			return
		}
		text := strings.TrimSpace(string(line))
		if p.command.Redact != nil {
			text = p.command.Redact(text)
		}
		for more && err == nil { // the rest of a long line
			_, more, err = reader.ReadLine()
		}
		if text == "" {
			continue
		}
		p.mu.Lock()
		p.note(text)
		p.mu.Unlock()
		if may.Allow() {
			p.command.Log.Debug(p.command.Says, "line", text)
		}
	}
}

// saidLines is how many of the latest lines are searched for the cause of an end: a stack trace may follow it.
const saidLines = 16

// saidBytes bounds each of them.
const saidBytes = 256

// names is the beginning of a line that names an error. Node.js, for one, ends with its version instead.
var names = regexp.MustCompile(`^(?:Uncaught )?(?:[A-Za-z.]*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)\b`)

// note keeps a line; the caller holds mu.
func (p *Process) note(line string) {
	if len(p.said) == saidLines {
		p.said = append(p.said[:0], p.said[1:]...)
	}
	p.said = append(p.said, parley.Clip(line, saidBytes))
}

// cause returns the latest line that names an error, or else the latest line; the caller holds mu.
func (p *Process) cause() string {
	for _, line := range slices.Backward(p.said) {
		if names.MatchString(line) {
			return line
		}
	}
	if len(p.said) == 0 {
		return ""
	}
	return p.said[len(p.said)-1]
}

// Why adds to an error what the process said at its end.
func (p *Process) Why(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending != nil {
		err = fmt.Errorf("%w; the process ended: %w", err, p.ending)
	}
	if said := p.cause(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

func closeAll(files ...*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
