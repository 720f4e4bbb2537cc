// Package sqlitetest gives tests new SQLite databases for a tenth of the processor time that their schema takes: each
// is a copy of one that the test's process made before.
package sqlitetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.org/parley/sqlite"
)

// made is the file of an empty database, as sqlite.Open leaves it.
var made = sync.OnceValues(func() (file []byte, err error) { //nolint:gochecknoglobals // made once in each process
	dir, err := os.MkdirTemp("", "parley-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, sqlite.DatabaseFile)
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sqlitetest: the closed database has a log, and a copy would miss it (%w)", err)
	}
	return os.ReadFile(path) //nolint:gosec // made above
})

// Dir returns a temporary directory with an empty database, which the test opens itself.
func Dir(tb testing.TB) string {
	tb.Helper()
	file, err := made()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqlite.DatabaseFile), file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}
