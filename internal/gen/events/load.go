package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// listBound bounds the go command, which compiles what is not in its cache.
const listBound = 5 * time.Minute

// source is a package without its generated files.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
}

// loader reads packages of this module from their sources, without generated files, so a generator never depends on its
// own output and can replace it when it is broken or missing. References to generated code stay unresolved; no
// description has any.
type loader struct {
	root, module string
	fset         *token.FileSet
	parsed       map[string][]*ast.File // by import path
	checked      map[string]*types.Package
	foreign      map[string]bool // import paths of other modules and the standard library
	compiled     types.Importer  // for those
}

// load reads and checks a package of the module at root.
func load(root, module, importPath string) (*source, error) {
	l := &loader{
		root: root, module: module, fset: token.NewFileSet(),
		parsed: map[string][]*ast.File{}, checked: map[string]*types.Package{}, foreign: map[string]bool{},
	}
	if err := l.parse(importPath); err != nil {
		return nil, err
	}
	exports, err := l.exports()
	if err != nil {
		return nil, err
	}
	l.compiled = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not imported", path)
		}
		return os.Open(exports[path])
	})
	pkg, err := l.Import(importPath)
	return &source{l.fset, l.parsed[importPath], pkg}, err
}

// parse reads a package and the packages of the module that it imports.
func (l *loader) parse(importPath string) error {
	if l.parsed[importPath] != nil {
		return nil
	}
	dir := filepath.Join(l.root, strings.TrimPrefix(importPath, l.module))
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	var own []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_gen.go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(l.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		l.parsed[importPath] = append(l.parsed[importPath], file)
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if name == l.module || strings.HasPrefix(name, l.module+"/") {
				own = append(own, name)
			} else {
				l.foreign[name] = true
			}
		}
	}
	if l.parsed[importPath] == nil {
		return fmt.Errorf("%s has no Go files", dir)
	}
	for _, name := range own {
		if err := l.parse(name); err != nil {
			return err
		}
	}
	return nil
}

// Import implements types.Importer.
func (l *loader) Import(importPath string) (*types.Package, error) {
	if pkg := l.checked[importPath]; pkg != nil {
		return pkg, nil
	}
	if l.parsed[importPath] == nil {
		return l.compiled.Import(importPath)
	}
	config := types.Config{Importer: l, Error: func(error) {}} // the compiler reports mistakes
	pkg, _ := config.Check(importPath, l.fset, l.parsed[importPath], nil)
	l.checked[importPath] = pkg
	return pkg, nil
}

// exports finds the compiled form of the foreign packages, and of all their dependencies.
func (l *loader) exports() (map[string]string, error) {
	exports := map[string]string{}
	if len(l.foreign) == 0 {
		return exports, nil
	}
	arguments := append(
		[]string{"list", "-export", "-deps", "-json=ImportPath,Export"},
		slices.Sorted(maps.Keys(l.foreign))...)
	ctx, cancel := context.WithTimeout(context.Background(), listBound)
	defer cancel()
	command := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // what this repository imports
	command.Dir = l.root
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %s", exit.Stderr)
		}
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct{ ImportPath, Export string }
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return exports, nil
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
}
