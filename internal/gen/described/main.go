// Command described generates files from the API's description as the program itself serves it: the document, the Go
// client, the command line's plain verbs, and the table of the roles. `make generate` runs it at the module's root
// after the command gen, because the API depends on gen's output. Its test fails if the committed files differ from its
// output.
package main

import (
	"fmt"
	"os"

	"example.org/parley/internal/gen/cli"
	"example.org/parley/internal/gen/client"
	"example.org/parley/internal/gen/openapi"
	"example.org/parley/internal/gen/output"
	"example.org/parley/internal/gen/roles"
)

func generators() []output.Generator {
	return []output.Generator{openapi.Files, client.Files, cli.Files, roles.Files}
}

func main() {
	if err := output.Write(".", generators()...); err != nil {
		fmt.Fprintln(os.Stderr, "described:", err)
		os.Exit(1)
	}
}
