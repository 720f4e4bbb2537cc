// Command gen writes what follows from descriptions in the sources: code, types of the page and documents. `make
// generate` runs it at the module's root. Its test fails when the files that are committed are not what it writes.
package main

import (
	"fmt"
	"os"

	"example.org/parley/internal/gen/events"
	"example.org/parley/internal/gen/output"
	"example.org/parley/internal/gen/settings"
	"example.org/parley/internal/gen/tables"
)

func generators() []output.Generator {
	return []output.Generator{events.Files, settings.Files, tables.Files}
}

func main() {
	if err := output.Write(".", generators()...); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
