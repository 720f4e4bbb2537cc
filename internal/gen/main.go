// Command gen generates code, the page's types and documents from descriptions in the sources. `make generate` runs it
// at the module's root. Its test fails if the committed files differ from its output.
package main

import (
	"fmt"
	"os"

	"example.org/parley/internal/gen/clients"
	"example.org/parley/internal/gen/closed"
	"example.org/parley/internal/gen/events"
	"example.org/parley/internal/gen/output"
	"example.org/parley/internal/gen/schema"
	"example.org/parley/internal/gen/settings"
	"example.org/parley/internal/gen/tables"
	"example.org/parley/internal/gen/zones"
)

func generators() []output.Generator {
	return []output.Generator{
		clients.Files, closed.Files, events.Files, settings.Files, schema.Files, tables.Files, zones.Files,
	}
}

func main() {
	if err := output.Write(".", generators()...); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
