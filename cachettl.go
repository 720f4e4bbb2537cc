package parley

import "time"

// CacheTTL is how long a provider keeps a prefix in its prompt cache after its last use.
type CacheTTL string

// The lifetimes that providers offer. The zero value means that there was no choice.
const (
	CacheMinutes CacheTTL = "5m"
	CacheHour    CacheTTL = "1h"
)

// Validate refuses other lifetimes.
func (t CacheTTL) Validate() error {
	if t != CacheMinutes && t != CacheHour {
		return InvalidField("cache_ttl", "%q is not one of %s, %s", Clip(string(t), 32), CacheMinutes, CacheHour)
	}
	return nil
}

// Duration returns the lifetime. Where there is no choice, providers commonly keep a prefix as long as the shortest.
func (t CacheTTL) Duration() time.Duration {
	if t == CacheHour {
		return time.Hour
	}
	return 5 * time.Minute
}
