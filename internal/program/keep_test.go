//go:build linux

package program

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.org/parley/internal/bounded"
)

// leaves starts a process in a session of its own, from a parent that ends at once, and waits for it.
const leaves = `(setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 600' >/dev/null 2>&1 &)
while [ ! -e pid ]; do sleep 0.01; done; `

// script starts a shell with a keeper.
func script(t *testing.T, text string) (p *Process, directory string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	directory = t.TempDir()
	p, err = Start(Command{
		Keeper: self, Path: "sh", Args: []string{"-c", text}, Directory: directory,
		Environment: []string{"PATH=" + os.Getenv("PATH"), "SECRET=\xffhush-hush"},
		Log:         slog.New(slog.DiscardHandler), Says: "it says",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // twice, mostly
	return p, directory
}

// TestNothingOutlivesItsProgram: a process that has left its program's group, session and parent ends with the program,
// however that ends: by itself, because it is closed, or because the server is gone.
func TestNothingOutlivesItsProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then string
		end  func(p *Process) error
		want string
	}{
		"it ends":         {"exit 3", func(*Process) error { return nil }, "exit status 3"},
		"it is closed":    {"read line", (*Process).Close, "exit status 1"},
		"it does not end": {"trap '' TERM; while true; do sleep 1; done", (*Process).Close, "signal: killed"},
		"the server is dead": {
			"while true; do sleep 1; done", func(p *Process) error { return p.keeper.Close() }, "signal: killed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, directory := script(t, leaves+"echo; "+c.then)
			if _, err := p.Output.Read(make([]byte, 1)); err != nil {
				t.Fatal(p.Why(err))
			}
			said, err := os.ReadFile(filepath.Join(directory, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.end(p); err != nil {
				t.Fatal(err)
			}
			bounded.Receive(t, p.Exited(), "the program to end")
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("the process that left its group is there: %v", err)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if got := fmt.Sprint(p.ending); got != c.want {
				t.Errorf("it ended with %s, want %s", got, c.want)
			}
		})
	}
}

// TestAKeptProgramEndsAsItself: a keeper passes on what is said and how the program ended, and shows none of its
// environment.
func TestAKeptProgramEndsAsItself(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"exit 0":        "<nil>",
		"exit 7":        "exit status 7",
		"kill -TERM $$": "signal: terminated",
		"kill -SEGV $$": "signal: segmentation fault",
		"kill -KILL $$": "signal: killed",
		"cat /proc/$PPID/environ /proc/$PPID/cmdline | grep -c hush-hush; exit 5": "exit status 5",
		"sh -c 'kill $PPID'; sleep 600":                                           "signal: terminated",
	} {
		p, _ := script(t, "printf %s \"$SECRET\"; "+text)
		said, err := io.ReadAll(p.Output)
		if rest, _ := strings.CutPrefix(string(said), "\xffhush-hush"); err != nil || strings.Trim(rest, "0\n") != "" ||
			rest == string(said) {
			t.Errorf("%s: it said %q, %v", text, said, err)
		}
		bounded.Receive(t, p.Exited(), "the program to end")
		if got := fmt.Sprint(p.ending); got != want {
			t.Errorf("%s: it ended with %s, want %s", text, got, want)
		}
	}
}

// TestAMissingProgramIsSaid before a keeper is started for it.
func TestAMissingProgramIsSaid(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"no-such-program", "/no/such/program", "./no-such-program"} {
		p, err := Start(Command{Keeper: "/proc/self/exe", Path: path, Directory: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), "cannot be started") {
			t.Errorf("%s: %v, %v", path, p, err)
		}
	}
}

// TestDescriptorsStayHere: a program is given its input, output and error, whatever else this process has open and has
// not marked.
func TestDescriptorsStayHere(t *testing.T) {
	t.Parallel()
	open, err := syscall.Dup(int(os.Stderr.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(open) })
	p, _ := script(t, fmt.Sprintf("test -e /proc/self/fd/%d && echo open; echo done", open))
	said, err := io.ReadAll(p.Output)
	if err != nil || string(said) != "done\n" {
		t.Errorf("it said %q, %v", said, err)
	}
}

// TestTheTerminalStaysTheServers: a program has no way to the terminal in which somebody started the server. Through it
// the program could press the keys that end the server, or type commands for the shell behind it.
func TestTheTerminalStaysTheServers(t *testing.T) {
	t.Parallel()
	ours, theirs := openTerminal(t)
	server := exec.Command("/proc/self/exe", "-test.run=^$")
	server.Env = append(os.Environ(), inTerminal+"=yes")
	server.Stdin = theirs
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of its standard input
	said, err := server.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if got := string(said); got != "server: a terminal\nkeeper: none\nno keeper: none\n" {
		t.Errorf("it said %q", got)
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
}

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system gives no terminals: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() }) // nothing was written
	return ours, theirs
}

// lookForTerminals is the whole life of a server in a terminal: it says who has that terminal.
func lookForTerminals() error {
	const look = "if (exec 3<>/dev/tty) 2>/dev/null; then echo a terminal; else echo none; fi"
	own, err := exec.Command("sh", "-c", look).Output()
	if err != nil {
		return err
	}
	fmt.Printf("server: %s", own)
	for _, keeper := range []string{"/proc/self/exe", ""} {
		p, err := Start(Command{
			Keeper: keeper, Path: "sh", Args: []string{"-c", look}, Environment: []string{"PATH=" + os.Getenv("PATH")},
			Log: slog.New(slog.DiscardHandler), Says: "it says",
		})
		if err != nil {
			return err
		}
		said, err := io.ReadAll(p.Output)
		if err := errors.Join(err, p.Close()); err != nil {
			return err
		}
		if keeper == "" {
			fmt.Print("no ")
		}
		fmt.Printf("keeper: %s", said)
	}
	return nil
}

// inTerminal is the variable that makes this binary a server in a terminal.
const inTerminal = "PROGRAM_TEST_IN_TERMINAL"

func init() { //nolint:gochecknoinits // the tests of Linux alone have it
	asServer = func() bool {
		if os.Getenv(inTerminal) == "" {
			return false
		}
		if err := lookForTerminals(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return true
	}
}
