package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one `parley serve` of a cluster over all its lives: its address and data
// directory stay. Only one caller at a time may kill, freeze or start it.
type process struct {
	name  string
	dir   string
	addr  string
	args  []string
	env   []string
	logs  string // directory
	lives int
	now   *life // nil before the first start
}

// life is one run of a process.
type life struct {
	command *exec.Cmd
	log     string
	exited  chan struct{} // closed when the process has ended and been reaped
	meant   bool          // the test ended it
}

// errDied reports a process that ended before it listened.
var errDied = errors.New("it ended before it listened")

// taken are the addresses of all processes: those of dead ones only look free.
var taken sync.Map

// newProcess chooses a permanent address. Clients connect there while the process is dead, so
// the port is below the range of outgoing connections.
func newProcess(t *testing.T, name, logs string, env []string, args ...string) *process {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 18_000+rand.IntN(12_000))
		if _, known := taken.LoadOrStore(addr, true); known {
			continue
		}
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		p := &process{
			name: name,
			dir:  t.TempDir(),
			addr: addr,
			args: args,
			logs: logs,
			env:  append(cleanEnvironment(), env...),
		}
		t.Cleanup(p.kill)
		return p
	}
	t.Fatal("no port is free")
	return nil
}

// start begins a life and waits until the process listens.
func (p *process) start(ctx context.Context) error {
	p.lives++
	l := &life{exited: make(chan struct{}), log: filepath.Join(p.logs, fmt.Sprintf("%s-%d.log", p.name, p.lives))}
	log, err := os.Create(l.log)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	l.command = exec.Command(binary, append([]string{"serve", "--data", p.dir, "--addr", p.addr}, p.args...)...)
	l.command.Env, l.command.Stderr = p.env, log
	l.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := l.command.Start(); err != nil {
		return err
	}
	p.now = l
	listens := make(chan bool, 1)
	go func() { // ends with the process
		defer close(l.exited)
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		listens <- strings.Contains(line, "listens on ")
		_, _ = io.Copy(io.Discard, reader)
		_ = l.command.Wait() // its state shows how it ended
	}()
	timer := time.NewTimer(startDeadline)
	defer timer.Stop()
	select {
	case ok := <-listens:
		if ok {
			return nil
		}
		p.kill()
		return fmt.Errorf("%s did not start: %w: %s", p.name, errDied, l.tail())
	case <-timer.C:
		p.kill()
		return fmt.Errorf("%s did not start within %s: %s", p.name, startDeadline, l.tail())
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
}

// kill ends the process at once, as a crash would, and waits until it is gone.
func (p *process) kill() {
	if p.now == nil || p.now.gone() {
		return
	}
	p.now.meant = true
	_ = p.now.command.Process.Kill()
	<-p.now.exited
}

// freeze stops the process in its tracks; thaw lets it continue.
func (p *process) freeze() error { return p.now.command.Process.Signal(syscall.SIGSTOP) }

func (p *process) thaw() error { return p.now.command.Process.Signal(syscall.SIGCONT) }

// terminate asks the process to end and waits until it has.
func (p *process) terminate() error {
	p.now.meant = true
	if err := p.now.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(stopDeadline)
	defer timer.Stop()
	select {
	case <-p.now.exited:
	case <-timer.C:
		return fmt.Errorf("%s did not end within %s of SIGTERM: %s", p.name, stopDeadline, p.now.tail())
	}
	if code := p.now.command.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with %d after SIGTERM: %s", p.name, code, p.now.tail())
	}
	return nil
}

// alive reports why the process has gone although nobody ended it.
func (p *process) alive() error {
	if p.now.gone() && !p.now.meant {
		return fmt.Errorf("%s ended by itself (%s): %s", p.name, p.now.command.ProcessState, p.now.tail())
	}
	return nil
}

func (l *life) gone() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

// tail is the end of the process's log.
func (l *life) tail() string {
	const most = 4096
	raw, err := os.ReadFile(l.log)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-most):])
}

// token admits the machine's own user.
func (p *process) token() (string, error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, "token"))
	return strings.TrimSpace(string(raw)), err
}

// cleanEnvironment is this process's environment without Parley's settings.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PARLEY_") || strings.HasSuffix(name, "_API_KEY") ||
			strings.HasSuffix(name, "_BASE_URL") {
			continue
		}
		env = append(env, entry)
	}
	return env
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
