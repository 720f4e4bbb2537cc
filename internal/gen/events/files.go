// Package events generates code and documents from the structs of package event: their encoders,
// the constants of parley.EventType, the catalogue for the OpenAPI document, the page's types and
// docs/events.md. The structs are authoritative.
package events

import (
	"errors"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// Files returns the generated files by their paths below the module's root.
func Files(root string) (map[string][]byte, error) {
	module, err := moduleOf(root)
	if err != nil {
		return nil, err
	}
	s, err := load(root, module, module+"/event")
	if err != nil {
		return nil, err
	}
	m, err := describe(s, module)
	if err != nil {
		return nil, err
	}
	written := map[string][]byte{}
	for _, of := range []struct {
		path  string
		write func() ([]byte, error)
	}{
		{"event_gen.go", m.constants},
		{"event/encode_gen.go", m.encoders},
		{"event/catalogue_gen.go", m.catalogue},
		{"web/src/api/events.ts", m.typescript},
		{"docs/events.md", m.document},
	} {
		if written[of.path], err = of.write(); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// moduleOf returns the path of the module at root.
func moduleOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod")) //nolint:gosec // of this repository
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	path, ok := strings.CutPrefix(first, "module ")
	if !ok {
		return "", errors.New("go.mod does not begin with the module's path")
	}
	return strings.TrimSpace(path), nil
}

// goName returns a type in package event's spelling.
func goName(t types.Type) string {
	return strings.TrimPrefix(types.TypeString(t, func(p *types.Package) string {
		if p.Name() == "event" {
			return ""
		}
		return p.Name()
	}), ".")
}
