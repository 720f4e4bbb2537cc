package httpapi

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// entered finds the names that verbs of the engine give themselves in the audit.
var entered = regexp.MustCompile(
	`(?:e\.enter\(\s*ctx,\s*\w+|e\.resume\(\s*ctx,\s*principal,\s*id,\s*idempotency|e\.askAnew\(\s*ctx|` +
		`e\.look\(\s*ctx)` +
		`[^"]*?"(\w+)"`,
)

// composed are routes whose requests take several verbs, or none that tells of
// anybody's data.
var composed = []string{"watchWorkspace", "getPrincipal", "listModels", "listProviders", "listTools", "getMetrics"}

// TestVerbsAreNamedAsRoutes: what a program does by a verb stands in the audit under
// the name that it has over HTTP, and every route has a verb of its name.
func TestVerbsAreNamedAsRoutes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../engine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range entered.FindAllStringSubmatch(string(source), -1) {
			named = append(named, found[1])
		}
	}
	var routed []string
	list := routes()
	for i := range list {
		if r := &list[i]; !r.open || r.signs {
			routed = append(routed, r.action())
			if !r.open && !slices.Contains(named, r.action()) && !slices.Contains(composed, r.action()) {
				t.Errorf("no verb is named %s", r.name)
			}
		}
	}
	for _, name := range named {
		if !slices.Contains(routed, name) {
			t.Errorf("a verb is named %s, which is no route", name)
		}
	}
}
