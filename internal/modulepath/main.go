// Command modulepath changes the module path of this tree in every go.mod, import and document that
// names it. `make module MODULE=example.org/parley` runs it.
//
// The root's go.mod defines the current path and is written last, so you can simply repeat an
// interrupted run, and a second run changes nothing.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: make module MODULE=example.org/parley")
		os.Exit(2)
	}
	changed, err := rename(".", os.Args[1])
	for _, name := range changed {
		fmt.Println(name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modulepath:", err)
		os.Exit(1)
	}
}
