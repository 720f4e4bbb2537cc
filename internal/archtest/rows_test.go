package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	requirementRow = regexp.MustCompile(`(?m)^\| ([A-E]\d+) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$`)
	pageTest       = regexp.MustCompile("`web/e2e: ([^`]+)`")
)

// requirements returns how many rows each system has.
func requirements() map[string]int { return map[string]int{"A": 16, "B": 10, "C": 8, "D": 18, "E": 8} }

// open are the words for work that rows may wait for.
var open = []string{"documents", "teams"}

// TestRowsNameTheirTests holds docs/rows.md against the tests: every requirement stands there once, and names tests
// that exist or the work that it waits for.
func TestRowsNameTheirTests(t *testing.T) {
	t.Parallel()
	page := document(t, "rows.md")
	rows := map[string]int{}
	for _, row := range requirementRow.FindAllStringSubmatch(string(page), -1) {
		rows[row[1]]++
		waits, unbuilt := strings.CutPrefix(row[2], "Not built yet: ")
		if unbuilt && !slices.ContainsFunc(open, func(work string) bool { return strings.HasPrefix(waits, work) }) {
			t.Errorf("row %s does not say which work it waits for: %s", row[1], waits)
		}
		if !unbuilt && !namedTest.MatchString(row[3]) && !pageTest.MatchString(row[3]) {
			t.Errorf("row %s names no test", row[1])
		}
	}
	all := 0
	for system, count := range requirements() {
		oneRowEach(t, rows, system, count)
		all += count
	}
	if len(rows) != all {
		t.Errorf("docs/rows.md has %d rows; want %d", len(rows), all)
	}
	namedTestsExist(t, page)
	scenarios := pageScenarios(t)
	for _, named := range pageTest.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(scenarios, "('"+named[1]+"',") {
			t.Errorf("the page has no test %q", named[1])
		}
	}
}

// pageScenarios are the page's tests in one text.
func pageScenarios(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../web/e2e/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the page (%v)", err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of this repository
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
