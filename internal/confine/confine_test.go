package confine_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.org/parley/internal/confine"
)

// hides is the variable that makes this binary wait, hidden or not.
const hides = "CONFINE_TEST_HIDES"

func TestMain(m *testing.M) {
	confine.Main(os.Args)
	if mode := os.Getenv(hides); mode != "" { // a test has started this binary
		if mode == "yes" {
			if err := confine.Hide(); err != nil {
				panic(err)
			}
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test has looked
		return
	}
	os.Exit(m.Run())
}

// A confined program, and what it starts, reaches nothing in a closed directory by any
// name, and everything beside it.
func TestClosedDirectoriesAreClosed(t *testing.T) {
	t.Parallel()
	if !confine.Supported() {
		t.Skip("this kernel has no Landlock")
	}
	root := t.TempDir()
	closed, beside := filepath.Join(root, "data"), filepath.Join(root, "work")
	for _, directory := range []string{closed, beside} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "file"), []byte("said"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(closed, filepath.Join(beside, "link")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]bool{
		"cat work/file":                true,
		"echo more > work/other":       true,
		"cat data/file":                false,
		"sh -c 'cat data/file'":        false,
		"cat work/link/file":           false,
		"cat /proc/self/cwd/data/file": false,
		"ls data":                      false,
		"echo more > data/other":       false,
		": > data/file":                false,
		"rm data/file":                 false,
		"mv data elsewhere":            false,
		"ln data/file work/hard":       false,
	}
	if confine.SignalsSupported() {
		scripts["kill -0 $PPID"] = false
		scripts["sleep 10 & kill $!"] = true
	}
	if _, err := exec.LookPath("prlimit"); err == nil {
		scripts["prlimit --pid $PPID --core=0:0"] = false // with --cpu=0 the kernel would end it
		scripts["prlimit --pid $PPID --core"] = true
		scripts["prlimit --core=0:0 true && ulimit -n 64"] = true
	}
	if os.Getuid() != 0 { // root reads it by a capability
		scripts["cat /proc/$PPID/environ"] = false
	}
	for script, allowed := range scripts {
		path, args := confine.Command(self, confine.Cage{Closed: []string{closed}}, "sh", []string{"-c", script})
		command := exec.Command(path, args...)
		command.Dir = root
		out, err := command.CombinedOutput()
		if (err == nil) != allowed {
			t.Errorf("%s: %v, %s", script, err, out)
		}
		if !allowed && strings.Contains(string(out), "said") {
			t.Errorf("%s says %s", script, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(closed, "file")); err != nil || string(got) != "said" {
		t.Errorf("the closed file has %q, %v", got, err)
	}
}

// A directory that cannot be closed lets nothing run.
func TestWhatCannotBeClosedRunsNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{"/", filepath.Join(t.TempDir(), "missing")} {
		path, args := confine.Command(self, confine.Cage{Closed: []string{closed}}, "echo", []string{"ran"})
		out, err := exec.Command(path, args...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ran\n") {
			t.Errorf("with %s closed it said %s", closed, out)
		}
	}
}

// A program in any cage has bounds from the kernel, and so has what it starts; as another
// user it has none of root's rights.
func TestACageHasBounds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("cages are Linux's")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cages := map[string]confine.Cage{"bounded": {}}
	if confine.Supported() {
		cages["closed"] = confine.Cage{Closed: []string{t.TempDir()}}
	}
	if os.Getuid() == 0 {
		cages["another user"] = confine.Cage{User: &confine.User{UID: 65534, GID: 65534}}
	}
	for name, cage := range cages {
		const tell = "sh -c 'id -u; id -G; cat /proc/self/limits; echo score $(cat /proc/self/oom_score_adj)'"
		path, args := confine.Command(self, cage, "sh", []string{"-c", tell})
		command := exec.Command(path, args...)
		command.Dir = "/"
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v, %s", name, err, out)
		}
		if own := strings.HasPrefix(string(out), "65534\n65534\n"); own != (cage.User != nil) {
			t.Errorf("%s: it is %s", name, out)
		}
		if !strings.HasSuffix(string(out), "score 1000\n") {
			t.Errorf("%s: when memory is short the kernel may end others first: %s", name, out)
		}
		for limit, most := range map[string]uint64{
			"Max processes": confine.MaxTasks, "Max open files": confine.MaxOpenFiles,
			"Max file size": confine.MaxFileBytes, "Max core file size": 0,
		} {
			for i, got := range limitsOf(t, string(out), limit) {
				if got > most {
					t.Errorf("%s: %s is %d (%d), want at most %d", name, limit, got, i, most)
				}
			}
		}
	}
}

// limitsOf reads the soft and the hard limit of a name.
func limitsOf(t *testing.T, told, name string) (limits []uint64) {
	t.Helper()
	for line := range strings.Lines(told) {
		if rest, found := strings.CutPrefix(line, name); found {
			for _, value := range strings.Fields(rest)[:2] {
				limit := uint64(math.MaxUint64)
				if value != "unlimited" {
					var err error
					if limit, err = strconv.ParseUint(value, 10, 64); err != nil {
						t.Fatal(err)
					}
				}
				limits = append(limits, limit)
			}
		}
	}
	if len(limits) != 2 {
		t.Fatalf("no limit %q in %q", name, told)
	}
	return limits
}

// A bomb of forks comes to the bound, and its user's other programs go on.
func TestABombOfForks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root may start a process of another user; CI runs this")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const user = 64_123 // nobody else's
	script := "i=0; while [ $i -lt 5000 ]; do sleep 60 >/dev/null & i=$((i+1)); done 2>/dev/null; echo unbounded"
	path, args := confine.Command(
		self, confine.Cage{User: &confine.User{UID: user, GID: user}}, "sh", []string{"-c", script},
	)
	command := exec.Command(path, args...)
	command.Dir, command.SysProcAttr = "/", &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	command.Stdout = &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	failed := command.Wait()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it has started
	if failed == nil || strings.Contains(said.String(), "unbounded") {
		t.Errorf("it said %q and ended with %v", said.String(), failed)
	}
}

// A program that hides does not show its environment to others of its user.
func TestHide(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux hides programs")
	}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 { // which nothing is hidden from
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for mode, shown := range map[string]bool{"yes": false, "no": true} {
		hidden := exec.Command("/proc/self/exe")
		hidden.Env, hidden.Dir, hidden.SysProcAttr = []string{hides + "=" + mode, "SECRET=hush-hush"}, "/", as
		input, err := hidden.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := hidden.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := hidden.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(output, make([]byte, len("ready"))); err != nil {
			t.Fatal(err)
		}
		look := exec.Command("cat", "/proc/"+strconv.Itoa(hidden.Process.Pid)+"/environ")
		look.Dir, look.SysProcAttr = "/", as
		seen, _ := look.Output() // it fails when it may not
		if strings.Contains(string(seen), "hush-hush") != shown {
			t.Errorf("hidden: %s; it shows %q", mode, seen)
		}
		if err := input.Close(); err != nil {
			t.Fatal(err)
		}
		if err := hidden.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// Programs of one user, in cages of their own, signal what they have started and not one another.
func TestCagesOfOneUserAreApart(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || !confine.SignalsSupported() {
		t.Skip("only root starts programs of another user, and Linux 6.12 keeps signals in")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	caged := func(script string) *exec.Cmd {
		path, args := confine.Command(
			self, confine.Cage{User: &confine.User{UID: 64_124, GID: 64_124}}, "sh", []string{"-c", script},
		)
		command := exec.Command(path, args...)
		command.Dir = "/"
		return command
	}
	other := caged("echo ready; exec cat")
	input, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(
		"sleep 60 & kill $! || echo own; kill -0 %d && echo signals; cat /proc/%d/environ && echo reads; "+
			"prlimit --pid %d --core=0:0 && echo limits",
		other.Process.Pid,
		other.Process.Pid,
		other.Process.Pid,
	)
	if said, _ := caged(script).Output(); len(said) > 0 {
		t.Errorf("with the other program it could do this: %s", said)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
}

// What this process has open, and has not marked, does not reach what it becomes.
func TestDescriptorsEndHere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("cages are Linux's")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close() // nothing was written
	path, args := confine.Command(self, confine.Cage{}, "sh", []string{"-c", "test ! -e /proc/self/fd/3"})
	command := exec.Command(path, args...)
	command.ExtraFiles = []*os.File{open}
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("it has a fourth descriptor: %s, %v", said, err)
	}
}
