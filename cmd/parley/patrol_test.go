package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// heavy is a store with a table whose check takes until somebody ends it.
type heavy struct {
	store.Verifiable
	table   string
	checked chan string // the tables that were looked at; nobody may wait for it
}

func (h heavy) CheckPages(ctx context.Context, after string) (string, []parley.Finding, error) {
	table, findings, err := h.Verifiable.CheckPages(ctx, after)
	select {
	case h.checked <- table:
	default:
	}
	if err == nil && (table == h.table || h.table == "") {
		<-ctx.Done()
		return table, nil, ctx.Err()
	}
	return table, findings, err
}

func heavyStore(t *testing.T, table string) heavy {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return heavy{store, table, make(chan string, 1)}
}

// TestAPatrolStopsWithinAStep: a server that stops does not wait for the check of a
// large table.
func TestAPatrolStopsWithinAStep(t *testing.T) {
	store := heavyStore(t, "")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		patrol(stop, store, slog.New(slog.DiscardHandler))
	}()
	bound := time.After(patrolTable - 5*time.Second) // it would end by itself then
	select {
	case <-store.checked:
	case <-bound:
		t.Fatal("the patrol does not begin")
	}
	close(stop)
	select {
	case <-ended:
	case <-bound:
		t.Fatal("the patrol goes on though the server stops")
	}
}

// TestATableThatCannotBeCheckedInTimeIsPassedOver: it is said, and the stages behind
// the pages are reached.
func TestATableThatCannotBeCheckedInTimeIsPassedOver(t *testing.T) {
	store := heavyStore(t, "heads")
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	within := passing{Verifiable: store, table: 200 * time.Millisecond, log: log}
	place, met := parley.VerifyPlace{}, false
	for range 1000 {
		next, pause := patrolOne(t.Context(), within, place, log)
		if pause == patrolRest {
			if !met || !strings.Contains(out.String(), "table=heads") {
				t.Errorf("the table is not said to be passed over: %s", out.String())
			}
			return
		}
		met = met || next.Stage == parley.VerifyPages && next.Table == "heads"
		place = next
	}
	t.Fatalf("the round comes to no end: %+v\n%s", place, out.String())
}
