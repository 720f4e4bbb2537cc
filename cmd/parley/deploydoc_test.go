package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// settingRow is a row of the table in docs/deploy.md.
type settingRow struct{ flag, variable, key, standard string }

var inCode = regexp.MustCompile("`([^`]+)`")

// settingsTable reads the rows of the page's section on settings.
func settingsTable(t *testing.T) (rows []settingRow, page string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	page = string(text)
	_, section, _ := strings.Cut(page, "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	cell := func(text string) string {
		if found := inCode.FindStringSubmatch(text); found != nil {
			return found[1]
		}
		return ""
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "flag" {
			continue
		}
		rows = append(
			rows,
			settingRow{
				flag:     strings.TrimPrefix(cell(cells[1]), "--"),
				variable: cell(cells[2]),
				key:      cell(cells[3]),
				standard: strings.TrimSpace(cells[4]),
			},
		)
	}
	return rows, page
}

// TestDeployPageListsEverySetting: the table of docs/deploy.md and the program
// agree on flags, their defaults, variables and the keys of parley.yaml.
func TestDeployPageListsEverySetting(t *testing.T) {
	t.Parallel()
	rows, page := settingsTable(t)
	flags, variables, keys := map[string]string{}, map[string]string{}, map[string]string{}
	for _, row := range rows {
		flags[row.flag], variables[row.variable], keys[row.key] = row.standard, row.standard, row.standard
	}
	for _, m := range []map[string]string{flags, variables, keys} {
		delete(m, "")
	}

	serve, _, err := rootCommand(terminal{}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	serve.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			known = append(known, f.Name)
		}
		// What is empty or zero is told in words.
		if standard, ok := flags[f.Name]; ok && !slices.Contains([]string{"", "0", "0s", "[]", "false"}, f.DefValue) &&
			!strings.Contains(standard, "`"+f.DefValue+"`") {
			t.Errorf("the page says that --%s is %q by default, the program %q", f.Name, standard, f.DefValue)
		}
	})
	serve.InheritedFlags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	agree(t, "flag", known, flags)
	agree(t, "variable", variablesOfSources(t), variables)

	var fields []string
	of := reflect.TypeFor[settings]()
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("yaml"); name != "-" {
			fields = append(fields, name)
		}
	}
	agree(t, "key of parley.yaml", fields, keys)
	for _, provider := range knownProviders {
		for _, name := range []string{provider.KeyEnv, provider.baseURLEnv} {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not tell of %s", name)
			}
		}
	}
}

// agree reports what stands on one side only.
func agree(t *testing.T, what string, known []string, told map[string]string) {
	t.Helper()
	if len(known) == 0 {
		t.Fatalf("the program has no %s", what)
	}
	for _, name := range known {
		if _, ok := told[name]; !ok {
			t.Errorf("the %s %s stands not in the table", what, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if !slices.Contains(known, name) {
			t.Errorf("the table's %s %s is none of the program's", what, name)
		}
	}
}

// notTheProgram are directories whose variables are not the program's.
var notTheProgram = []string{"e2e", "bench", "deploy", "docs", "internal/pgtest"}

// variablesOfSources are the PARLEY_ variables whose names stand in the program's sources.
func variablesOfSources(t *testing.T) (names []string) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(path, root+"/")
		if entry.IsDir() &&
			(slices.Contains(notTheProgram, below) || (path != root && strings.HasPrefix(entry.Name(), "."))) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // of this repository
		if err != nil {
			return err
		}
		for _, found := range regexp.MustCompile(`"(PARLEY_[A-Z_]+)"`).FindAllSubmatch(text, -1) {
			if name := string(found[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
