//go:build !linux

package confine

// Supported reports whether this system can confine programs.
func Supported() bool { return false }

func enter(Cage, []string) error { return ErrUnsupported }
