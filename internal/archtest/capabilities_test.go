package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// ports are the packages of which no value is asked at run time whether it can more.
var ports = map[string]bool{"store": true, "model": true, "tool": true, "runner": true, "observe": true}

// mostMethods is how many methods an interface of the store's port has, with what it
// embeds; that of the turns is the state machine itself.
const (
	mostMethods      = 10
	mostTurnsMethods = 25
)

// TestCapabilitiesAreDeclared: a wrapper that forgets a capability does not compile,
// because nothing asks for one by a type assertion.
func TestCapabilitiesAreDeclared(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && generatedOrForeign[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			assertion, ok := node.(*ast.TypeAssertExpr)
			if !ok {
				return true
			}
			if port, ok := assertion.Type.(*ast.SelectorExpr); ok {
				if from, ok := port.X.(*ast.Ident); ok && ports[from.Name] {
					t.Errorf(
						"%s asserts %s.%s: declare it in the port",
						set.Position(assertion.Pos()),
						from.Name,
						port.Sel.Name,
					)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheStoresInterfacesAreSmall counts the methods of each.
func TestTheStoresInterfacesAreSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../store/*.go")
	if err != nil {
		t.Fatal(err)
	}
	interfaces := map[string]*ast.InterfaceType{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					if of, ok := named.Type.(*ast.InterfaceType); ok {
						interfaces[named.Name.Name] = of
					}
				}
			}
		}
	}
	if len(interfaces["Turns"].Methods.List) == 0 {
		t.Fatal("store.Turns has no methods")
	}
	for name, of := range interfaces {
		most := mostMethods
		switch name {
		case "Store", "Entities": // many of them: all, and those that the engine uses as they are
			continue
		case "Turns":
			most = mostTurnsMethods
		}
		if n := methodsOf(interfaces, of); n > most {
			t.Errorf("store.%s has %d methods; the most is %d", name, n, most)
		}
	}
}

func methodsOf(interfaces map[string]*ast.InterfaceType, of *ast.InterfaceType) (n int) {
	for _, method := range of.Methods.List {
		if embedded, ok := method.Type.(*ast.Ident); ok {
			if other, ok := interfaces[embedded.Name]; ok {
				n += methodsOf(interfaces, other)
				continue
			}
		}
		n++
	}
	return n
}
