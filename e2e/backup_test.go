package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley/client"
)

// TestBackup backs up a working server, restores the copy elsewhere, and continues there.
func TestBackup(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	s := start(t, dir)
	quiet := newSession(t, s.client, "sim/echo")
	if _, err := s.client.Post(t.Context(), quiet.ID, client.UserMessage("kept")); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, quiet.ID, turnDeadline)
	before := record(t, s.client, quiet.ID)

	busy := newSession(t, s.client, "sim/echo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	posting := make(chan error, 1)
	go func() { // ended by cancel
		poster := s.connect()
		for {
			if _, err := poster.PostMessage(ctx, busy.ID, client.UserMessage("more")); err != nil {
				posting <- err
				return
			}
		}
	}()
	file := filepath.Join(elsewhere, "backup.db")
	out, errOut, err := parleyCommand(t, dir, "backup", file, "--json")
	var contents struct{ Sessions, Messages int64 }
	if err != nil || json.Unmarshal([]byte(out), &contents) != nil || contents.Sessions != 2 || contents.Messages < 2 {
		t.Fatalf("backup beside a running server: %v, %q\n%s", err, out, errOut)
	}
	if _, errOut, err := parleyCommand(
		t,
		dir,
		"backup",
		file,
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "overwrites nothing") {
		t.Errorf("over a file: %v %q", err, errOut)
	}
	if _, errOut, err := parleyCommand(
		t,
		dir,
		"restore",
		file,
		"--replace",
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "in use by process") {
		t.Errorf("under a running server: %v %q", err, errOut)
	}
	for _, args := range [][]string{{"backup", filepath.Join(elsewhere, "none.db")}, {"restore", file}} {
		if _, errOut, err := parleyCommand(
			t,
			dir,
			append(args, "--database-url", "postgres://elsewhere/parley")...); exitCode(err) != 1 ||
			!strings.Contains(errOut, "pg_dump") {
			t.Errorf("%s with the data in PostgreSQL: %v %q", args[0], err, errOut)
		}
	}
	cancel()
	if err := <-posting; !errors.Is(err, context.Canceled) {
		t.Errorf("posting during the backup: %v", err)
	}

	// A backup includes what a killed server left in its log.
	s.kill()
	streamed := exec.Command(binary, "--data", dir, "backup", "-")
	streamed.Env = append(cleanEnvironment(), "TMPDIR="+t.TempDir())
	var errText bytes.Buffer
	streamed.Stderr = &errText
	raw, err := streamed.Output()
	if err != nil || !bytes.HasPrefix(raw, []byte("SQLite format 3\x00")) {
		t.Fatalf("to standard output: %v, %d bytes\n%s", err, len(raw), &errText)
	}
	after := filepath.Join(elsewhere, "after.db")
	if err := os.WriteFile(after, raw, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, backup := range []string{file, after} {
		restored := filepath.Join(t.TempDir(), "data")
		if _, errOut, err := parleyCommand(t, restored, "restore", backup); err != nil {
			t.Fatalf("restore %s: %v\n%s", backup, err, errOut)
		}
		if _, errOut, err := parleyCommand(
			t,
			restored,
			"restore",
			backup,
		); exitCode(err) != 1 ||
			!strings.Contains(errOut, "--replace") {
			t.Errorf("over a database: %v %q", err, errOut)
		}
		other := start(t, restored)
		if diff := cmp.Diff(before, record(t, other.client, quiet.ID)); diff != "" {
			t.Errorf("the record differs (-source +restored):\n%s", diff)
		}
		settled(t, other.client, busy.ID, turnDeadline)
		record(t, other.client, busy.ID)
		if _, err := other.client.Post(t.Context(), quiet.ID, client.UserMessage("go on")); err != nil {
			t.Fatal(err)
		}
		settled(t, other.client, quiet.ID, turnDeadline)
		other.terminate()
	}
}

// TestBackupToAFullDisk is failure 38: a backup without enough room says so and leaves
// nothing behind.
func TestBackupToAFullDisk(t *testing.T) {
	t.Parallel()
	small := smallDisk(t, "128k")
	dir := t.TempDir()
	s := start(t, dir)
	session := newSession(t, s.client, "sim/echo")
	file := filepath.Join(small, "backup.db")
	_, errOut, err := parleyCommand(t, dir, "backup", file)
	if exitCode(err) != 1 || !strings.Contains(errOut, "there is no room") {
		t.Errorf("got %v, %q", err, errOut)
	}
	if entries, err := os.ReadDir(small); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("go on")); err != nil {
		t.Errorf("the server: %v", err)
	}
	settled(t, s.client, session.ID, turnDeadline)
	s.terminate()
	whole := filepath.Join(t.TempDir(), "backup.db")
	if _, errOut, err := parleyCommand(t, dir, "backup", whole); err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	target := filepath.Join(small, "data")
	if _, errOut, err = parleyCommand(
		t,
		target,
		"restore",
		whole,
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "there is no room") {
		t.Errorf("restoring: %v, %q", err, errOut)
	}
	if entries, err := os.ReadDir(target); err != nil || len(entries) != 1 || entries[0].Name() != "parley.lock" {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestKilledBackup: whenever a backup is killed, its file either does not exist or is
// complete, and leftovers do not prevent the next backup.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir)
	session := newSession(t, s.client, "sim/echo")
	if _, err := s.client.Post(
		t.Context(),
		session.ID,
		client.UserMessage(strings.Repeat("words ", 50_000)),
	); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, session.ID, turnDeadline)
	killed := 0
	for range 8 {
		place := t.TempDir()
		file := filepath.Join(place, "backup.db")
		command := exec.CommandContext(t.Context(), binary, "--data", dir, "backup", file)
		command.Env = cleanEnvironment()
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(startDeadline); ; { // until a file appears
			if entries, err := os.ReadDir(place); err != nil || len(entries) > 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the backup never began")
			}
		}
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()         // the directory shows how it ended
		if _, err := os.Stat(file); err != nil {
			killed++
			if _, errOut, err := parleyCommand(t, dir, "backup", file); err != nil {
				t.Fatalf("the backup after the killed one: %v\n%s", err, errOut)
			}
		}
		if _, errOut, err := parleyCommand(t, filepath.Join(place, "data"), "restore", file); err != nil {
			t.Errorf("%v\n%s", err, errOut)
		}
	}
	if killed == 0 {
		t.Error("no backup was killed while it ran")
	}
	s.terminate()
}
