package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is Linux's USER_HZ, in which /proc counts CPU time.
const clockTick = 10 * time.Millisecond

// stopBound is how long a child may take to end.
const stopBound = 10 * time.Second

// Process is a child that prints a line when it is ready.
type Process struct {
	command *exec.Cmd
	Line    string // what it printed
}

// Start runs a program and waits for its first line of output.
func Start(ctx context.Context, env []string, program string, args ...string) (*Process, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), env...)
	command.Stderr = os.Stderr
	command.WaitDelay = stopBound
	dieWithParent(command)
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(out)
	line, err := reader.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start", program), err, command.Process.Kill(), command.Wait())
	}
	go io.Copy(io.Discard, reader) //nolint:errcheck // ends with the process; discards further output
	return &Process{command: command, Line: strings.TrimSpace(line)}, nil
}

// Stop ends the process, kills it if it takes too long, and waits.
func (p *Process) Stop() error {
	if p.command.ProcessState != nil {
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	overdue := time.AfterFunc(stopBound, func() { _ = p.command.Process.Kill() }) // it may already have ended
	defer overdue.Stop()
	err := p.command.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // ended by the signal
		return nil
	}
	return err
}

// Kill ends the process immediately, like a crash, and waits.
func (p *Process) Kill() error {
	if err := p.command.Process.Kill(); err != nil {
		return err
	}
	err := p.command.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// Terminate asks the process to end, without waiting.
func (p *Process) Terminate() error { return p.command.Process.Signal(syscall.SIGTERM) }

// CPU returns the time that the process has used, user and system.
func (p *Process) CPU() (time.Duration, error) {
	own, _, err := cpu(p.command.Process.Pid)
	return own, err
}

// FamilyCPU returns the time that a process and its children have used, including those that have ended.
func FamilyCPU(pid int) (time.Duration, error) {
	own, ended, err := cpu(pid)
	if err != nil {
		return 0, err
	}
	sum := own + ended
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for field := range strings.FieldsSeq(string(raw)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return 0, err
		}
		if own, ended, err := cpu(child); err == nil { // it may already have ended
			sum += own + ended
		}
	}
	return sum, nil
}

// cpu reads the time used by a process, and by its children that have ended.
func cpu(pid int) (own, ended time.Duration, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	const first = 11 // utime, stime, cutime, cstime, counted after the command's name
	if len(fields) < first+4 {
		return 0, 0, errors.New("/proc/stat is too short")
	}
	var ticks [4]int64
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[first+i], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(ticks[0]+ticks[1]) * clockTick, time.Duration(ticks[2]+ticks[3]) * clockTick, nil
}

// Memory reads VmRSS (now) and VmHWM (highest so far), in bytes.
func (p *Process) Memory() (now, highest int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(raw)) {
		var target *int64
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			target = &now
		case strings.HasPrefix(line, "VmHWM:"):
			target = &highest
		default:
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(line)[1], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		*target = kib << 10
	}
	return now, highest, nil
}
