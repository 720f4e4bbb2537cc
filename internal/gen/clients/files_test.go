package clients

import (
	"strings"
	"testing"
)

// An empty run, or a package that is not pinned, is refused; an alias is shown by the package's own name.
func TestRows(t *testing.T) {
	t.Parallel()
	pinned := map[string]string{"ai7": "npm:ai@7.0.173", "@x/sdk": "1.2.3", "ai8": "npm:@ai/next@8.0.0"}
	for _, c := range []struct {
		name   string
		passed map[string][]string
		want   string // of the rows, or of the error
	}{
		{"nothing", nil, "no package passed"},
		{"no checks", map[string][]string{"ai7": {}}, "ai7 passed no check"},
		{"not pinned", map[string][]string{"ai6": {"ask"}}, "ai6 is not a package"},
		{"a package", map[string][]string{"@x/sdk": {"ask", "stop"}}, "| `@x/sdk` 1.2.3 | 2 | ask; stop |"},
		{"an alias", map[string][]string{"ai7": {"ask"}}, "| `ai` 7.0.173 | 1 | ask |"},
		{"an alias of a scope", map[string][]string{"ai8": {"ask"}}, "| `@ai/next` 8.0.0 | 1 | ask |"},
	} {
		var rows strings.Builder
		protocol := Protocol{Name: "X", Document: "x.md", Mounted: "/x", Test: "TestX", Passed: c.passed}
		err := protocol.rows(&rows, pinned)
		got := rows.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q in it", c.name, got, c.want)
		}
	}
}
