package e2e

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/client"
)

// TestCopyThereAndBack copies a killed server's data to PostgreSQL, continues there, and
// copies it back into another directory. Each copy is killed several times.
func TestCopyThereAndBack(t *testing.T) {
	t.Parallel()
	home, away, back := place{dir: t.TempDir()}, shared(t), place{dir: t.TempDir()}
	s := startAt(t, home)
	records := map[parley.ID][]parley.Message{}
	for range 5 {
		session := newSession(t, s.client, "sim/echo")
		records[session.ID] = nil
		for range 3 {
			say(t, s, session.ID, "to be kept")
		}
	}
	for id := range records {
		records[id] = record(t, s.client, id)
	}
	copying := []string{"copy", "--from", "sqlite:" + home.dir, "--to", away.database}
	if _, errOut, err := home.parley(
		t,
		copying...); exitCode(err) != 1 ||
		!strings.Contains(errOut, "in use by process") {
		t.Errorf("under a running server: %v %q", err, errOut)
	}
	running := newSession(t, s.client, "sim/script")
	posted, err := s.client.Post(t.Context(), running.ID, client.UserMessage(twoHundredTokens))
	if err != nil {
		t.Fatal(err)
	}
	s.kill() // in the middle of it
	copyWithKills(t, "sqlite:"+home.dir, away.database)
	if out, errOut, err := home.parley(t, copying...); err != nil || !strings.Contains(out, "already complete") {
		t.Errorf("second copy: %v\n%s\n%s", err, out, errOut)
	}
	if _, errOut, err := home.parley(
		t,
		"copy",
		"--from",
		"sqlite:"+home.dir,
		"--to",
		"postgres://u:topsecret@127.0.0.1:1/none",
	); exitCode(err) != 1 ||
		strings.Contains(errOut, "topsecret") {
		t.Errorf("to a database out of reach: %v %q", err, errOut)
	}

	s = startAt(t, away)
	goOn(t, s, records)
	settled(t, s.client, running.ID, turnDeadline)
	records[running.ID] = record(t, s.client, running.ID)
	if first := records[running.ID][0]; first.ID != posted.Message.ID || len(records[running.ID]) < 2 {
		t.Errorf(
			"the turn that ran when the server was killed has %d messages, the first is %s",
			len(records[running.ID]),
			first.ID,
		)
	}
	if _, errOut, err := back.parley(
		t,
		"copy",
		"--from",
		away.database,
		"--to",
		"sqlite:"+back.dir,
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "works on the database") {
		t.Errorf("under a running server: %v %q", err, errOut)
	}
	s.terminate()
	copyWithKills(t, away.database, "sqlite:"+back.dir)
	s = startAt(t, back)
	goOn(t, s, records)
	s.terminate()
}

// say posts a message and waits for the end of its turn.
func say(t *testing.T, s *server, session parley.ID, words string) {
	t.Helper()
	if _, err := s.client.Post(t.Context(), session, client.UserMessage(words)); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, session, turnDeadline)
}

// goOn requires unchanged records, and continues each of them.
func goOn(t *testing.T, s *server, records map[parley.ID][]parley.Message) {
	t.Helper()
	for id, before := range records {
		if diff := cmp.Diff(before, record(t, s.client, id)); diff != "" {
			t.Errorf("session %s (-before +after the copy):\n%s", id, diff)
		}
		say(t, s, id, "go on")
		records[id] = record(t, s.client, id)
	}
}

// copyWithKills runs a copy until it is done: each run is killed a few lines later than the one before. How many of
// them die in the middle depends on the machine (transfer.TestResume dies after every transaction); at least one must.
func copyWithKills(t *testing.T, from, to string) {
	t.Helper()
	killed := 0
	for n := 1; ; n += 1 + n/3 {
		command := exec.CommandContext(t.Context(), binary, "copy", "--from", from, "--to", to)
		command.Env = cleanEnvironment()
		var out bytes.Buffer
		command.Stdout = &out
		stderr, err := command.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		said, copying := "", false
		lines := bufio.NewScanner(stderr)
		for at := 1; lines.Scan(); at++ {
			said += lines.Text() + "\n"
			copying = copying || strings.HasPrefix(lines.Text(), "copying")
			if at == n {
				_ = command.Process.Kill() // it may have ended
			}
		}
		switch err := command.Wait(); {
		case err == nil:
			goesOn := strings.Contains(out.String(), "continuing an interrupted run") ||
				strings.Contains(out.String(), "already complete") // the kill came after its last row
			if killed < 1 || !goesOn {
				t.Errorf("%d copies were killed; the last one said %s", killed, &out)
			}
			return
		case exitCode(err) == -1:
			if copying {
				killed++
			}
		default:
			t.Fatalf("run %d: %v\n%s", n, err, said)
		}
	}
}

// TestCopyToAFullDisk is failure 38: a copy without enough room says so, and can be
// continued once there is room.
func TestCopyToAFullDisk(t *testing.T) {
	t.Parallel()
	small := smallDisk(t, "4m")
	dir := t.TempDir()
	s := start(t, dir)
	session := newSession(t, s.client, "sim/echo")
	for range 6 {
		say(t, s, session.ID, strings.Repeat("many words ", 50_000))
	}
	s.terminate()
	run := func() (string, string, error) {
		return parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", "sqlite:"+filepath.Join(small, "data"))
	}
	if _, errOut, err := run(); exitCode(err) != 1 || !strings.Contains(errOut, "full") {
		t.Fatalf("without room: %v\n%s", err, errOut)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=64m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	if out, errOut, err := run(); err != nil || !strings.Contains(out, "continuing an interrupted run") {
		t.Errorf("with room again: %v\n%s\n%s", err, out, errOut)
	}
}
