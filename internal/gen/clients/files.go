// Package clients writes the table of docs/clients/README.md from the checks that packages of other protocols passed.
// The end-to-end tests own the list of these: each compares what passes with its file, or writes it with -update. The
// text around the table is written by hand.
package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder holds a file NAME.json for each protocol, below the module's root.
const Folder = "e2e/clients/passed"

const (
	page     = "docs/clients/README.md"
	packages = "e2e/clients/package.json"
	head     = "| protocol | mounted at | package, unmodified | checks | what passed |\n|---|---|---|---|---|\n"
)

// Protocol is one file of Folder. Its first three fields are written by hand.
type Protocol struct {
	Name     string `json:"protocol"`
	Document string `json:"document"` // beside the table
	Mounted  string `json:"mounted_at"`
	Test     string `json:"test"` // of e2e, which wrote what follows
	// Passed are the names of checks by the package's name in e2e/clients/package.json.
	Passed map[string][]string `json:"passed"`
}

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
	var pinned struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := read(filepath.Join(root, packages), &pinned); err != nil {
		return nil, err
	}
	tests, err := endToEnd(root)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, Folder, "*.json"))
	if err != nil {
		return nil, err
	}
	var rows strings.Builder
	for _, file := range files { // in the order of their names
		var protocol Protocol
		if err := read(file, &protocol); err != nil {
			return nil, err
		}
		if !strings.Contains(tests, "\nfunc "+protocol.Test+"(") {
			return nil, fmt.Errorf("%s: e2e has no test %q", file, protocol.Test)
		}
		if err := protocol.rows(&rows, pinned.Dependencies); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return map[string][]byte{page: []byte(before + head + rows.String() + "\n" + after)}, nil
}

// endToEnd returns the sources of the end-to-end tests: a protocol whose test is gone must not keep its rows.
func endToEnd(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "e2e", "*_test.go"))
	if err != nil {
		return "", err
	}
	var sources strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of this repository
		if err != nil {
			return "", err
		}
		sources.Write(text)
	}
	return sources.String(), nil
}

// rows writes a row for each package. An empty run is an error: nothing passes without a check.
func (p *Protocol) rows(to *strings.Builder, pinned map[string]string) error {
	if len(p.Passed) == 0 {
		return fmt.Errorf("no package passed; run %s of e2e with -update", p.Test)
	}
	for _, alias := range slices.Sorted(maps.Keys(p.Passed)) {
		checks, version := p.Passed[alias], pinned[alias]
		if version == "" {
			return fmt.Errorf("%s is not a package of %s", alias, packages)
		}
		if len(checks) == 0 {
			return fmt.Errorf("%s passed no check", alias)
		}
		name := alias
		if other, ok := strings.CutPrefix(version, "npm:"); ok { // an alias: npm:NAME@VERSION
			at := strings.LastIndex(other, "@")
			name, version = other[:max(at, 0)], other[at+1:]
		}
		fmt.Fprintf(to, "| [%s](%s) | `%s` | `%s` %s | %d | %s |\n", p.Name, p.Document, p.Mounted, name, version,
			len(checks), strings.Join(checks, "; "))
	}
	return nil
}

// read reads a JSON file of this repository.
func read(path string, into any) error {
	raw, err := os.ReadFile(path) //nolint:gosec // of this repository
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
