package archtest

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// generatedOrForeign are directories whose files are not named by hand.
var generatedOrForeign = map[string]bool{
	".git":         true,
	".cache":       true,
	"node_modules": true,
	"dist":         true,
	"testdata":     true,
}

// TestNoFileNameIsThePluralOfAnother: of turn.go and turns.go nobody remembers which
// holds what.
func TestNoFileNameIsThePluralOfAnother(t *testing.T) {
	t.Parallel()
	stems := map[string]map[string]string{} // by directory: the stem and a file that has it
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && generatedOrForeign[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		stem, extension, _ := strings.Cut(entry.Name(), ".")
		switch extension {
		case "go", "ts", "tsx", "test.ts", "test.tsx":
		default:
			return nil
		}
		dir := filepath.Dir(path)
		if stems[dir] == nil {
			stems[dir] = map[string]string{}
		}
		stems[dir][strings.TrimSuffix(stem, "_test")] = path
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, own := range stems {
		for stem, path := range own {
			for _, plural := range pluralsOf(stem) {
				if other, ok := own[plural]; ok {
					t.Errorf("%s and %s differ by a plural alone: name one after what only it holds", path, other)
				}
			}
		}
	}
}

func pluralsOf(stem string) []string {
	plurals := []string{stem + "s", stem + "es"}
	if one, ok := strings.CutSuffix(stem, "y"); ok {
		plurals = append(plurals, one+"ies")
	}
	return plurals
}
