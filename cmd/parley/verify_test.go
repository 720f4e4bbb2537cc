package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// TestDamageIsToldByProbesAndDoctor: somebody removes the database under the server.
func TestDamageIsToldByProbesAndDoctor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv, c := opened(t, dir, nil, io.Discard)
	defer func() {
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	defer c.Close()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, sqlite.DatabaseFile), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	look, enough := time.NewTicker(50*time.Millisecond), time.After(turnTime)
	defer look.Stop()
	for srv.store.Stats().Damage == nil {
		select {
		case <-look.C:
		case <-enough:
			t.Fatal("nothing is noted")
		}
	}
	if err := c.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("/readyz: %v", err)
	}
	answer := httptest.NewRecorder()
	probes(srv.ready, srv.telemetry.Metrics()).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if answer.Code != 503 || !strings.Contains(answer.Body.String(), "damaged") {
		t.Errorf("/readyz of a worker: %d %s", answer.Code, answer.Body)
	}
	metrics := httptest.NewRecorder()
	srv.telemetry.Metrics().ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(metrics.Body.String(), "\nparley_database_damaged 1\n") {
		t.Error("the metrics do not tell")
	}
	told := false
	for _, f := range diagnose(t.Context(), &flags{data: dir}, environment(nil)) {
		told = told || f.State == "problem" && strings.Contains(f.Says, "damaged")
	}
	if !told {
		t.Error("doctor does not tell")
	}
}

// TestVerifyGoesOnWhereItWas: an interrupted run is continued by the next, another
// anchor or --anew begins at the beginning, and what is finished leaves no trace.
func TestVerifyGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := settings{DataDir: t.TempDir()}
	store, err := openStore(t.Context(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	term := terminal{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	interrupted := errors.New("interrupted")
	run := func(state *verified, stopAt int) (steps int, err error) {
		t.Helper()
		err = verify(
			t.Context(),
			s,
			state,
			func(ctx context.Context, place parley.VerifyPlace, anchor *parley.Anchor) (parley.VerifyStep, error) {
				if steps == stopAt {
					return parley.VerifyStep{}, interrupted
				}
				steps++
				return engine.Verify(ctx, store, place, anchor)
			},
			true,
			term,
		)
		return steps, err
	}
	whole, err := run(resumed(s, false, nil), -1)
	if err != nil || whole < 10 {
		t.Fatalf("%d steps, %v", whole, err)
	}
	if _, err := run(resumed(s, false, nil), 7); !errors.Is(err, interrupted) {
		t.Fatalf("a run that is interrupted: %v", err)
	}
	anchor := parley.Anchor{Number: 1, Hash: parley.HashOf(nil)}
	for name, fresh := range map[string]*verified{"anew": resumed(s, true, nil),
		"another anchor": resumed(s, false, &anchor)} {
		if fresh.Place != (parley.VerifyPlace{}) {
			t.Errorf("%s begins at %+v", name, fresh.Place)
		}
	}
	rest, err := run(resumed(s, false, nil), -1)
	if err != nil || rest != whole-7 {
		t.Errorf("behind 7 of %d steps it made %d, %v", whole, rest, err)
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, verifyFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is kept of a finished run: %v", err)
	}
}

func TestAnchorsAreRead(t *testing.T) {
	t.Parallel()
	want := parley.Anchor{Number: 12, Hash: parley.HashOf([]byte("x"))}
	if got, err := parseAnchor(want.String()); err != nil || *got != want {
		t.Errorf("%s is read as %v, %v", want, got, err)
	}
	for _, text := range []string{"12", "0:" + want.Hash.String(), "x:" + want.Hash.String(), "12:", "12:ab"} {
		if _, err := parseAnchor(text); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// ownerless is a store so damaged that it does not tell who its owner is.
type ownerless struct{ store.Store }

func (ownerless) LocalOwner(context.Context, parley.ID) (parley.Principal, error) {
	return parley.Principal{}, errors.New("database disk image is malformed")
}

// TestVerifyWithoutAServerIsAudited: it leaves the entry that a server would leave, one
// for the whole verification. A store that cannot have one is verified even so.
func TestVerifyWithoutAServerIsAudited(t *testing.T) {
	t.Parallel()
	s := settings{DataDir: t.TempDir()}
	db, err := openStore(t.Context(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	term := terminal{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	run := func(store store.Store) *verified {
		t.Helper()
		step, end, err := verifierOf(t.Context(), store, "")
		if err != nil {
			t.Fatal(err)
		}
		state := resumed(s, true, nil)
		if err := verify(t.Context(), s, state, step, true, term); err != nil {
			t.Fatal(err)
		}
		end()
		return state
	}
	whole := run(db)
	if len(whole.Findings) > 0 || whole.Checked[parley.VerifyPages] == 0 {
		t.Errorf("a whole store: %+v", whole)
	}
	if damaged := run(ownerless{db}); damaged.Checked[parley.VerifyPages] != whole.Checked[parley.VerifyPages] {
		t.Errorf("a store without an owner: %+v", damaged)
	}
	if _, _, err := verifierOf(t.Context(), db, "No Name"); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("a workspace that cannot be: %v", err)
	}
	owner, err := engine.New(engine.Options{Store: db}).LocalOwner(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := db.Audit(t.Context(), owner.WorkspaceID, store.AuditQuery{Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Action != "verify" || entries[0].PrincipalID != owner.ID {
		t.Errorf("the audit has %+v", entries)
	}
}
