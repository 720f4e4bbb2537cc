package lineedit

import "golang.org/x/sys/unix"

const readMode, writeMode = unix.TCGETS, unix.TCSETS
