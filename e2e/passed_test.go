package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/parley/internal/gen/clients"
)

var updatePassed = flag.Bool("update", false, "write the checks that clients of other protocols pass to clients/passed")

// passedFiles guards the files of clients/passed: tests of both databases and of several packages share one.
var passedFiles sync.Mutex

// passes compares the checks that an unmodified package passed with clients/passed/PROTOCOL.json, from which the table
// of docs/clients/README.md is generated; with -update it writes them there. A package is named as in
// clients/package.json.
func passes(t *testing.T, protocol, name string, checks []string) {
	t.Helper()
	if len(checks) == 0 || t.Failed() {
		t.Fatalf("%s: %d checks passed: %q", name, len(checks), checks)
	}
	passedFiles.Lock()
	defer passedFiles.Unlock()
	path := filepath.Join("..", clients.Folder, protocol+".json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf(
			"%v: write it with the members protocol, document and mounted_at, then run this test with -update",
			err,
		)
	}
	var file clients.Protocol
	decode(t, raw, &file)
	test, _, _ := strings.Cut(t.Name(), "/")
	if !*updatePassed {
		if file.Test != test || !slices.Equal(file.Passed[name], checks) {
			t.Errorf("%s passed %q in %s; %s says %q in %s: if that is right, run %s with -update, then make generate",
				name, checks, test, path, file.Passed[name], file.Test, test)
		}
		return
	}
	if file.Passed == nil {
		file.Passed = map[string][]string{}
	}
	file.Test, file.Passed[name] = test, checks
	raw, err = json.MarshalIndent(file, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(raw, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
