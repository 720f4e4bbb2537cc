// Package archtest checks the project's import rules against the code, as `go list` sees it.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is this tree's path, as `make module` has set it.
var module = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

// rules say which of the project's own packages each package may import, by
// path below the module; patterns as in path.Match. The first row that fits
// counts. A package that fits none is an error: decide where it belongs.
var rules = []struct {
	packages string
	may      []string
}{
	{".", nil}, // the words: standard library only

	// The ports. The first three know nothing of each other.
	{"store", []string{"."}},
	{"model", []string{"."}},
	{"tool", []string{"."}},
	{"runner", []string{".", "model", "store", "tool"}},
	{"runner/standard", []string{".", "runner"}},
	{
		"runner/acp",
		[]string{
			".",
			"internal/acpwire",
			"internal/confine",
			"internal/projectdir",
			"internal/program",
			"model",
			"runner",
			"store",
			"tool",
		},
	},
	{"internal/confine", nil},
	{"internal/program", []string{".", "internal/confine"}},
	{"observe", []string{".", "model", "store", "tool"}},

	{"event", []string{"."}},
	{"internal/gen", []string{"internal/gen/*"}},
	{"internal/gen/described", []string{"internal/gen/*"}},
	{"internal/gen/operations", []string{"httpapi"}},
	{"internal/gen/cli", []string{".", "internal/gen/operations"}},
	{"internal/gen/client", []string{".", "model", "event", "internal/gen/operations"}},
	{"internal/gen/settings", []string{"setting"}},
	{"internal/gen/closed", []string{"."}},
	{"internal/gen/roles", []string{"engine"}},
	{"internal/gen/tables", []string{".", "internal/tables"}},
	{"internal/gen/openapi", []string{"httpapi"}},
	{"internal/gen/schema", []string{"internal/sqlschema"}},
	{"internal/gen/*", nil},

	{"internal/archtest", nil},
	{"internal/markdown", nil},
	{"internal/modulepath", nil},
	{"internal/pgtest", nil},
	{"internal/sqlitetest", []string{"sqlite"}},
	{"internal/bounded", nil},
	{"setting", []string{"."}},
	{"prompt", []string{".", "setting", "model"}},
	{"live", []string{".", "observe", "store", "event"}},
	{"internal/tables", []string{".", "internal/transition", "store"}},
	{"internal/transfer", []string{".", "internal/tables"}},
	{"internal/transition", []string{".", "setting", "store", "event"}},
	{"internal/dryrun", []string{".", "internal/transition", "store"}},
	{"internal/words", []string{".", "store"}},
	{"internal/sqlschema", []string{"."}},
	{
		"sqlite",
		[]string{
			".",
			"setting",
			"internal/sqlschema",
			"internal/tables",
			"internal/transfer",
			"internal/transition",
			"internal/words",
			"store",
		},
	},
	{
		"postgres",
		[]string{
			".",
			"setting",
			"internal/tables",
			"internal/transfer",
			"internal/transition",
			"internal/words",
			"store",
			"event",
		},
	},
	{"store/storetest", []string{".", "setting", "store", "event"}},
	{"llm", []string{".", "model"}},
	{"llm/openai", []string{".", "llm/sse", "llm/wire", "model"}},
	{"llm/anthropic", []string{".", "llm/sse", "llm/wire", "model"}},
	{"llm/wire", []string{".", "internal/inflight", "llm/sse", "model"}},
	{"llm/record", []string{".", "model", "tool"}}, // it records what tools answer, too
	{"llm/*", []string{".", "model"}},
	{"internal/netguard", nil},
	{"internal/webhook", []string{".", "event", "internal/netguard"}},
	{"internal/oauth", []string{"internal/netguard"}},
	{"internal/lineedit", nil},
	{"internal/acpwire", []string{"."}},
	// A client of a server, for editors.
	{"internal/editor", []string{".", "client", "event", "internal/acpwire"}},
	{"internal/inflight", []string{"."}},
	{"internal/cgroup", nil},
	{"internal/zones", nil},
	{"internal/peer", nil}, // the kernel and the standard library
	{"internal/schema", []string{"."}},
	{"internal/partialjson", []string{".", "event"}},
	{"internal/timetable", []string{"."}},
	{
		"internal/artifact",
		[]string{".", "internal/document", "internal/inflight", "internal/schema", "internal/upload", "store"},
	},
	{"internal/transform", []string{".", "internal/artifact", "internal/document", "internal/schema", "store"}},
	{"internal/upload", []string{"."}},
	{"internal/document", []string{"."}},
	{"internal/imports", []string{"."}},
	{"internal/caught", nil}, // the standard library
	{"internal/metric", nil}, // the standard library
	{"internal/projectdir", []string{"."}},
	{
		"tool/builtin",
		[]string{
			".",
			"tool",
			"store",
			"internal/inflight",
			"internal/netguard",
			"internal/projectdir",
			"internal/words",
		},
	}, // it reads and searches sessions
	{"tool/team", []string{".", "tool", "store"}}, // it reads the agents of teams
	{"tool/document", []string{".", "tool", "store", "internal/artifact", "internal/document", "internal/transform"}},
	{
		"tool/mcp",
		[]string{
			".",
			"tool",
			"internal/inflight",
			"internal/netguard",
			"internal/oauth",
			"internal/program",
			"internal/schema",
		},
	},
	{
		"tool/*",
		[]string{".", "tool", "internal/inflight", "internal/netguard", "internal/program", "internal/schema"},
	},
	{"client", []string{".", "model", "event"}},
	{
		"engine",
		[]string{
			".",
			"event",
			"prompt",
			"setting",
			"internal/artifact",
			"internal/document",
			"internal/imports",
			"internal/inflight",
			"internal/projectdir",
			"internal/schema",
			"internal/timetable",
			"internal/transform",
			"internal/upload",
			"internal/webhook",
			"internal/words",
			"model",
			"runner",
			"store",
			"tool",
		},
	},
	{
		"worker",
		[]string{
			".",
			"prompt",
			"setting",
			"live",
			"internal/artifact",
			"internal/caught",
			"internal/inflight",
			"internal/dryrun",
			"internal/schema",
			"internal/timetable",
			"internal/transform",
			"internal/upload",
			"internal/webhook",
			"event",
			"model",
			"observe",
			"runner",
			"runner/standard",
			"store",
			"tool",
		},
	},
	{"stream", []string{".", "engine", "event", "internal/partialjson", "live", "runner", "store"}},
	{
		"conversation",
		[]string{
			".",
			"engine",
			"worker",
			"live",
			"stream",
			"model",
			"store",
			"tool",
			"event",
			"internal/partialjson",
			"internal/schema",
		},
	},
	{
		"httpapi",
		[]string{
			".",
			"engine",
			"stream",
			"setting",
			"internal/caught",
			"internal/inflight",
			"model",
			"observe",
			"protocol",
			"runner",
			"store",
			"event",
		},
	},
	// Other people's protocols: each knows the port, the verbs and the streams, and neither the server nor another.
	{"protocol", []string{".", "engine", "stream"}},
	{"internal/history", []string{".", "engine", "event", "protocol", "store", "stream"}},
	{"protocol/*", []string{".", "engine", "event", "internal/history", "protocol", "store", "stream"}},
	{"telemetry", []string{".", "internal/metric", "model", "observe", "store"}},
	{"httpapi/*", []string{".", "engine", "stream", "httpapi"}},
	{"web", nil},
	{"web/pack", nil},
	{"cmd/*", []string{".", "*", "*/*"}}, // the only place where concrete packages meet
	{"bench", nil},                       // talks to binaries over HTTP
	{
		"bench/cmd/*",
		[]string{
			".", "bench", "sqlite", "postgres", "internal/artifact", "internal/pgtest", "internal/words", "prompt",
			"model", "store",
		},
	},
	{"e2e", nil},
	{"e2e/*", []string{"e2e", "e2e/*"}},
}

// standardOnly lists packages that may import nothing outside the standard
// library either.
var standardOnly = []string{
	".",
	"event",
	"store",
	"model",
	"runner",
	"observe",
	"live",
	"prompt",
	"stream",
	"setting",
	"llm/sse",
	"internal/transition",
}

// httpFree lists packages that know no HTTP.
var httpFree = []string{
	".",
	"event",
	"store",
	"model",
	"runner",
	"observe",
	"live",
	"prompt",
	"setting",
	"stream",
	"worker",
}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImportsFollowTheMap(t *testing.T) {
	t.Parallel()
	packages := list(t)
	if len(packages) < 5 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, p := range packages {
		own := local(p.ImportPath)
		may, ok := allowed(own)
		if !ok {
			t.Errorf("%s stands in no rule: decide what it may import", own)
			continue
		}
		for _, imported := range p.Imports {
			switch {
			case isOwn(imported):
				if target := local(imported); !matches(may, target) {
					t.Errorf("%s imports %s; it may import only %v", own, target, may)
				}
			case slices.Contains(httpFree, own) && (imported == "net/http" || strings.HasPrefix(imported, "net/http/")):
				t.Errorf("%s imports %s; it may know no HTTP", own, imported)
			case slices.Contains(standardOnly, own) && strings.Contains(strings.Split(imported, "/")[0], "."):
				t.Errorf("%s imports %s; it may import the standard library only", own, imported)
			}
		}
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "./...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func isOwn(importPath string) bool {
	return importPath == module() || strings.HasPrefix(importPath, module()+"/")
}

func local(importPath string) string {
	if importPath == module() {
		return "."
	}
	return strings.TrimPrefix(importPath, module()+"/")
}

func allowed(own string) ([]string, bool) {
	for _, rule := range rules {
		if ok, _ := path.Match(rule.packages, own); ok {
			return rule.may, true
		}
	}
	return nil, false
}

func matches(patterns []string, target string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, target); ok {
			return true
		}
	}
	return false
}
