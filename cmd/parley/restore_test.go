package main

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley/sqlite"
)

// TestAForeignTriggerIsRefused: a backup that makes everybody an admin is not restored,
// and neither verify nor doctor take such a database for sound.
func TestAForeignTriggerIsRefused(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, errOut, code := command(t, "--data", dir, "backup", backup); code != 0 {
		t.Fatalf("backup: %d, %s", code, errOut)
	}
	for _, path := range []string{backup, filepath.Join(dir, sqlite.DatabaseFile)} {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(),
			"CREATE TRIGGER promotes AFTER INSERT ON audit BEGIN UPDATE principals SET role = 'admin'; END")
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	names := `the trigger "promotes" on "audit" was not made by Parley`
	if _, errOut, code := command(
		t,
		"--data",
		elsewhere,
		"restore",
		backup,
	); code != 1 ||
		!strings.Contains(errOut, names) {
		t.Errorf("restore: %d, %s", code, errOut)
	}
	if _, err := os.Lstat(filepath.Join(elsewhere, sqlite.DatabaseFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("restored all the same: %v", err)
	}
	// Without an address the command asks the standard one, where another server may listen.
	if err := os.WriteFile(filepath.Join(dir, urlFile), []byte("http://127.0.0.1:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := command(t, "--data", dir, "verify"); code != 1 || !strings.Contains(errOut, names) {
		t.Errorf("verify: %d, %s", code, errOut)
	}
	if out, _, code := command(
		t,
		"--data",
		dir,
		"--url",
		"http://127.0.0.1:1",
		"doctor",
	); code == 0 ||
		!strings.Contains(out, names) {
		t.Errorf("doctor: %d, %s", code, out)
	}
}
