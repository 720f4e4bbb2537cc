package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// watchers are the packages that may watch a hub by themselves.
var watchers = map[string]string{
	"live":   "it is the hub",
	"stream": "it asks the engine before",
	"worker": "a dry run has a hub of its own, which nobody else sees",
}

// faces are the packages that stand for a principal. They reach what is kept by the
// engine's verbs, and watch it by streams.
var faces = []string{"httpapi", "conversation"}

// TestOneWayIn: whatever is watched is admitted by the engine, and whoever stands for
// a principal calls no method of a store.
func TestOneWayIn(t *testing.T) {
	t.Parallel()
	set, seen := token.NewFileSet(), map[string]bool{}
	for _, p := range list(t) {
		own := local(p.ImportPath)
		names, err := filepath.Glob(filepath.Join("../..", own, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if named, ok := node.(*ast.Ident); ok && named.Name == "WatchRequest" {
					seen[own] = true
					if watchers[own] == "" {
						t.Errorf(
							"%s watches the hub by itself; package stream opens what the engine admits",
							set.Position(named.Pos()),
						)
					}
				}
				if called := ofStore(node); called != "" && called != "Listen" && slices.Contains(faces, own) {
					t.Errorf("%s calls the store's %s; the engine has the verbs", set.Position(node.Pos()), called)
				}
				return true
			})
		}
	}
	for own := range watchers {
		if !seen[own] {
			t.Errorf("%s does not watch the hub; take it off the list", own)
		}
	}
}

// ofStore is the method that a node calls of something named store.
func ofStore(node ast.Node) string {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch of := method.X.(type) {
	case *ast.Ident:
		if strings.EqualFold(of.Name, "store") {
			return method.Sel.Name
		}
	case *ast.SelectorExpr:
		if strings.EqualFold(of.Sel.Name, "store") {
			return method.Sel.Name
		}
	}
	return ""
}
