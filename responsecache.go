package parley

import "time"

// ResponseCacheSettings say that answers of an agent, or in a session, are kept
// and given again to equal requests of the same workspace, without asking the
// model. A session's settings replace its agent's.
type ResponseCacheSettings struct {
	TTLSeconds *int `json:"ttl_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How old an answer may be that is given again; default 3600. 0 turns the cache off, in a session whose agent has it."`
}

// The bounds of the response cache.
const (
	DefaultResponseTTL     = time.Hour
	MaxResponseTTL         = 30 * 24 * time.Hour // what is older is dropped
	MaxCachedResponses     = 1000                // of a workspace
	MaxResponseCacheBytes  = 32 << 20            // of a workspace
	MaxCachedResponseBytes = 512 << 10           // of one answer
)

// MarshalJSON writes null for what is absent.
func (s ResponseCacheSettings) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		TTLSeconds *int `json:"ttl_seconds"`
	}{s.TTLSeconds})
}

// Validate reports the field that breaks a rule. Nil breaks none.
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

// TTL is how old an answer may be; 0: the cache is off, as it is for nil.
func (s *ResponseCacheSettings) TTL() time.Duration {
	switch {
	case s == nil:
		return 0
	case s.TTLSeconds == nil:
		return DefaultResponseTTL
	}
	return time.Duration(*s.TTLSeconds) * time.Second
}

// ResponseCacheState is what a workspace's response cache holds and did.
type ResponseCacheState struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Hits    int64 `json:"hits"`    // answers that were given again
	Misses  int64 `json:"misses"`  // requests that the model had to be asked
	Stored  int64 `json:"stored"`  // answers that were kept
	Evicted int64 `json:"evicted"` // of them that went because of age or bounds
	Saved   Money `json:"saved"`   // US dollars that the hits had cost, as far as that is known
}
