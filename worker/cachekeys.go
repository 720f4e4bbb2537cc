package worker

import (
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
)

// How the requests of a group of sessions are spread over cache keys.
const (
	// keyRate is how many requests of a key a provider keeps on one machine in keySpan; what exceeds it goes to
	// machines that have nothing of it. https://platform.openai.com/docs/guides/prompt-caching
	keyRate = 15
	keySpan = time.Minute

	maxKeyGroups = 1024 // groups remembered; a full memory is cleared
	maxKeysEach  = 1024 // keys of a group; beyond them requests exceed the rate
	maxKeyHomes  = 8192 // sessions remembered of a group; a full memory is cleared
)

// cacheKeys chooses the cache keys of sessions that share them. A session keeps its key as long as that has room, for
// what the provider has cached of its own messages; otherwise it moves to the first key that has. Each process counts
// for itself.
type cacheKeys struct {
	mu     sync.Mutex // guards groups
	groups map[prompt.CacheGroup]*keyGroup
}

// keyGroup holds the keys of a group.
type keyGroup struct {
	keys  []keyRing
	homes map[parley.ID]int // by session: its key
}

// keyRing holds when the latest requests with a key were made.
type keyRing struct {
	sent [keyRate]time.Time
	next int
}

func (r *keyRing) room(now time.Time) bool {
	oldest := r.sent[r.next]
	return oldest.IsZero() || now.Sub(oldest) >= keySpan
}

func (r *keyRing) note(now time.Time) {
	r.sent[r.next] = now
	r.next = (r.next + 1) % keyRate
}

// of returns the key of a session's next request, and counts it.
func (k *cacheKeys) of(group prompt.CacheGroup, sessionID parley.ID, now time.Time) string {
	if !group.Spread {
		return group.Key(0)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	in := k.groups[group]
	if in == nil {
		if k.groups == nil || len(k.groups) >= maxKeyGroups {
			k.groups = map[prompt.CacheGroup]*keyGroup{}
		}
		in = &keyGroup{homes: map[parley.ID]int{}}
		k.groups[group] = in
	}
	at, known := in.homes[sessionID]
	if !known || !in.keys[at].room(now) {
		if free := slices.IndexFunc(in.keys, func(r keyRing) bool { return r.room(now) }); free >= 0 {
			at = free
		} else if len(in.keys) < maxKeysEach {
			at, in.keys = len(in.keys), append(in.keys, keyRing{})
		}
		if !known && len(in.homes) >= maxKeyHomes {
			clear(in.homes)
		}
		in.homes[sessionID] = at
	}
	in.keys[at].note(now)
	return group.Key(at)
}
