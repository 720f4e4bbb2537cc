package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/parley"
)

// unreadable returns SQLite's error for a disk that fails to read bytes.
func unreadable(t *testing.T) error {
	t.Helper()
	_, err := openConn(context.Background(), "file:/proc/self/mem?mode=ro")
	if !isReadError(err) {
		t.Fatalf("no read error, but %v", err)
	}
	return err
}

// TestOneFailedReadIsNotDamage: a disk may fail once, but a repeated failure marks the store.
func TestOneFailedReadIsNotDamage(t *testing.T) {
	w := newWorld(t, Options{})
	blip := unreadable(t)
	tries, failures := 0, 1
	read := func() error {
		tries = 0
		return w.store.read(context.Background(), func(*conn) error {
			if tries++; tries <= failures {
				return blip
			}
			return nil
		})
	}
	if err := read(); err == nil || tries != 2 {
		t.Errorf("a failed read returned %v after %d tries", err, tries)
	}
	if d := w.store.Stats().Damage; d != nil {
		t.Fatalf("one failure is noted as damage: %s", d.Says)
	}
	if failures = 2; read() == nil || w.store.Stats().Damage == nil {
		t.Error("a read that fails again is not noted")
	}
}

func TestOneFailedWriteIsNoDamage(t *testing.T) {
	w := newWorld(t, Options{})
	blip := unreadable(t)
	write := func(err error) {
		t.Helper()
		if got := w.store.write(context.Background(), func(*txn) error { return err }); !errors.Is(got, err) {
			t.Fatalf("the write returned %v", got)
		}
	}
	write(blip)
	write(nil)
	write(blip)
	if d := w.store.Stats().Damage; d != nil {
		t.Fatalf("single failures are noted as damage: %s", d.Says)
	}
	write(blip)
	if w.store.Stats().Damage == nil {
		t.Error("two failures in a row are not noted")
	}
}

// TestALongStatementEndsWithItsContext covers the check of a table, too.
func TestALongStatementEndsWithItsContext(t *testing.T) {
	w := newWorld(t, Options{})
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- w.store.read(context.Background(), func(c *conn) error {
			return c.eachUntil(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) "+
				"FROM n", func(*row) error {
				return nil
			})
		})
	}()
	select {
	case err := <-ended:
		if err == nil || parley.ErrorCode(err) == parley.CodeStorageFull {
			t.Errorf("an endless statement returned %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the statement did not stop")
	}
}
