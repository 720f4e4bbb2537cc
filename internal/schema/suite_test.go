package schema

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// isElsewhere reports whether a group of the official suite does not apply: its schemas refer to other documents, or
// contain NUL, which is refused here.
func isElsewhere(err error) bool {
	return errors.Is(err, errRemote) || strings.Contains(err.Error(), "NUL")
}

// TestOfficialSuite runs JSON Schema's own test suite, which is in a library's test data.
func TestOfficialSuite(t *testing.T) {
	t.Parallel()
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for draft, dialect := range map[string]string{"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft7": "http://json-schema.org/draft-07/schema#"} {
		files, err := filepath.Glob(
			filepath.Join(strings.TrimSpace(string(found)), "jsonschema", "testdata", draft, "*.json"),
		)
		if err != nil || len(files) == 0 {
			t.Fatalf("the suite is missing: %v", err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var groups []struct {
				Description string
				Schema      json.RawMessage
				Tests       []struct {
					Description string
					Data        json.RawMessage
					Valid       bool
				}
			}
			if err := json.Unmarshal(raw, &groups); err != nil {
				t.Fatal(err)
			}
			for _, group := range groups {
				if draft == "draft7" && group.Schema[0] == '{' && !strings.Contains(string(group.Schema), `"$schema"`) {
					group.Schema = json.RawMessage(
						strings.Replace(string(group.Schema), "{", `{"$schema":"`+dialect+`",`, 1),
					)
					group.Schema = json.RawMessage(strings.Replace(string(group.Schema), ",}", "}", 1))
				}
				s, err := Read(group.Schema)
				if err != nil && isElsewhere(err) {
					continue
				}
				if err != nil {
					t.Errorf("%s/%s: %s: %v", draft, filepath.Base(file), group.Description, err)
					continue
				}
				for _, test := range group.Tests {
					checked++
					if fits, err := s.Fits(t.Context(), string(test.Data)); err != nil || fits != test.Valid {
						t.Errorf(
							"%s/%s: %s: %s: %v, %v",
							draft,
							filepath.Base(file),
							group.Description,
							test.Description,
							fits,
							err,
						)
					}
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d values were checked", checked)
	}
}
