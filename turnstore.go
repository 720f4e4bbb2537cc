package parley

// Named says which settings of a session its caller named: the others are defaults,
// and any do.
type Named struct {
	Agent, Visibility bool
}

// KeyTaken is the answer to a session's key that somebody else has. It tells nothing
// of their session.
func KeyTaken() error {
	return Errorf(CodeConflict, "the key is taken by somebody else's session; use another key, or ask for that session as it is, if you see it: with its agent and its visibility, or without them")
}
