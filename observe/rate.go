package observe

// RateScope says whose requests were refused or delayed because there were too many.
type RateScope string

// The scopes.
const (
	RateOfKey     RateScope = "key"     // a request of any kind: 429
	RateOfSession RateScope = "session" // a message: 429
	RateOfLoop    RateScope = "loop"    // a session's own loop, whose turn waits
	RateOfStreams RateScope = "streams" // a stream beyond a principal's or workspace's bound: 429
)

// RateScopes lists every scope.
func RateScopes() []RateScope {
	return []RateScope{RateOfKey, RateOfSession, RateOfLoop, RateOfStreams}
}
