package observe

// ResponseCacheOutcome is an outcome of the response cache.
type ResponseCacheOutcome string

// The outcomes.
const (
	ResponseHits    ResponseCacheOutcome = "hit"
	ResponseMisses  ResponseCacheOutcome = "miss"
	ResponseStored  ResponseCacheOutcome = "stored"
	ResponseEvicted ResponseCacheOutcome = "evicted"
)

// ResponseCacheOutcomes lists every outcome.
func ResponseCacheOutcomes() []ResponseCacheOutcome {
	return []ResponseCacheOutcome{ResponseHits, ResponseMisses, ResponseStored, ResponseEvicted}
}
