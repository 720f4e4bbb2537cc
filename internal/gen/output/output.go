// Package output writes the output of generators, or compares it with the committed files.
package output

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Generator returns the contents of files by their paths below the module's root.
type Generator func(root string) (map[string][]byte, error)

// made returns all files of the generators by path.
func made(root string, generators []Generator) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, generate := range generators {
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

// Write writes the files of the generators.
func Write(root string, generators ...Generator) error {
	all, err := made(root, generators)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		path, content := filepath.Join(root, path), all[path]
		err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // sources are for everybody to read
		if err == nil {
			err = os.WriteFile(path, content, 0o644) //nolint:gosec // sources are for everybody to read
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Check fails the test for every file that differs from the generators' output.
func Check(t *testing.T, root string, generators ...Generator) {
	t.Helper()
	all, err := made(root, generators)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range all {
		got, err := os.ReadFile(filepath.Join(root, path)) //nolint:gosec // of this repository
		switch {
		case err != nil:
			t.Errorf("%s is generated but not committed: run make generate", path)
		case !bytes.Equal(got, want):
			t.Errorf("%s differs from the generated file: run make generate", path)
		}
	}
	if len(all) == 0 {
		t.Error("the generators returned no files")
	}
}
