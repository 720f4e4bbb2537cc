//go:build !linux

package confine

// Supported reports whether this system can confine programs.
func Supported() bool { return false }

// SignalsSupported reports whether a confined program is kept from ending others than those that it has
// started.
func SignalsSupported() bool { return false }

// Hide keeps other programs of this process's user from its memory; here nothing does.
func Hide() error { return nil }

func enter(Cage, []string) error { return ErrUnsupported }
