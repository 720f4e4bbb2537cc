package worker

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// TestKeysAreSpreadByRate: a session keeps its key, and a key gets no more requests a minute than a provider keeps on
// one machine.
func TestKeysAreSpreadByRate(t *testing.T) {
	t.Parallel()
	group := prompt.CacheGroupOf(&parley.Session{Kind: parley.KindTool}, scriptedID, "Look it up.", parley.Hash{})
	keys, now := &cacheKeys{}, time.Unix(1e9, 0)
	first, second := parley.NewID(), parley.NewID()
	sent := map[string]int{}
	for range keyRate {
		sent[keys.of(group, first, now)]++
	}
	if len(sent) != 1 {
		t.Fatalf("one session's requests have the keys %v", sent)
	}
	for range 2 * keyRate {
		sent[keys.of(group, second, now)]++
	}
	if len(sent) != 3 {
		t.Errorf("%d requests have the keys %v; want 3", 3*keyRate, sent)
	}
	for key, n := range sent {
		if n > keyRate {
			t.Errorf("the key %s has %d requests in a minute", key, n)
		}
	}
	home := keys.of(group, first, now.Add(keySpan))
	if again := keys.of(group, first, now.Add(keySpan)); again != home || sent[home] == 0 {
		t.Errorf("a minute later a session has the keys %s and %s", home, again)
	}
	if moved := keys.of(group, second, now.Add(keySpan)); moved == home {
		t.Errorf("a session has left its key, which has room")
	}
}

// TestAForkBeginsInTheCache: a provider that keeps the beginnings of each key apart has all of the conversation when a
// fork asks its first question; another conversation finds nothing of it.
func TestAForkBeginsInTheCache(t *testing.T) {
	r := newRig(t)
	r.model.caching = true
	r.start(nil)
	parent := r.session(parley.Settings{}, nil)
	r.exchange(parent, 0)
	r.exchange(parent, 1)
	fork := func(of parley.ID, through int64) parley.ID {
		t.Helper()
		opened, err := r.store.Fork(t.Context(), r.scope, store.NewFork{
			Session: parley.Session{
				ID: parley.NewID(), WorkspaceID: r.scope.WorkspaceID, AgentID: r.agent.ID, OwnerID: r.owner.ID,
				Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
				ParentSessionID: of, LogID: parley.NewID(),
			},
			Sequence: through,
		}, parley.ID{})
		r.must(err)
		return opened.Session.ID
	}
	cached := func(sessionID parley.ID) int {
		t.Helper()
		before := r.model.asked()
		r.exchange(sessionID, 2)
		asked := r.model.asked()
		return cachedMessages(before, asked[len(asked)-1])
	}
	other := r.session(parley.Settings{}, nil)
	r.exchange(other, 0)
	if n := cached(other); n != 1 {
		t.Errorf("another conversation finds %d messages; want its own alone", n)
	}
	child := fork(parent, 4)
	if n := cached(child); n != 3 {
		t.Errorf("a fork finds %d messages in the cache; want 3", n)
	}
	if n := cached(fork(child, 6)); n != 5 {
		t.Errorf("a fork of a fork finds %d messages in the cache; want 5", n)
	}
}

// cachedMessages returns how many messages of a request a provider has cached that keeps the beginnings of each key
// apart.
func cachedMessages(before []model.Request, request model.Request) (most int) {
	for _, earlier := range before {
		if earlier.CacheKey != request.CacheKey || earlier.System != request.System {
			continue
		}
		n := 0
		for n < len(earlier.Messages) && n < len(request.Messages) &&
			earlier.Messages[n].Parts[0].Text == request.Messages[n].Parts[0].Text {
			n++
		}
		most = max(most, n)
	}
	return most
}
