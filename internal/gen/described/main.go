// Command described writes what follows from the API's description, as the program itself would serve it: its
// document, the Go client, and the command line's plain verbs. `make generate` runs it at the module's root after the
// command gen, on whose output the API stands. Its test fails when the files that are committed are not what it
// writes.
package main

import (
	"fmt"
	"os"

	"example.org/parley/internal/gen/cli"
	"example.org/parley/internal/gen/client"
	"example.org/parley/internal/gen/openapi"
	"example.org/parley/internal/gen/output"
)

func generators() []output.Generator {
	return []output.Generator{openapi.Files, client.Files, cli.Files}
}

func main() {
	if err := output.Write(".", generators()...); err != nil {
		fmt.Fprintln(os.Stderr, "described:", err)
		os.Exit(1)
	}
}
