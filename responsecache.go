package parley

import "time"

// ResponseCacheSettings let answers of an agent, or in a session, be cached and returned for equal requests of the same
// workspace without asking the model. A session's settings replace its agent's.
type ResponseCacheSettings struct {
	TTLSeconds *int `json:"ttl_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"The greatest age of a cached answer; default 3600. 0 turns the cache off in a session whose agent uses it."`
}

// The bounds of the response cache.
const (
	DefaultResponseTTL     = time.Hour
	MaxResponseTTL         = 30 * 24 * time.Hour // older answers are dropped
	MaxCachedResponses     = 1000                // per workspace
	MaxResponseCacheBytes  = 32 << 20            // per workspace
	MaxCachedResponseBytes = 512 << 10           // per answer
)

// MarshalJSON writes null for absent fields.
func (s ResponseCacheSettings) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		TTLSeconds *int `json:"ttl_seconds"`
	}{s.TTLSeconds})
}

// Validate reports the field that breaks a rule. Nil is valid.
func (s *ResponseCacheSettings) Validate() error {
	if s != nil && s.TTLSeconds != nil && (*s.TTLSeconds < 0 || *s.TTLSeconds > int(MaxResponseTTL.Seconds())) {
		return InvalidField(
			"response_cache.ttl_seconds",
			"must lie between 0 (off) and %d",
			int(MaxResponseTTL.Seconds()),
		)
	}
	return nil
}

// TTL returns the greatest age of a cached answer; 0 means that the cache is off, as for nil.
func (s *ResponseCacheSettings) TTL() time.Duration {
	switch {
	case s == nil:
		return 0
	case s.TTLSeconds == nil:
		return DefaultResponseTTL
	}
	return time.Duration(*s.TTLSeconds) * time.Second
}

// ResponseCacheState is the content and the statistics of a workspace's response cache.
type ResponseCacheState struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Hits    int64 `json:"hits"`    // cached answers returned
	Misses  int64 `json:"misses"`  // requests sent to the model
	Stored  int64 `json:"stored"`  // answers stored
	Evicted int64 `json:"evicted"` // stored answers dropped because of age or bounds
	Saved   Money `json:"saved"`   // US dollars that the hits originally cost, as far as known
}
