package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// promised is how many failures docs/failures.md has to tell of: each number from 1 on.
const promised = 84

var (
	failureRow = regexp.MustCompile(`(?m)^\| (\d+) \| [^|]+ \| ([^|]+) \|$`)
	namedTest  = regexp.MustCompile("`([a-z0-9/]+)\\.(Test\\w+)([^`]*)`")
	namedPath  = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_.]+)*(?:/|\\.(?:go|md|tsx?)))`")
)

// rootPackage is the package of the module's root, as the pages call it.
const rootPackage = "parley"

// suites are the packages whose cases run in the tests of others.
var suites = []string{"../../store/storetest", "../../llm/llmtest"}

// TestFailuresNameTheirTests holds docs/failures.md against the tests: every
// failure stands there once, and every test and case that it names exists.
func TestFailuresNameTheirTests(t *testing.T) {
	t.Parallel()
	page := document(t, "failures.md")
	rows := map[string]int{}
	for _, row := range failureRow.FindAllStringSubmatch(string(page), -1) {
		rows[row[1]]++
		if !namedTest.MatchString(row[2]) {
			t.Errorf("failure %s names no test", row[1])
		}
	}
	oneRowEach(t, rows, "", promised)
	namedTestsExist(t, page)
}

// document reads a page of docs/.
func document(t *testing.T, name string) []byte {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../../docs", name)) //nolint:gosec // of this repository
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// oneRowEach checks that the numbers from 1 on, after a prefix, have one row each.
func oneRowEach(t *testing.T, rows map[string]int, prefix string, count int) {
	t.Helper()
	for n := 1; n <= count; n++ {
		if name := prefix + strconv.Itoa(n); rows[name] != 1 {
			t.Errorf("%s has %d rows; want one", name, rows[name])
		}
	}
}

// TestThreatsNameTheirTests compares docs/threats.md with the tests: every row of
// its tables names a test that exists.
func TestThreatsNameTheirTests(t *testing.T) {
	t.Parallel()
	page := document(t, "threats.md")
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		if rows++; !namedTest.MatchString(line) {
			t.Errorf("this row names no test: %s", line)
		}
	}
	if rows == 0 {
		t.Error("docs/threats.md has no rows")
	}
	namedTestsExist(t, page)
}

// TestContributingNamesWhatExists holds docs/contributing.md against the tree: the
// tests and files that it sends people to are there.
func TestContributingNamesWhatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/contributing.md")
	if err != nil {
		t.Fatal(err)
	}
	namedTestsExist(t, page)
	paths := namedPath.FindAllSubmatch(page, -1)
	if len(paths) == 0 {
		t.Error("docs/contributing.md names no file")
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join("../..", string(path[1]))); err != nil {
			t.Errorf("docs/contributing.md: %v", err)
		}
	}
}

// namedTestsExist looks for every test and case that a page names.
func namedTestsExist(t *testing.T, page []byte) {
	t.Helper()
	for _, named := range namedTest.FindAllStringSubmatch(string(page), -1) {
		dir := filepath.Join("../..", named[1])
		if named[1] == rootPackage {
			dir = "../.."
		}
		own := sources(t, dir)
		if !strings.Contains(own, "func "+named[2]+"(t *testing.T)") {
			t.Errorf("%s.%s does not exist", named[1], named[2])
			continue
		}
		for part := range strings.SplitSeq(strings.TrimPrefix(named[3], "/"), "/") {
			if part != "" && !isCase(t, own, part) {
				t.Errorf("%s.%s has no case %q", named[1], named[2], part)
			}
		}
	}
}

// isCase reports whether a name stands, quoted, in a package or a suite, or is
// that of a recording.
func isCase(t *testing.T, own, name string) bool {
	t.Helper()
	if strings.Contains(own, `"`+name+`"`) {
		return true
	}
	for _, suite := range suites {
		if strings.Contains(sources(t, suite), `"`+name+`"`) {
			return true
		}
	}
	recordings, err := filepath.Glob("../../llm/llmtest/testdata/*/" + name + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	return len(recordings) > 0
}

// sources are a package's files in one text.
func sources(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
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
