//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lineedit

import "golang.org/x/sys/unix"

const readMode, writeMode = unix.TIOCGETA, unix.TIOCSETA
