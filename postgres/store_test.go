package postgres

import (
	"testing"
	"time"

	"parley"
)

func TestLeases(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	id := parley.NewID()
	if err := store.RegisterProcess(t.Context(), parley.Process{ID: id, Name: "x"}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := store.RenewLease(t.Context(), id, time.Minute); err != nil {
		t.Fatal(err)
	}
	if d, err := store.NextExpiry(t.Context()); err != nil || d < 50*time.Second || d > time.Minute {
		t.Fatal(d, err)
	}
	if err := store.ReleaseProcess(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}
