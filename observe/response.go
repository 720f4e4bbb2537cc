package observe

// ResponseCacheOutcome is what the response cache did.
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
