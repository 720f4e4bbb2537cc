package transition

import "example.org/parley"

// TooManyShares is the error for a share beyond the bound.
func TooManyShares() error {
	return parley.Errorf(
		parley.CodeConflict,
		"a session is shared with at most %d others, and reads at most as many; end a share first",
		parley.MaxShares,
	)
}
