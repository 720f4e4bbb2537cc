package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/store/storetest"
)

// backedUp returns a backup of a world.
func (w *world) backedUp() string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "backup.db")
	if _, err := Backup(context.Background(), w.dir, file, nil); err != nil {
		w.t.Fatal(err)
	}
	return file
}

func (w *world) snapshot(session parley.ID) storetest.Snapshot {
	w.t.Helper()
	s, err := storetest.TakeSnapshot(context.Background(), w.store, w.scope, session)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// onlyFiles fails unless a directory contains exactly the named files.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	if diff := cmp.Diff(names, found); diff != "" {
		t.Errorf("files in %s (-want +got):\n%s", dir, diff)
	}
}

// TestBackupWhileWriting: a backup of a store under load is a single snapshot and stands alone.
func TestBackupWhileWriting(t *testing.T) {
	w := newWorld(t, Options{})
	quiet := w.session(nil).ID
	w.plainTurn(quiet, "the answer")
	before := w.snapshot(quiet)
	busy := w.session(nil).ID
	started, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // ends after the backup
		for n := 0; ; n++ {
			alone := w.said(strings.Repeat("words ", 500))
			alone.TurnID = parley.ID{}
			if _, err := w.store.PostMessage(context.Background(), w.scope, busy, alone, parley.ID{}); err != nil {
				stopped <- err
				return
			}
			if n == 20 {
				close(started)
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	bounded.Receive(t, started, "the first write")
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	pages := 0
	contents, err := Backup(context.Background(), w.dir, file, func(done, total int) { pages = total })
	close(stop)
	if err := bounded.Receive(t, stopped, "the writer to stop"); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if contents.Sessions != 2 || contents.Messages < 20 || contents.Workspaces != 1 || contents.Schema == 0 ||
		contents.Bytes == 0 ||
		pages == 0 {
		t.Errorf("the backup holds %+v in %d pages", contents, pages)
	}
	onlyFiles(t, dir, "backup.db")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup's mode is %v, %v", info.Mode(), err)
	}

	other := &world{t: t, dir: t.TempDir(), scope: w.scope}
	restored, err := Restore(context.Background(), file, other.dir, RestoreOptions{})
	if err != nil || restored.Contents != contents || restored.Kept != "" {
		t.Fatalf("restored %+v, %v; backed up %+v", restored, err, contents)
	}
	other.open(Options{})
	other.invariants()
	if diff := cmp.Diff(before, other.snapshot(quiet)); diff != "" {
		t.Errorf("the session differs (-source +restored):\n%s", diff)
	}
}

// TestBackupOverwritesNothing: a backup overwrites neither an existing file nor one created meanwhile.
func TestBackupOverwritesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.db")
	for _, when := range []string{"before", "meanwhile"} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		write := func(int, int) {
			if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var progress Progress
		if when == "before" {
			write(0, 0)
		} else {
			progress = write
		}
		if _, err := Backup(context.Background(), w.dir, file, progress); parley.ErrorCode(err) != parley.CodeConflict {
			t.Errorf("with a file %s: %v", when, err)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != "mine" {
			t.Errorf("the file created %s is now %q, %v", when, parley.Clip(string(raw), 40), err)
		}
		onlyFiles(t, dir, "backup.db")
	}
	if _, err := Backup(
		context.Background(),
		t.TempDir(),
		filepath.Join(dir, "none.db"),
		nil,
	); parley.ErrorCode(
		err,
	) != parley.CodeNotFound {
		t.Errorf("of an empty directory: %v", err)
	}
}

// TestBackupStops: a cancelled backup leaves nothing.
func TestBackupStops(t *testing.T) {
	w := newWorld(t, Options{})
	filled(t, w.store, 20_000)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := Backup(ctx, w.dir, filepath.Join(dir, "backup.db"), func(int, int) { cancel() }); err == nil {
		t.Error("a cancelled backup went on")
	}
	onlyFiles(t, dir)
}

// TestBackupFindsDamage: a database that contradicts itself yields no backup.
func TestBackupFindsDamage(t *testing.T) {
	for name, statement := range map[string]string{
		"a content":        `UPDATE messages SET content = replace(content, 'answer', 'lie') WHERE role = 'assistant'`,
		"a hash":           `UPDATE messages SET content_hash = zeroblob(32) WHERE role = 'assistant'`,
		"a gap":            `DELETE FROM messages WHERE role = 'user'`,
		"a lost end":       `DELETE FROM messages WHERE role = 'assistant'`,
		"a lost record":    `DELETE FROM messages`,
		"a head":           `UPDATE heads SET last_hash = zeroblob(32)`,
		"provider data":    `UPDATE messages SET provider_data = x'00' WHERE role = 'assistant'`,
		"an author's kind": `UPDATE messages SET author_kind = 'person' WHERE role = 'assistant'`,
		"an author's name": `UPDATE messages SET author_name = 'Eve' WHERE role = 'user'`,
		"a model":          `UPDATE messages SET model = 'sim/other' WHERE role = 'assistant'`,
		"a time":           `UPDATE messages SET created_at = created_at + 1 WHERE role = 'user'`,
		"metadata":         `UPDATE messages SET metadata = '{"cost":0}' WHERE role = 'assistant'`,
		"a chain version":  `UPDATE messages SET chain_version = 1 WHERE role = 'user'`,
		"an unknown chain": `UPDATE messages SET chain_version = 9 WHERE role = 'user'`,
		"a newer schema":   `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`,
		"no schema":        `DELETE FROM goose_db_version WHERE version_id > 0`,
		"another database": `DROP TABLE goose_db_version`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.plainTurn(w.session(nil).ID, "the answer")
			if err := w.store.write(context.Background(), func(tx *txn) error {
				_, err := tx.exec(statement)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			_, err := Backup(context.Background(), w.dir, filepath.Join(dir, "backup.db"), nil)
			if parley.ErrorCode(err) != parley.CodeUnavailable {
				t.Errorf("got %v", err)
			}
			onlyFiles(t, dir)
		})
	}
}

// TestDamagedBackup: a backup with changed bytes is refused before the existing database is touched.
func TestDamagedBackup(t *testing.T) {
	w := newWorld(t, Options{})
	_, session := filled(t, w.store, 50)
	if err := w.store.write(context.Background(), func(tx *txn) error {
		_, err := tx.exec("DELETE FROM messages")
		if err == nil {
			_, err = tx.exec("UPDATE heads SET next_sequence = 1 WHERE session_id = ?", session)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	w.plainTurn(w.session(nil).ID, strings.Repeat("a long answer ", 2000))
	whole, err := os.ReadFile(w.backedUp())
	if err != nil {
		t.Fatal(err)
	}
	garbled := bytes.Clone(whole)
	for at := 2 * 4096; at < len(garbled); at += 4096 { // every page except the schema's
		copy(garbled[at:], "??????????????????")
	}
	for name, raw := range map[string][]byte{
		"garbled pages": garbled, "cut off": whole[:len(whole)/2],
		"no database": []byte(strings.Repeat("no database. ", 1000)), "empty": nil,
	} {
		file := filepath.Join(t.TempDir(), "backup.db")
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		other := newWorld(t, Options{})
		if err := other.store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(
			context.Background(),
			file,
			other.dir,
			RestoreOptions{Replace: true},
		); parley.ErrorCode(err) != parley.CodeUnavailable ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		onlyFiles(t, other.dir, DatabaseFile, LockFile)
		other.open(Options{})
		other.invariants()
	}
}

// TestRestoreRefuses: Restore refuses a directory in use, and one with a database.
func TestRestoreRefuses(t *testing.T) {
	w := newWorld(t, Options{})
	file := w.backedUp()
	_, err := Restore(context.Background(), file, w.dir, RestoreOptions{Replace: true})
	if parley.ErrorCode(err) != parley.CodeConflict ||
		!strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("into a directory in use: %v", err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(
		context.Background(),
		file,
		w.dir,
		RestoreOptions{},
	); parley.ErrorCode(err) != parley.CodeConflict ||
		!strings.Contains(err.Error(), "--replace") {
		t.Errorf("over a database: %v", err)
	}
	if _, err := Restore(
		context.Background(),
		filepath.Join(w.dir, "none"),
		t.TempDir(),
		RestoreOptions{},
	); parley.ErrorCode(
		err,
	) != parley.CodeNotFound {
		t.Errorf("without a backup: %v", err)
	}
}

// crashed returns a directory as kill -9 leaves it: a database whose newest transactions are only in the log.
func crashed(t *testing.T, w *world) string {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(filepath.Join(w.dir, DatabaseFile+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, DatabaseFile+suffix), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRestoreOverALog: the log of a killed server is neither lost nor applied to the new database.
func TestRestoreOverALog(t *testing.T) {
	w := newWorld(t, Options{})
	first := w.session(nil).ID
	w.plainTurn(first, "one")
	file, backedUp := w.backedUp(), w.snapshot(first)
	second := w.session(nil).ID
	w.plainTurn(second, "two")
	later := w.snapshot(second)
	for _, damaged := range []bool{false, true} {
		t.Run(fmt.Sprint("damaged ", damaged), func(t *testing.T) {
			other := &world{t: t, dir: crashed(t, w), scope: w.scope}
			if damaged {
				for _, suffix := range []string{"", "-wal"} {
					if err := os.WriteFile(
						filepath.Join(other.dir, DatabaseFile+suffix),
						[]byte(strings.Repeat("no database. ", 1000)),
						0o600,
					); err != nil {
						t.Fatal(err)
					}
				}
			}
			restored, err := Restore(context.Background(), file, other.dir, RestoreOptions{Replace: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(other.dir, DatabaseFile+"-wal")); err == nil {
				t.Error("the old log lies beside the new database")
			}
			kept := &world{t: t, dir: t.TempDir(), scope: w.scope}
			if err := os.Link(restored.Kept, filepath.Join(kept.dir, DatabaseFile)); err != nil {
				t.Fatal(err)
			}
			other.open(Options{})
			other.invariants()
			if diff := cmp.Diff(backedUp, other.snapshot(first)); diff != "" {
				t.Errorf("restored (-backup +got):\n%s", diff)
			}
			if _, err := other.store.Session(
				context.Background(),
				w.scope,
				second,
			); parley.ErrorCode(
				err,
			) != parley.CodeNotFound {
				t.Errorf("a session of the replaced database is still there: %v", err)
			}
			if damaged {
				return
			}
			kept.open(Options{})
			if diff := cmp.Diff(later, kept.snapshot(second)); diff != "" {
				t.Errorf("kept (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRestoreThatDied: if Restore is killed before the last rename, the old database is intact.
func TestRestoreThatDied(t *testing.T) {
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	w.plainTurn(session, "one")
	before := w.snapshot(session)
	other := &world{t: t, dir: crashed(t, w), scope: w.scope}
	if _, err := setAside(context.Background(), filepath.Join(other.dir, DatabaseFile), true); err != nil {
		t.Fatal(err)
	}
	other.open(Options{})
	if diff := cmp.Diff(before, other.snapshot(session)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestBackupBlocksNobody: while another process reads a snapshot the log cannot be emptied; the writer notices without
// waiting.
func TestBackupBlocksNobody(t *testing.T) {
	w := newWorld(t, Options{})
	backup, err := openConn(context.Background(), dsn(filepath.Join(w.dir, DatabaseFile))+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"BEGIN", "SELECT 1 FROM workspaces"} {
		if _, err := backup.has(query); err != nil {
			t.Fatal(err)
		}
	}
	w.plainTurn(w.session(nil).ID, "one")
	own, err := w.store.connect(context.Background(), readCacheKiB)
	if err != nil {
		t.Fatal(err)
	}
	writer := newWriter(w.store, own, nil) // the test itself is its goroutine
	start := time.Now()
	if writer.truncateLog() {
		t.Error("the log was emptied under a snapshot")
	}
	if waited := time.Since(start); waited > busyTimeoutMS*time.Millisecond/2 {
		t.Errorf("the writer waited %s", waited)
	}
	if err := backup.close(); err != nil {
		t.Fatal(err)
	}
	if !writer.truncateLog() {
		t.Error("the log was not emptied after the backup")
	}
	if err := own.close(); err != nil {
		t.Fatal(err)
	}
}
