//go:build !linux

package program

import (
	"fmt"
	"os"
)

// keeps reports whether this system has keepers.
const keeps = false

func keep() {
	fmt.Fprintln(os.Stderr, "programs are kept on Linux alone")
	os.Exit(exitFailed)
}
