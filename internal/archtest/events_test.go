package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley/event"
)

// TestEventsAreTold holds the catalogue of events against the code: every event that is
// not reserved is told by something, none that is reserved is, and the types of events
// are constants that are generated from their structs.
func TestEventsAreTold(t *testing.T) {
	t.Parallel()
	told := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".cache" || entry.Name() == ".git" ||
			path == "../../event"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, "_gen.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CompositeLit:
				if of, ok := node.Type.(*ast.SelectorExpr); ok && isNamed(of.X, "event") {
					told[of.Sel.Name] = true
				}
			case *ast.GenDecl:
				if node.Tok == token.CONST && namesEventType(node) {
					t.Errorf("%s: types of events are generated: describe the event by a struct in event/", path)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range event.Catalogue() {
		switch {
		case d.Reserved && told[d.Name]:
			t.Errorf("%s is told and described as reserved", d.Event)
		case !d.Reserved && !told[d.Name]:
			t.Errorf("%s is described and told by nothing", d.Event)
		}
	}
}

// namesEventType reports that constants are declared as types of events.
func namesEventType(constants *ast.GenDecl) bool {
	for _, spec := range constants.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if of, ok := value.Type.(*ast.SelectorExpr); isNamed(value.Type, "EventType") ||
			ok && of.Sel.Name == "EventType" {
			return true
		}
	}
	return false
}

func isNamed(expression ast.Expr, name string) bool {
	ident, ok := expression.(*ast.Ident)
	return ok && ident.Name == name
}
