package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestLockHoldsWithoutTheLockFile: a removed or replaced lock file is recreated, and meanwhile the
// directory's own lock holds.
func TestLockHoldsWithoutTheLockFile(t *testing.T) {
	w := newWorld(t, Options{})
	lock := filepath.Join(w.dir, LockFile)
	for name, change := range map[string]func() error{
		"removed": func() error { return os.Remove(lock) },
		"replaced": func() error {
			if err := os.WriteFile(lock+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(lock+".new", lock)
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if second, err := Open(context.Background(), w.dir, Options{}); parley.ErrorCode(err) != parley.CodeConflict {
			t.Fatalf("%s: a second store opened: %v, %v", name, second, err)
		}
		w.store.lookAtFiles()
		held, err := w.store.lock.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		now, err := os.Stat(lock)
		if err != nil || !os.SameFile(held, now) {
			t.Errorf("%s: the lock file is not the store's: %v", name, err)
		}
		if d := w.store.Stats().Damage; d != nil {
			t.Errorf("%s: noted as damage: %s", name, d.Says)
		}
	}
}

// TestForeignLockFileIsDamage: a lock file that an older program, which does not know the directory's lock, holds
// meanwhile is recorded as damage.
func TestForeignLockFileIsDamage(t *testing.T) {
	w := newWorld(t, Options{})
	if err := os.Remove(filepath.Join(w.dir, LockFile)); err != nil {
		t.Fatal(err)
	}
	other, err := lockFile(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w.store.lookAtFiles()
	if w.store.Stats().Damage == nil {
		t.Error("no damage was noted")
	}
}

func TestAnotherDatabaseFileIsNoted(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.store.lookAtFiles()
			if d := w.store.Stats().Damage; d != nil {
				t.Fatalf("damage noted too early: %s", d.Says)
			}
			if err := change(filepath.Join(w.dir, DatabaseFile)); err != nil {
				t.Fatal(err)
			}
			w.store.lookAtFiles()
			if w.store.Stats().Damage == nil {
				t.Error("no damage was noted")
			}
		})
	}
}

// again reopens the store, so that its pages are in the database rather than the log, and no connection has read them.
func (w *world) again() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open(Options{})
}

// damage overwrites a page in the middle of a table's tree.
func (w *world) damage(table string) {
	w.t.Helper()
	var page, size int64
	if err := w.store.write(context.Background(), func(tx *txn) error {
		if _, err := tx.one("SELECT rootpage FROM sqlite_schema WHERE name = ?", func(r *row) error {
			page = r.int64()
			return nil
		}, table); err != nil {
			return err
		}
		_, err := tx.one("PRAGMA page_size", func(r *row) error {
			size = r.int64()
			return nil
		})
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(w.dir, DatabaseFile), os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	noise := make([]byte, size)
	for i := range noise {
		noise[i] = 0xa5
	}
	if _, err := file.WriteAt(noise, (page-1)*size); err != nil {
		w.t.Fatal(err)
	}
}

// TestDamagedPageIsNoticed: the check of a table notices a damaged page while the store serves, and probes
// report it from then on.
func TestDamagedPageIsNoticed(t *testing.T) {
	w := newWorld(t, Options{})
	w.plainTurn(w.session(nil).ID, "the answer")
	w.again()
	look := func() (found []parley.Finding) {
		t.Helper()
		for table := ""; ; {
			next, findings, err := w.store.CheckPages(context.Background(), table)
			if err != nil {
				t.Fatal(err)
			}
			if found = append(found, findings...); next == "" {
				return found
			}
			table = next
		}
	}
	if found := look(); len(found) > 0 || w.store.Stats().Damage != nil {
		t.Fatalf("before: %+v", found)
	}
	w.damage("turns")
	if found := look(); len(found) == 0 {
		t.Error("no damage was found")
	}
	if w.store.Stats().Damage == nil {
		t.Error("no damage was noted")
	}
}

// TestFailedReadMarksTheStore: a failing read records damage without any check.
func TestFailedReadMarksTheStore(t *testing.T) {
	w := newWorld(t, Options{})
	session := w.session(nil).ID
	w.plainTurn(session, "the answer")
	w.again()
	w.damage("turns")
	_, err := w.store.Turns(context.Background(), w.scope, session, store.TurnQuery{Limit: 10})
	if parley.ErrorCode(err) != parley.CodeUnavailable {
		t.Errorf("reading a damaged page: %v", err)
	}
	if w.store.Stats().Damage == nil {
		t.Error("no damage was noted")
	}
}
