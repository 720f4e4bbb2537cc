// Package roles writes the table of docs/roles.md from the engine's permissions. The text around it is written by hand.
package roles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.org/parley/engine"
)

const (
	page = "docs/roles.md"
	head = "| verb | is | reader | member | admin |\n|---|---|---|---|---|\n"
)

// Files returns the page with its table by its path below the module's root.
func Files(root string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, page)) //nolint:gosec // of this repository
	if err != nil {
		return nil, err
	}
	before, table, found := strings.Cut(string(text), head)
	_, after, ends := strings.Cut(table, "\n\n")
	if !found || !ends {
		return nil, fmt.Errorf("%s has no table that begins with %q", page, head)
	}
	var rows strings.Builder
	for _, p := range engine.Permissions() {
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", p.Verb, p.About, p.Reader, p.Member, p.Admin)
	}
	return map[string][]byte{page: []byte(before + head + rows.String() + "\n" + after)}, nil
}
