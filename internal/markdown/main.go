// Command markdown keeps the tree's documents within 120 columns: it wraps what is
// wider, and names the lines that it cannot wrap. `make fmt` runs it.
//
// Tables may be wider, because a row is one line. A paragraph whose lines all fit stays
// as its author broke it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	const root = "."
	names, err := documents(root)
	if err == nil {
		err = format(root, names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "markdown:", err)
		os.Exit(1)
	}
}

// format wraps documents in place. Its error lists lines that are still too wide.
func format(root string, names []string) error {
	left := 0
	for _, name := range names {
		path := filepath.Join(root, name)
		before, err := os.ReadFile(path) //nolint:gosec // a file of this tree
		if err != nil {
			return err
		}
		after := wrap(string(before))
		if after != string(before) {
			if err := os.WriteFile(path, []byte(after), 0o644); err != nil { //nolint:gosec // a document
				return err
			}
			fmt.Println(name)
		}
		for _, line := range tooWide(after) {
			fmt.Fprintf(os.Stderr, "%s:%d is wider than %d columns\n", name, line, width)
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("shorten these %d lines by hand", left)
	}
	return nil
}
