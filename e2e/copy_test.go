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

	"parley"
	"parley/client"
	"parley/internal/pgtest"
)

// postgresCluster is a cluster of the test's own with an empty database, parley.
func postgresCluster(t *testing.T) *pgtest.Cluster {
	t.Helper()
	cluster, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(t.Context(), pgtest.Superuser, "postgres", "CREATE DATABASE parley OWNER "+pgtest.Owner); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// TestCopyThereAndBack moves a killed server's data to PostgreSQL and back into
// another directory, killing each copy several times, and goes on there.
func TestCopyThereAndBack(t *testing.T) {
	t.Parallel()
	dir, back, postgres := t.TempDir(), t.TempDir(), postgresCluster(t).URL(pgtest.Owner, "parley")
	s := start(t, dir)
	records := map[parley.ID][]parley.Message{}
	for range 5 {
		session := newSession(t, s.client, "sim/echo")
		for range 3 {
			if _, err := s.client.PostMessage(t.Context(), session.ID, client.UserMessage("to be kept"), ""); err != nil {
				t.Fatal(err)
			}
			settled(t, s.client, session.ID, turnDeadline)
		}
		records[session.ID] = record(t, s.client, session.ID)
	}
	if _, errOut, err := parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", postgres); exitCode(err) != 1 || !strings.Contains(errOut, "in use by process") {
		t.Errorf("under a running server: %v %q", err, errOut)
	}
	s.kill()
	copyWithKills(t, "sqlite:"+dir, postgres)
	if out, errOut, err := parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", postgres); err != nil || !strings.Contains(out, "made before") {
		t.Errorf("copied again: %v\n%s\n%s", err, out, errOut)
	}
	if _, errOut, err := parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", "postgres://u:topsecret@127.0.0.1:1/none"); exitCode(err) != 1 || strings.Contains(errOut, "topsecret") {
		t.Errorf("to a database out of reach: %v %q", err, errOut)
	}
	copyWithKills(t, postgres, "sqlite:"+back)

	s = start(t, back)
	for id, before := range records {
		if diff := cmp.Diff(before, record(t, s.client, id)); diff != "" {
			t.Errorf("session %s (-before +after two copies):\n%s", id, diff)
		}
		if _, err := s.client.PostMessage(t.Context(), id, client.UserMessage("go on"), ""); err != nil {
			t.Fatal(err)
		}
		settled(t, s.client, id, turnDeadline)
	}
	s.terminate()
}

// copyWithKills runs a copy until it is done: the nth run is killed at its nth
// line.
func copyWithKills(t *testing.T, from, to string) {
	t.Helper()
	killed := 0
	for n := 1; ; n++ {
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
			if killed < 3 || !strings.Contains(out.String(), "an earlier run") {
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

// TestCopyToAFullDisk is failure 38: a copy for which there is no room says so,
// and goes on when there is.
func TestCopyToAFullDisk(t *testing.T) {
	t.Parallel()
	small := smallDisk(t, "4m")
	dir := t.TempDir()
	s := start(t, dir)
	session := newSession(t, s.client, "sim/echo")
	for range 6 {
		if _, err := s.client.PostMessage(t.Context(), session.ID, client.UserMessage(strings.Repeat("many words ", 50_000)), ""); err != nil {
			t.Fatal(err)
		}
		settled(t, s.client, session.ID, turnDeadline)
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
	if out, errOut, err := run(); err != nil || !strings.Contains(out, "an earlier run") {
		t.Errorf("with room again: %v\n%s\n%s", err, out, errOut)
	}
}
