package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	outputBlock = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	// changes is what differs between two runs of the same commands: ids and times, and what a page leaves out.
	changes = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[0-9:.]+Z|…`)
)

// pageOutput returns the lines of output that a section of a page shows, as patterns.
func pageOutput(t *testing.T, path, heading string) (lines []*regexp.Regexp) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+heading)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range outputBlock.FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			var pattern strings.Builder
			line = strings.Join(strings.Fields(line), " ")
			at := 0
			for _, changed := range changes.FindAllStringIndex(line, -1) {
				pattern.WriteString(regexp.QuoteMeta(line[at:changed[0]]) + ".*")
				at = changed[1]
			}
			pattern.WriteString(regexp.QuoteMeta(line[at:]))
			lines = append(lines, regexp.MustCompile("^"+pattern.String()+"$"))
		}
	}
	return lines
}

// TestTeamsPage runs the commands of docs/teams.md that build a team, as written except for the port, and finds each
// line of output that the page shows, in its order.
func TestTeamsPage(t *testing.T) {
	t.Parallel()
	const page, heading = "../docs/teams.md", "Build your own in five minutes"
	addr := "127.0.0.1:" + freePort(t)
	said := runPage(t, t.TempDir(), "", pageCommands(t, page, heading), "PARLEY_ADDR="+addr, "PARLEY_URL=http://"+addr,
		"PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	shown := pageOutput(t, page, heading)
	if len(shown) < 10 {
		t.Fatalf("the page shows only %d lines of output", len(shown))
	}
	for line := range strings.Lines(said) {
		if len(shown) > 0 && shown[0].MatchString(strings.Join(strings.Fields(line), " ")) {
			shown = shown[1:]
		}
	}
	if len(shown) > 0 {
		t.Errorf("the commands do not print %s\nbut\n%s", shown[0], said)
	}
}
