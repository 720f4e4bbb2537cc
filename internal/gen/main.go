// Command gen generates code, the page's types and documents from descriptions. `make generate`
// runs it at the module's root. Its test fails if the committed files differ from its output.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.org/parley/internal/gen/events"
	"example.org/parley/internal/gen/settings"
)

// generators are what writes files: each returns their contents by their paths below
// the module's root.
func generators() []func(root string) (map[string][]byte, error) {
	return []func(string) (map[string][]byte, error){events.Files, settings.Files}
}

// files are all generated files by path.
func files(root string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, generate := range generators() {
		written, err := generate(root)
		if err != nil {
			return nil, err
		}
		for path, content := range written {
			if all[path] != nil {
				return nil, fmt.Errorf("two generators write %s", path)
			}
			all[path] = content
		}
	}
	return all, nil
}

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	all, err := files(root)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		path, content := filepath.Join(root, path), all[path]
		if err := os.MkdirAll(
			filepath.Dir(path),
			0o755,
		); err != nil { //nolint:gosec // sources are for everybody to read
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // sources are for everybody to read
			return err
		}
	}
	return nil
}
