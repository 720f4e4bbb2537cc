package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
)

// BenchmarkTurn runs one plain turn of three transactions, with the disk (durable) and without it (memory), from one
// caller and from 64. cpu-µs/op is the use of the whole process.
func BenchmarkTurn(b *testing.B) {
	text := strings.Repeat("word ", 200)
	for _, mode := range []struct {
		name    string
		callers int
		durable bool
	}{{"durable1", 1, true}, {"durable64", 64, true}, {"memory1", 1, false}, {"memory64", 64, false}} {
		b.Run(mode.name, func(b *testing.B) {
			w := newWorld(b, Options{})
			if !mode.durable {
				w.pragma("PRAGMA synchronous = OFF")
			}
			sessions := make([]parley.ID, 64)
			for i := range sessions {
				sessions[i] = w.session(nil).ID
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(b)
			var wait sync.WaitGroup
			for caller := range mode.callers {
				wait.Go(func() {
					for i := caller; i < b.N; i += mode.callers {
						w.plainTurn(sessions[i%len(sessions)], text)
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// processorTime returns the processor time that this process has used.
func processorTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkAppend compares durable appends by 64 writers with the disk's own
// single-writer commits.
func BenchmarkAppend(b *testing.B) {
	b.Run("store64", func(b *testing.B) {
		w := newWorld(b, Options{})
		sessions := make([]parley.ID, 64)
		for i := range sessions {
			sessions[i] = w.session(nil).ID
		}
		b.ResetTimer()
		var wait sync.WaitGroup
		for i := range sessions {
			wait.Go(func() {
				for range b.N / len(sessions) {
					alone := w.said("hello")
					alone.TurnID = parley.ID{}
					w.post(sessions[i], alone, parley.ID{})
				}
			})
		}
		wait.Wait()
	})
	b.Run("single", func(b *testing.B) {
		db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "plain.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		}()
		db.SetMaxOpenConns(1)
		for _, text := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
			"CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)"} {
			if _, err := db.Exec(text); err != nil {
				b.Fatal(err)
			}
		}
		b.ResetTimer()
		for range b.N {
			if _, err := db.Exec("INSERT INTO t (text) VALUES ('hello')"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// pragma runs a statement on the writer's connection, outside a transaction.
func (w *world) pragma(text string) {
	w.t.Helper()
	err := w.store.write(context.Background(), func(tx *txn) error {
		if _, err := tx.run("ROLLBACK"); err != nil {
			return err
		}
		if err := tx.each(text, func(*row) error { return nil }); err != nil {
			return err
		}
		_, err := tx.run("BEGIN IMMEDIATE")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// BenchmarkOpen starts on an existing directory, and on a new one.
func BenchmarkOpen(b *testing.B) {
	for _, again := range []string{"existing", "new"} {
		b.Run(again, func(b *testing.B) {
			dir := b.TempDir()
			for i := range b.N {
				if again == "new" {
					dir = filepath.Join(dir, "next")
				}
				store, err := Open(context.Background(), dir, Options{})
				if err != nil {
					b.Fatal(i, err)
				}
				if err := store.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
