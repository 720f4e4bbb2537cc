package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley"
	"parley/client"
)

// apart is how far the clocks of this test's processes are from the true time,
// to either side.
const apart = 10 * time.Minute

// skewable builds the program with a time of day that the environment sets off:
// by an overlay of the standard library's source, so that nothing in the program
// can know better. Intervals are what they are.
func skewable(t *testing.T) string {
	t.Helper()
	const clock, skewed = "sec, nsec, mono := runtimeNow()", "sec, nsec, mono := runtimeNow()\n\tsec += skew"
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), clock) != 1 {
		t.Fatal("the standard library looks at the clock in another way now")
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, content := range map[string]string{
		"time.go": strings.Replace(string(source), clock, skewed, 1),
		"skew.go": `package time

import "syscall"

var skew = func() int64 {
	text, _ := syscall.Getenv("TEST_CLOCK_SKEW")
	seconds, _ := atoi(text)
	return int64(seconds)
}()
`,
	} {
		overlay.Replace[filepath.Join(library, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, encoded, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "parley")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", program, "../cmd/parley").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestClocksApart is failure 41: of two processes on one database one's clock is
// ten minutes late and the other's ten minutes early, and nothing changes.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	program, at := skewable(t), shared(t)
	run := func(skew time.Duration) *server {
		return startProgram(t, program, at.beside(t), []string{fmt.Sprintf("TEST_CLOCK_SKEW=%d", int(skew.Seconds()))}, "--lease", shortLease.String())
	}
	late, early := run(-apart), run(apart)
	processes := []*server{late, early}

	// A turn that takes longer than the lease is left where it is.
	posted := begun(t, late.client, slowAnswer)
	if after := settled(t, early.client, posted.Message.SessionID, turnDeadline); after.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", after.Status)
	}
	turns, err := early.client.Turns(t.Context(), posted.Message.SessionID, nil)
	if err != nil || len(turns.Data) != 1 || turns.Data[0].Attempt != 1 {
		t.Errorf("a turn of a live process: %+v, %v; want it run once", turns.Data, err)
	}

	// What is posted here and there is answered in the order of posting, and every
	// time of it is near the true one.
	session := newSession(t, early.client, "sim/echo")
	var want []string
	for i := range 10 {
		word := string(rune('a' + i))
		want = append(want, word)
		if _, err := processes[i%2].client.PostMessage(t.Context(), session.ID, client.UserMessage(word), ""); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, late.client, session.ID, turnDeadline)
	var asked []string
	for _, m := range record(t, late.client, session.ID) {
		if m.Role == parley.RoleUser {
			asked = append(asked, text(t, m))
		}
		if off := time.Since(m.CreatedAt.Std()).Abs(); off > apart/2 {
			t.Errorf("message %d was made %s from now", m.Sequence, off)
		}
	}
	if strings.Join(asked, "") != strings.Join(want, "") {
		t.Errorf("asked in the order %v; want %v", asked, want)
	}
	turns, err = early.client.Turns(t.Context(), session.ID, nil)
	if err != nil || len(turns.Data) != len(want) {
		t.Fatalf("%d turns, %v", len(turns.Data), err)
	}
	for i := 1; i < len(turns.Data); i++ {
		if newer, older := turns.Data[i-1], turns.Data[i]; newer.StartedAt < older.StartedAt {
			t.Errorf("turns are listed newest first, and %s comes before %s", newer.StartedAt, older.StartedAt)
		}
	}

	// And what dies is taken over when its lease ends, no earlier and no later.
	posted = begun(t, early.client, slowAnswer)
	if err := early.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if took := attempts(t, late.client, posted, 2); took > shortLease+apart/20 {
		t.Errorf("it was taken over after %s", took)
	}
	settled(t, late.client, posted.Message.SessionID, turnDeadline)
	whole(t, late.client, posted.Message.SessionID, strings.Repeat("word ", 300))
}
