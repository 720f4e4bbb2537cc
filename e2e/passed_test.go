package e2e

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/parley/internal/gen/clients"
)

var updatePassed = flag.Bool("update", false, "write the checks that clients of other protocols pass to clients/passed")

// passedFiles guards the files of clients/passed: the runs on both databases share one.
var passedFiles sync.Mutex

// passes compares the checks that unmodified packages passed with clients/passed/PROTOCOL.json, from which the table of
// docs/clients/README.md is generated; with -update it writes them there. A package is named as in
// clients/package.json. A test calls it once, at its end, for all packages: one that no longer runs is a difference.
func passes(t *testing.T, protocol string, passed map[string][]string) {
	t.Helper()
	for name, checks := range passed {
		if len(checks) == 0 {
			t.Errorf("%s passed no check", name)
		}
	}
	if len(passed) == 0 || t.Failed() {
		t.Fatalf("what passed of %s counts for nothing: %q", protocol, passed)
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
		if file.Test != test || !maps.EqualFunc(file.Passed, passed, slices.Equal) {
			t.Errorf("%s saw pass %q; %s says %q of %s: if that is right, run %s with -update, then make generate",
				test, passed, path, file.Passed, file.Test, test)
		}
		return
	}
	file.Test, file.Passed = test, passed
	raw, err = json.MarshalIndent(file, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(raw, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
