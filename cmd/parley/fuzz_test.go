package main

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzSettings: a configuration file is read or refused.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"addr: 127.0.0.1:9000\n", "mcp: [{name: a, command: b, args: [c]}]\n", "a: &a [*a]\n",
		"a: 1\na: 2\n", "? [\n", "http_tools:\n  - name: a\n    parameters: {type: object, properties: {a: {type: " +
			"string}}}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = loadSettings(&flags{data: dir}, environment(nil)) // an error is an answer too
	})
}
