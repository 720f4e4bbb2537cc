package main

import (
	"slices"
	"strings"
	"testing"
)

// References to the module change; text that only looks alike does not.
func TestReferencesToTheModule(t *testing.T) {
	t.Parallel()
	files := []string{"doc.go", "client/client.go", "cmd/parley/main.go", "docs/library.md"}
	for _, c := range []struct {
		old, name  string
		want, kept []string // lines with the old path as OLD
	}{
		{
			"parley", "engine/a.go",
			[]string{
				`import "OLD"`, `import p "OLD"`, "import (\n\t\"OLD\"\n\n\t\"OLD/client\"\n)",
				`import _ "OLD/client" // why`, `var x = "OLD/cmd/parley"`,
				"const text = `\n\t\"OLD\" // as in an import\n`",
			},
			[]string{
				`const agent = "OLD"`, `const a = f("OLD", "OLD/idempotency-key")`, `var a = []string{"OLD"}`,
				"func f() string {\n\treturn \"OLD\"\n}",
				`var a = "/v1/agents/OLD/sessions"`, "// OLD/client does not stand in quotes.", `var a = "OLD.client"`,
				`var a = "my-OLD/client"`, `var units = map[string]string{"OLD@.service": "OLD@7871.service"}`,
			},
		},
		{"parley", "deploy/grafana/parley.json", nil, []string{`{"tags": [` + "\n\t\"OLD\"\n]}", `"OLD/client"`}},
		{
			"parley", "docs/library.md",
			[]string{`go mod edit -require="OLD@v0.0.0" -replace="OLD=../parley"`, `import "OLD/client"`},
			[]string{"OLD keeps conversations.", `"$HOME/OLD/client"`, `docker build -t OLD:0.1.0 .`,
				`{"agent":"OLD"}`},
		},
		{
			"parley", "llm/difftest/go.mod",
			[]string{"module OLD", "module OLD/llm/difftest", "replace OLD => ../..",
				"require (\n\tgithub.com/google/go-cmp v0.7.0\n\tOLD v0.0.0\n)"},
			[]string{"require example.net/OLD v1.0.0", "require OLD-tools v1.0.0", "// example.net/OLD/client"},
		},
		{
			"example.org/parley", "docs/library.md",
			[]string{
				"go get OLD@latest", "import \"OLD/client\"", "OLD OLD", "OLD", "Import OLD/client.", "It is OLD.",
				"`OLD`", "-gcflags='OLD/...=-N'",
				`-replace="OLD=../parley"`,
			},
			[]string{"https://OLD/page", "docs.OLD", "OLDish", "OLD-tools", "OLD.git", "/srv/OLD"},
		},
		{
			"example.org/parley", "client/go.mod",
			[]string{"module OLD/client", "replace OLD v0.0.0 => ../.."},
			[]string{"require example.org/parley-tools v1.0.0"},
		},
	} {
		for _, path := range []string{"example.net/some/thing", "example.org/parley/v2"} {
			r := newRewriter(c.old, path, files)
			for _, line := range append(c.want, c.kept...) {
				before, want := strings.ReplaceAll(line, "OLD", c.old)+"\n", strings.ReplaceAll(line, "OLD", path)+"\n"
				if !slices.Contains(c.want, line) {
					want = before
				}
				got := string(r.file(c.name, []byte(before)))
				if got != want {
					t.Errorf("%s in %s becomes\n%s, want\n%s", c.old, c.name, got, want)
				}
				if again := string(r.file(c.name, []byte(got))); again != want {
					t.Errorf("the second time %s becomes %s", got, again)
				}
			}
		}
	}
}

func TestInvalidModulePaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "parley", "parley/parley", "Example.org/parley", "example.org/", "example.org//a",
		"example.org/a.", ".org/a", "-a.org x", "a.org/b c", "../a.b"} {
		if _, err := rename(
			t.TempDir(),
			path,
		); err == nil ||
			!strings.Contains(err.Error(), "not a valid module path") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// Imports stay in order under the new path.
func TestImportsStaySorted(t *testing.T) {
	t.Parallel()
	r := newRewriter("parley", "example.org/parley", []string{"client/client.go"})
	before := "package a\n\nimport (\n\t\"github.com/a/b\"\n\t\"parley\"\n\t\"parley/client\"\n)\n"
	want := "package a\n\nimport " +
		"(\n\t\"example.org/parley\"\n\t\"example.org/parley/client\"\n\t\"github.com/a/b\"\n)\n"
	if got := string(r.file("x.go", []byte(before))); got != want {
		t.Errorf("got %s", got)
	}
}
