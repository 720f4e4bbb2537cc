package wire

import (
	"example.org/parley"
	"example.org/parley/model"
)

// CacheMark marks the end of what a provider should keep in its prompt cache, in the form of Anthropic and DashScope.
// Requests with and without it are otherwise the same byte for byte.
const CacheMark = `,"cache_control":{"type":"ephemeral"}`

// CacheMarkHour is CacheMark for an hour, in the form of Anthropic.
const CacheMarkHour = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`

// CacheMarkFor returns the mark for a lifetime.
func CacheMarkFor(ttl parley.CacheTTL) string {
	if ttl == parley.CacheHour {
		return CacheMarkHour
	}
	return CacheMark
}

// Stable finds the two messages whose ends a conversation's request marks: the last one that is not an answer, which
// the next request will share, and the one that the previous request ended with, in case more blocks follow it than a
// provider looks back. -1 means none.
func Stable(messages []model.Message) (before, last int) {
	before, last = -1, -1
	for i := len(messages) - 1; i >= 0; i-- {
		switch {
		case messages[i].Role == model.RoleAssistant:
		case last < 0:
			last = i
		case messages[i+1].Role == model.RoleAssistant:
			return i, last
		}
	}
	return before, last
}
