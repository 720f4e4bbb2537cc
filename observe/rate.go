package observe

// RateScope is whose requests were refused or held back, because there were too many.
type RateScope string

// The scopes.
const (
	RateOfKey     RateScope = "key"     // a request of any sort: 429
	RateOfSession RateScope = "session" // a message: 429
	RateOfLoop    RateScope = "loop"    // a session's own loop, whose turn waits
	RateOfStreams RateScope = "streams" // a stream beside as many as a principal or workspace may have: 429
)

// RateScopes lists every scope.
func RateScopes() []RateScope {
	return []RateScope{RateOfKey, RateOfSession, RateOfLoop, RateOfStreams}
}
