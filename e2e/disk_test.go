package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// TestFullDisk is failure 38: writes are refused with 507, reads continue, and once there is
// room again everything works without a restart.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "8m")
	data := filepath.Join(dir, "data")
	s := start(t, data)
	session := newSession(t, s.client, "sim/echo")
	kept, err := s.client.Post(t.Context(), session.ID, client.UserMessage("before"))
	if err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, session.ID, turnDeadline)

	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	refused := false
	for range 200 {
		_, err := s.client.Post(t.Context(), session.ID, client.UserMessage(strings.Repeat("more ", 2000)))
		if parley.ErrorCode(err) == parley.CodeStorageFull {
			refused = true
			break
		}
		if err != nil {
			t.Fatalf("with a full disk: %v", err)
		}
	}
	if !refused {
		t.Fatal("a full disk never refused a message")
	}
	if got := record(t, s.client, session.ID); got[0].ID != kept.Message.ID {
		t.Error("with a full disk the record cannot be read")
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, session.ID, turnDeadline)
	deadline := time.Now().Add(turnDeadline)
	for {
		_, err := s.client.Post(t.Context(), session.ID, client.UserMessage("after"))
		if err == nil {
			break
		}
		if parley.ErrorCode(err) != parley.CodeStorageFull || time.Now().After(deadline) {
			t.Fatalf("with room again: %v", err)
		}
	}
	if after := settled(t, s.client, session.ID, turnDeadline); after.Status != parley.SessionCompleted {
		t.Errorf("with room again the session is %s", after.Status)
	}
	record(t, s.client, session.ID)
	s.terminate()
}

// smallDisk is a directory on a small file system; the test is skipped if none can be
// created.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		if os.Getenv("CI") != "" && os.Getuid() == 0 && !strings.Contains(err.Error(), "not permitted") {
			t.Fatalf("mounting a small tmpfs: %v", err)
		}
		t.Skipf("a small tmpfs cannot be mounted here (%v), so no disk can be filled", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // its only purpose is to take up room
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}
