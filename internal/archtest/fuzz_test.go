package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readers are the packages that read bytes from outside: each has a fuzz target.
var readers = []string{
	".",
	"cmd/parley",
	"engine",
	"httpapi",
	"internal/acpwire",
	"internal/editor",
	"internal/imports",
	"internal/oauth",
	"internal/partialjson",
	"internal/peer",
	"internal/schema",
	"internal/transfer",
	"internal/words",
	"llm/anthropic",
	"llm/openai",
	"llm/sim",
	"llm/sse",
	"llm/wire",
	"prompt",
	"protocol/a2a",
	"protocol/agui",
	"protocol/anthropic",
	"protocol/mcp",
	"runner/acp",
	"tool/builtin",
	"tool/httptool",
	"tool/mcp",
}

// TestFuzzTargetsAreRun holds what `make fuzz` runs against the targets that the
// sources have.
func TestFuzzTargetsAreRun(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".cache" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		within, err := filepath.Rel("../..", filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				want[within+"\t"+f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exec.Command("../../.ci/fuzz", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(listed)), "\n")
	if all := slices.Sorted(maps.Keys(want)); !slices.Equal(slices.Sorted(slices.Values(got)), all) {
		t.Errorf("make fuzz runs %q, the sources have %q", got, all)
	}
	for _, dir := range readers {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, dir+"\t") }) {
			t.Errorf("%s reads bytes from outside and has no fuzz target", dir)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\n\tFUZZTIME=$(FUZZTIME) GUIDED=$(GUIDED) .ci/fuzz\n",
		"\n\t@.ci/stage fuzz nice -n 10 $(MAKE) fuzz FUZZTIME=5000x GUIDED=no "} {
		if !strings.Contains(string(makefile), line) {
			t.Errorf("the Makefile has no line %q", line)
		}
	}
}
