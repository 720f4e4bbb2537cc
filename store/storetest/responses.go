package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testResponses(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"KeptAndFound":  responsesKept,
		"TooOld":        responsesOld,
		"TenantsApart":  responsesApart,
		"BoundOfRows":   responsesRows,
		"BoundOfBytes":  responsesBytes,
		"Cleared":       responsesCleared,
		"NothingIsKept": responsesNone,
	})
}

// response returns a cached answer with a key derived from a number.
func response(n int, chunks string) store.CachedResponse {
	cost := parley.Money(100 + n)
	return store.CachedResponse{Key: parley.HashOf([]byte{byte(n), byte(n >> 8)}), Chunks: []byte(chunks), Cost: &cost}
}

func (w *world) keepResponses(t reporter, used store.ResponsesUsed) (evicted int64) {
	t.Helper()
	evicted, err := w.store.KeepResponses(w.ctx, w.scope.WorkspaceID, used)
	must(t, "KeepResponses", err)
	return evicted
}

func (w *world) cached(t reporter, key parley.Hash, age time.Duration) *store.CachedResponse {
	t.Helper()
	found, err := w.store.CachedResponse(w.ctx, w.scope.WorkspaceID, key, age)
	must(t, "CachedResponse", err)
	return found
}

func (w *world) responses(t reporter) parley.ResponseCacheState {
	t.Helper()
	state, err := w.store.ResponseCacheState(w.ctx, w.scope.WorkspaceID)
	must(t, "ResponseCacheState", err)
	return state
}

// responsesKept: a stored answer is found unchanged, the latest one of a key, and counted.
func responsesKept(t *testing.T, w *world) {
	first, other := response(1, "first"), response(2, "other")
	other.Cost = nil
	w.keepResponses(t, store.ResponsesUsed{Misses: 2, Fresh: []store.CachedResponse{first, other}})
	for _, want := range []store.CachedResponse{first, other} {
		if diff := cmp.Diff(&want, w.cached(t, want.Key, time.Hour)); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
	}
	again := response(1, "again")
	w.keepResponses(
		t,
		store.ResponsesUsed{
			Hits:   []store.ResponseHit{{Key: first.Key, Saved: 101}, {Key: other.Key}},
			Misses: 1,
			Fresh:  []store.CachedResponse{again},
		},
	)
	if diff := cmp.Diff(&again, w.cached(t, again.Key, time.Hour)); diff != "" {
		t.Errorf("kept a second time (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		parley.ResponseCacheState{Entries: 2, Bytes: 10, Hits: 2, Misses: 3, Stored: 3, Saved: 101},
		w.responses(t),
	); diff != "" {
		t.Errorf("the state (-want +got):\n%s", diff)
	}
}

// responsesOld: an answer of the given age or older is not found.
func responsesOld(t *testing.T, w *world) {
	kept := response(1, "kept")
	w.keepResponses(t, store.ResponsesUsed{Fresh: []store.CachedResponse{kept}})
	if found := w.cached(t, kept.Key, 0); found != nil {
		t.Errorf("found at age 0: %+v", found)
	}
	if w.cached(t, kept.Key, time.Minute) == nil {
		t.Error("not found within a minute")
	}
}

// responsesApart: the same key in another workspace is a different answer, or none.
func responsesApart(t *testing.T, w *world) {
	n := w.neighbour(t, "other")
	mine, theirs := response(1, "mine"), response(1, "theirs")
	w.keepResponses(t, store.ResponsesUsed{Misses: 1, Fresh: []store.CachedResponse{mine}})
	if found := n.cached(t, mine.Key, time.Hour); found != nil {
		t.Fatalf("another workspace finds %q", found.Chunks)
	}
	if state := n.responses(t); state != (parley.ResponseCacheState{}) {
		t.Errorf("another workspace has the state %+v", state)
	}
	n.keepResponses(t, store.ResponsesUsed{Fresh: []store.CachedResponse{theirs}})
	if found := w.cached(t, mine.Key, time.Hour); found == nil || string(found.Chunks) != "mine" {
		t.Errorf("after the other workspace kept its own: %+v", found)
	}
	if _, err := n.store.ClearResponseCache(n.ctx, n.scope.WorkspaceID); err != nil {
		t.Fatal(err)
	}
	if w.cached(t, mine.Key, time.Hour) == nil {
		t.Error("another workspace's clear took it away")
	}
}

// responsesRows: beyond the bound of rows, the least recently used answer goes; a hit counts as a use.
func responsesRows(t *testing.T, w *world) {
	used, idle := response(0, "used"), response(1, "idle")
	w.keepResponses(t, store.ResponsesUsed{Fresh: []store.CachedResponse{used}})
	w.keepResponses(t, store.ResponsesUsed{Fresh: []store.CachedResponse{idle}})
	var many store.ResponsesUsed
	for n := 2; n < parley.MaxCachedResponses; n++ {
		many.Fresh = append(many.Fresh, response(n, "x"))
	}
	if evicted := w.keepResponses(t, many); evicted != 0 {
		t.Errorf("%d evicted within the bound", evicted)
	}
	w.keepResponses(t, store.ResponsesUsed{Hits: []store.ResponseHit{{Key: used.Key}}})
	if evicted := w.keepResponses(
		t,
		store.ResponsesUsed{Fresh: []store.CachedResponse{response(parley.MaxCachedResponses, "last")}},
	); evicted != 1 {
		t.Errorf("%d evicted for one row beyond the bound", evicted)
	}
	if w.cached(t, used.Key, time.Hour) == nil || w.cached(t, idle.Key, time.Hour) != nil {
		t.Error("the least recently used answer was not evicted")
	}
	if state := w.responses(t); state.Entries != parley.MaxCachedResponses || state.Evicted != 1 {
		t.Errorf("the state is %+v", state)
	}
}

// responsesBytes: the same holds beyond the bound of bytes.
func responsesBytes(t *testing.T, w *world) {
	whole := string(make([]byte, parley.MaxCachedResponseBytes))
	const fit = parley.MaxResponseCacheBytes / parley.MaxCachedResponseBytes
	for n := range fit {
		w.keepResponses(t, store.ResponsesUsed{Fresh: []store.CachedResponse{response(n, whole)}})
	}
	if state := w.responses(t); state.Bytes != parley.MaxResponseCacheBytes || state.Evicted != 0 {
		t.Fatalf("full, the state is %+v", state)
	}
	if evicted := w.keepResponses(
		t,
		store.ResponsesUsed{Fresh: []store.CachedResponse{response(fit, "x")}},
	); evicted != 1 {
		t.Errorf("%d evicted for one byte beyond the bound", evicted)
	}
	if w.cached(t, response(0, "").Key, time.Hour) != nil || w.cached(t, response(1, "").Key, time.Hour) == nil {
		t.Error("the least recently used answer was not evicted")
	}
}

func responsesCleared(t *testing.T, w *world) {
	kept := response(1, "kept")
	w.keepResponses(t, store.ResponsesUsed{Misses: 1, Fresh: []store.CachedResponse{kept}})
	dropped, err := w.store.ClearResponseCache(w.ctx, w.scope.WorkspaceID)
	must(t, "ClearResponseCache", err)
	if state := w.responses(
		t,
	); dropped != 1 || w.cached(t, kept.Key, time.Hour) != nil ||
		state != (parley.ResponseCacheState{Misses: 1, Stored: 1}) {
		t.Errorf("%d dropped, then %+v", dropped, state)
	}
}

// responsesNone: a miss, and a hit of an answer that has gone meanwhile, are counted but store nothing.
func responsesNone(t *testing.T, w *world) {
	w.keepResponses(t, store.ResponsesUsed{Hits: []store.ResponseHit{{Key: response(1, "").Key, Saved: 5}}, Misses: 1})
	if state := w.responses(t); state != (parley.ResponseCacheState{Hits: 1, Misses: 1, Saved: 5}) {
		t.Errorf("the state is %+v", state)
	}
}
