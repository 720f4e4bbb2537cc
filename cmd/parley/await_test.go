package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
)

// heard is closed when a text is first logged.
type heard struct {
	text string
	seen chan struct{}
}

func (s *heard) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.text) {
		select {
		case <-s.seen:
		default:
			close(s.seen)
		}
	}
	return len(p), nil
}

func waiting(url string, patience time.Duration, log io.Writer) *server {
	return &server{
		settings: settings{DatabaseURL: url, DatabaseWait: duration(patience)},
		log:      slog.New(slog.NewTextHandler(log, nil)),
	}
}

// TestAStartWaitsForPostgreSQL: while nobody answers it says so; when somebody does, it
// goes on.
func TestAStartWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, stop := context.WithTimeout(t.Context(), 2*turnTime)
	defer stop()
	if err := cluster.Run(ctx, pgtest.Superuser, "postgres", "CREATE DATABASE late OWNER "+pgtest.Owner); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	url := cluster.URL(pgtest.Owner, "late")
	if store, err := waiting(
		url,
		10*time.Millisecond,
		io.Discard,
	).awaitStore(ctx); parley.ErrorCode(err) != parley.CodeUnavailable ||
		!strings.Contains(err.Error(), "did not answer within 10ms") {
		t.Errorf("beyond the bound: %v, %v", store, err)
	}
	type opened struct {
		store store.Store
		err   error
	}
	log, done := &heard{text: "waiting for the database", seen: make(chan struct{})}, make(chan opened, 1)
	go func() { // ends with the store or ctx
		store, err := waiting(url, turnTime, log).awaitStore(ctx)
		done <- opened{store, err}
	}()
	select {
	case <-log.seen:
	case got := <-done:
		t.Fatalf("it did not wait: %v", got.err)
	case <-ctx.Done():
		t.Fatal("it does not say that it waits")
	}
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	got := <-done // bounded by ctx
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := got.store.Close(); err != nil {
		t.Error(err)
	}
}

// TestARefusalIsNotWaitedFor: a database that is not there does not come by waiting,
// and who ends the process does not wait either.
func TestARefusalIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	there := databases.New(t)
	before, query, _ := strings.Cut(there, "?")
	missing := before[:strings.LastIndex(before, "/")] + "/missing?" + query
	if _, err := waiting(
		missing,
		time.Hour,
		io.Discard,
	).awaitStore(t.Context()); err == nil ||
		strings.Contains(err.Error(), "did not answer") {
		t.Errorf("a database that is missing: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log := &heard{text: "waiting for the database", seen: make(chan struct{})}
	go func() { // ends when it is waited
		<-log.seen
		stop()
	}()
	_, err := waiting("postgres://ada:secret@127.0.0.1:1/parley", time.Hour, log).awaitStore(ctx)
	if parley.ErrorCode(err) != parley.CodeUnavailable || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "127.0.0.1:1/parley") {
		t.Errorf("a process that is ended while it waits: %v", err)
	}
}
