package operations

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Comments are the source comments of types and their fields.
type Comments struct {
	root, module string
	packages     map[string]map[string]comment // by import path and type
}

type comment struct {
	about  string
	fields map[string]string
}

// ReadComments prepares the comments of the module at root. module is the path of this program, which differs from
// go.mod only while the tree is being renamed.
func ReadComments(root, module string) *Comments {
	return &Comments{root: root, module: module, packages: map[string]map[string]comment{}}
}

// Type returns the comment of a type, or "".
func (c *Comments) Type(t reflect.Type) (string, error) {
	said, err := c.find(t)
	return said.about, err
}

// Field returns a field's documentation: its tag doc, or else its comment.
func (c *Comments) Field(t reflect.Type, field *reflect.StructField) (string, error) {
	if doc := field.Tag.Get("doc"); doc != "" {
		return doc, nil
	}
	said, err := c.find(t)
	return said.fields[field.Name], err
}

func (c *Comments) find(t reflect.Type) (comment, error) {
	types, ok := c.packages[t.PkgPath()]
	if !ok {
		var err error
		if types, err = c.parse(t.PkgPath()); err != nil {
			return comment{}, err
		}
		c.packages[t.PkgPath()] = types
	}
	return types[t.Name()], nil
}

func (c *Comments) parse(importPath string) (map[string]comment, error) {
	dir := filepath.Join(c.root, strings.TrimPrefix(importPath, c.module))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	types := map[string]comment{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declared := range file.Decls {
			group, ok := declared.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				if of, ok := spec.(*ast.TypeSpec); ok {
					types[of.Name.Name] = commentOf(group, of)
				}
			}
		}
	}
	return types, nil
}

func commentOf(group *ast.GenDecl, of *ast.TypeSpec) comment {
	said := comment{about: flowing(of.Doc), fields: map[string]string{}}
	if said.about == "" {
		said.about = flowing(group.Doc)
	}
	fields, ok := of.Type.(*ast.StructType)
	if !ok {
		return said
	}
	for _, field := range fields.Fields.List {
		text := flowing(field.Doc)
		if text == "" {
			text = flowing(field.Comment)
		}
		for _, name := range field.Names {
			said.fields[name.Name] = text
		}
	}
	return said
}

// flowing returns a comment on one line.
func flowing(group *ast.CommentGroup) string { return strings.Join(strings.Fields(group.Text()), " ") }
