package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unaccompanied lists the methods of an Engine that need no Call, with the reason.
var unaccompanied = map[string]string{
	"Authenticate": "it finds out who calls",
	"LocalOwner":   "it finds out who calls",
	"HasKeys":      "it reports how callers are distinguished",
	"SignedIn":     "it finds out who calls",
	"NoteRefused":  "nobody is let in",
}

// unentered lists the methods that take a principal and are not verbs, with the reason.
var unentered = map[string]string{
	"MayChooseDirectories": "it repeats the table of roles, and reads nothing",
	"RoomToExport":         "it counts who exports; the export enters by what it reads",
}

// TestEveryVerbEnters: an exported method of an Engine that reaches the store or takes a principal does so through
// enter, directly or by another method, and nothing else makes a scope.
func TestEveryVerbEnters(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods, functions := map[string]*ast.FuncDecl{}, map[string]*ast.FuncDecl{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			switch f, ok := declared.(*ast.FuncDecl); {
			case ok && receiver(f) == "Engine":
				methods[f.Name.Name] = f
			case ok:
				functions[receiver(f)+"."+f.Name.Name] = f
			}
		}
	}
	verbs := 0
	for name, method := range methods {
		if !ast.IsExported(name) || name == "Begin" {
			continue
		}
		store := reaches(methods, name, "store", nil)
		enters := reaches(methods, name, "enter", nil)
		if store && enters {
			verbs++
		}
		if takesPrincipal(method) && !enters && unentered[name] == "" {
			t.Errorf("%s takes a principal and does not enter (%s)", name, set.Position(method.Pos()))
		}
		if reason := unaccompanied[name]; store && !enters && reason == "" {
			t.Errorf("%s reads or changes the store without enter (%s)", name, set.Position(method.Pos()))
		}
		if unaccompanied[name] != "" && enters {
			t.Errorf("%s enters; take it off the list", name)
		}
		if at := firstUse(
			method,
			"store",
		); enters && at.IsValid() && firstUse(method, "enter").IsValid() &&
			at < firstUse(method, "enter") {
			t.Errorf("%s reaches the store before it enters (%s)", name, set.Position(at))
		}
	}
	for name, method := range methods {
		if calls(method, "scopeOf") {
			t.Errorf("%s makes a scope of its own (%s)", name, set.Position(method.Pos()))
		}
	}
	for name, function := range functions {
		tells := name != ".authorise" && calls(function, "scopeOf")
		if ast.IsExported(function.Name.Name) && takesPrincipal(function) || tells {
			t.Errorf("%s makes a scope without enter (%s)", name, set.Position(function.Pos()))
		}
	}
	if verbs < 60 {
		t.Errorf("only %d verbs were found; the test looks in the wrong place", verbs)
	}
}

func receiver(method *ast.FuncDecl) string {
	if method.Recv == nil {
		return ""
	}
	star, ok := method.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	name, ok := star.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// takesPrincipal reports whether a function has a principal among its parameters.
func takesPrincipal(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(field *ast.Field) bool {
		selected, ok := field.Type.(*ast.SelectorExpr)
		return ok && selected.Sel.Name == "Principal"
	})
}

// calls reports whether a function calls another one of the package.
func calls(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f.Body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if ok {
			called, ok := call.Fun.(*ast.Ident)
			found = found || ok && called.Name == name
		}
		return !found
	})
	return found
}

// firstUse returns the position of a method's first use of e.<name>.
func firstUse(method *ast.FuncDecl, name string) (at token.Pos) {
	ast.Inspect(method.Body, func(node ast.Node) bool {
		selected, ok := node.(*ast.SelectorExpr)
		if ok && !at.IsValid() && isEngine(selected.X) && selected.Sel.Name == name {
			at = selected.Pos()
		}
		return true
	})
	return at
}

func isEngine(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && name.Name == "e"
}

// reaches reports whether a method uses e.<name>, directly or through methods that it calls.
func reaches(methods map[string]*ast.FuncDecl, from, name string, passed []string) (found bool) {
	method := methods[from]
	if method == nil || slices.Contains(passed, from) {
		return false
	}
	if firstUse(method, name).IsValid() {
		return true
	}
	ast.Inspect(method.Body, func(node ast.Node) bool {
		selected, ok := node.(*ast.SelectorExpr)
		if ok && !found && isEngine(selected.X) && selected.Sel.Name != name {
			found = reaches(methods, selected.Sel.Name, name, append(passed, from))
		}
		return !found
	})
	return found
}
