package sqlite_test

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/sqlite"
)

// TestAbandonedUploadsAreDeleted: the upload of a dead process is deleted once it has not grown for parley.UploadGrace,
// and not before.
func TestAbandonedUploadsAreDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age    parley.Time // since it last grew
		chunks int         // expected to be left
	}{
		"still growing": {parley.UploadGrace / 2, 20},
		"abandoned":     {parley.UploadGrace, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			aged := func(run func(*sqlite.Store)) {
				t.Helper()
				store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				run(store)
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
			aged(func(store *sqlite.Store) {
				workspace, err := store.Workspace(t.Context(), "default")
				if err != nil {
					t.Fatal(err)
				}
				blob := parley.NewID()
				for n := range 20 { // more than one batch of its deletion
					if err := store.AppendUpload(
						t.Context(),
						workspace,
						blob,
						n,
						bytes.Repeat([]byte{'x'}, 10),
					); err != nil {
						t.Fatal(err)
					}
				}
			})
			file, err := sql.Open("sqlite", filepath.Join(dir, sqlite.DatabaseFile))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = file.Close() }()
			if _, err := file.Exec(
				"UPDATE blobs SET touched_at = touched_at - ?; UPDATE outbox SET due_at = 0",
				int64(c.age),
			); err != nil {
				t.Fatal(err)
			}
			aged(func(store *sqlite.Store) {
				for more := true; more; {
					var err error
					if _, more, err = store.ApplyOutbox(t.Context(), parley.ID{}); err != nil {
						t.Fatal(err)
					}
				}
			})
			var chunks, blobs, errands int
			if err := file.QueryRow("SELECT (SELECT count(*) FROM blob_chunks), (SELECT count(*) "+
				"FROM blobs), (SELECT count(*) FROM outbox)").
				Scan(&chunks, &blobs, &errands); err != nil {
				t.Fatal(err)
			}
			if left := min(c.chunks, 1); chunks != c.chunks || blobs != left || errands != left {
				t.Errorf(
					"%d chunks, %d blobs and %d errands are left; want %d, %d, %d",
					chunks,
					blobs,
					errands,
					c.chunks,
					left,
					left,
				)
			}
		})
	}
}
