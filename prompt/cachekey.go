package prompt

import (
	"encoding/binary"

	"example.org/parley"
)

// CacheGroup is a set of requests whose beginnings a provider should find in one cache.
type CacheGroup struct {
	// Spread says that many sessions are in the group: what they share is their tools and system prompt, and together
	// they may send more requests than a provider keeps on one machine for a key. Each uses one of the group's keys.
	Spread bool

	hash parley.Hash
}

// CacheGroupOf returns the group of a session's requests with a system prompt and tools. A conversation has a group of
// its own, which its forks and regenerations share: they begin with its messages. The sessions that work without a
// person (children, tool and background sessions) share little but tools and system prompt, and so all that have the
// same are one group within their workspace.
func CacheGroupOf(session *parley.Session, model parley.ModelID, system string, tools parley.Hash) CacheGroup {
	child := !session.ParentSessionID.IsZero() && session.ForkedThrough == nil
	if !child && session.Kind != parley.KindTool && session.Mode != parley.ModeBackground {
		log := session.RootLog()
		return CacheGroup{hash: parley.HashOf(append([]byte("cache key "), log[:]...))}
	}
	prompt := parley.HashOf([]byte(system))
	of := append([]byte("cache key of a prompt "), session.WorkspaceID[:]...)
	of = append(append(append(of, prompt[:]...), tools[:]...), model...)
	return CacheGroup{Spread: true, hash: parley.HashOf(of)}
}

// Key returns the group's key number n, from 0. It reveals nothing of what it is derived from.
func (g CacheGroup) Key(n int) string {
	if n == 0 {
		return g.hash.String()[:cacheKeyDigits]
	}
	return parley.HashOf(binary.BigEndian.AppendUint64(g.hash[:], uint64(n))).String()[:cacheKeyDigits]
}

const cacheKeyDigits = 32
