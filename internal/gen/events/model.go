package events

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// object is a struct of package event: an event's data, or part of it.
type object struct {
	name   string
	doc    string
	fields []field
	whole  []field // with embedded structs replaced by their members

	kind                          string // the event's type; "" for a part
	durable, feed, live, reserved bool
}

// field is one member of an object.
type field struct {
	path     string   // selector below the struct
	name     string   // in JSON
	values   []string // allowed values, if the list is closed
	doc      string
	typ      types.Type
	null     bool   // null if nil
	omitted  bool   // left out if empty
	under    string // embedded pointer; if that is nil, the member is left out
	of       string // meaning of the value, where the type does not tell
	unstored bool   // null in the stored form
	embedded bool
}

// optional reports whether the member may be left out.
func (f *field) optional() bool { return f.omitted || f.under != "" }

// model is everything that package event describes.
type model struct {
	module  string // import path of package parley
	objects []*object
	byName  map[string]*object
}

// events returns the objects that are events, in the order of description.
func (m *model) events() []*object {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *object) bool { return o.kind == "" })
}

// order is the order of the files: first what a session goes through, then what surrounds it.
var order = []string{ //nolint:gochecknoglobals // never written
	"session",
	"message",
	"step",
	"tool",
	"approval",
	"delegation",
	"inbox",
	"limit",
	"loop",
	"compaction",
	"call",
	"feed",
	"object",
}

func describe(s *source, module string) (*model, error) {
	m := &model{module: module, byName: map[string]*object{}}
	slices.SortStableFunc(s.files, func(a, b *ast.File) int { return s.place(a) - s.place(b) })
	for _, file := range s.files {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				if err := m.add(
					s,
					spec.(*ast.TypeSpec),
					general.Doc,
				); err != nil { //nolint:forcetypeassert // of a type declaration
					return nil, err
				}
			}
		}
	}
	for _, o := range m.objects {
		if err := m.flatten(o); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// place returns the position of a file's events in documents.
func (s *source) place(file *ast.File) int {
	name := s.fset.Position(file.Package).Filename
	at := slices.IndexFunc(order, func(stem string) bool { return strings.HasSuffix(name, "/"+stem+".go") })
	if at < 0 {
		return len(order)
	}
	return at
}

// add adds a type if it is an object: a struct with members that JSON names, or with embedded ones.
func (m *model) add(s *source, spec *ast.TypeSpec, doc *ast.CommentGroup) error {
	parsed, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	declared, ok := s.pkg.Scope().Lookup(spec.Name.Name).Type().Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("event.%s cannot be resolved", spec.Name.Name)
	}
	o := &object{name: spec.Name.Name}
	if err := o.directive(doc); err != nil {
		return err
	}
	at, named := 0, 0
	for _, f := range parsed.Fields.List {
		for range max(1, len(f.Names)) {
			one := fieldOf(declared, at, f)
			one.values = s.valuesOf(one.typ)
			if one.name != "" || one.embedded {
				o.fields = append(o.fields, one)
			}
			if one.name != "" {
				named++
			}
			at++
		}
	}
	switch {
	case o.kind == "" && named == 0: // not an object of JSON
		return nil
	case len(o.fields) == 0:
		return fmt.Errorf("event.%s is an event without members", o.name)
	}
	if o.doc == "" {
		return fmt.Errorf("event.%s has no documentation", o.name)
	}
	for i := range o.fields {
		if f := &o.fields[i]; f.doc == "" && !f.embedded {
			return fmt.Errorf("event.%s.%s has no documentation", o.name, f.path)
		}
	}
	m.objects = append(m.objects, o)
	m.byName[o.name] = o
	return nil
}

var directive = regexp.MustCompile(`^//event:([a-z,]+)$`)

// directive reads an event's documentation, and how it is delivered.
func (o *object) directive(doc *ast.CommentGroup) error {
	if doc == nil {
		return nil
	}
	o.doc = strings.TrimSpace(doc.Text())
	for _, line := range doc.List {
		found := directive.FindStringSubmatch(line.Text)
		if found == nil {
			continue
		}
		o.kind = kindOf(o.name)
		for word := range strings.SplitSeq(found[1], ",") {
			flag := map[string]*bool{"durable": &o.durable, "feed": &o.feed, "live": &o.live,
				"reserved": &o.reserved}[word]
			if flag == nil {
				return fmt.Errorf("event.%s: %q is not a way to deliver an event", o.name, word)
			}
			*flag = true
		}
		if !o.durable && !o.feed && !o.live || o.live && (o.durable || o.feed) {
			return fmt.Errorf("event.%s is durable, of the feed, both, or live", o.name)
		}
	}
	return nil
}

// kindOf returns step.started for StepStarted, session.status_changed for SessionStatusChanged.
func kindOf(name string) string {
	var out strings.Builder
	words := 0
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			words++
			if words == 1 {
				out.WriteByte('.')
			} else {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// fieldOf describes a member; parsed is nil for a member of another package, whose comments are not read.
func fieldOf(declared *types.Struct, at int, parsed *ast.Field) field {
	v, tag := declared.Field(at), reflect.StructTag(declared.Tag(at))
	name, options, _ := strings.Cut(tag.Get("json"), ",")
	f := field{
		path:     v.Name(),
		name:     name,
		typ:      v.Type(),
		embedded: v.Embedded(),
		of:       tag.Get("of"),
		unstored: tag.Get("stored") == "null",
	}
	f.omitted = options == "omitzero" || options == "omitempty"
	if pointer, ok := f.typ.(*types.Pointer); ok && !f.embedded {
		f.typ, f.null = pointer.Elem(), true
	}
	if parsed == nil {
		return f
	}
	comment := parsed.Doc
	if comment == nil {
		comment = parsed.Comment
	}
	if comment != nil {
		f.doc = sentence(strings.Join(strings.Fields(comment.Text()), " "))
	}
	return f
}

// sentence adds an initial capital and a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	runes := []rune(text)
	if len(runes) > 1 && !strings.ContainsAny(strings.Fields(text)[0], "_/") {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return strings.TrimSuffix(string(runes), ".") + "."
}

// flatten replaces embedded structs by their members.
func (m *model) flatten(o *object) error {
	for _, f := range o.fields {
		if !f.embedded {
			o.whole = append(o.whole, f)
			continue
		}
		typ, under := f.typ, ""
		if pointer, ok := typ.(*types.Pointer); ok {
			typ, under = pointer.Elem(), f.path
		}
		named, ok := typ.(*types.Named)
		if !ok || m.byName[named.Obj().Name()] == nil {
			return fmt.Errorf("event.%s embeds %s, which is not described", o.name, f.path)
		}
		for _, inner := range m.byName[named.Obj().Name()].fields {
			if inner.embedded {
				return fmt.Errorf("event.%s embeds %s, which embeds too", o.name, f.path)
			}
			inner.path, inner.under = f.path+"."+inner.path, under
			o.whole = append(o.whole, inner)
		}
	}
	if first := o.whole[0]; !m.isBase(o) && first.optional() {
		return fmt.Errorf(
			"event.%s begins with %s, which may be left out: let it begin with another",
			o.name,
			first.path,
		)
	}
	return nil
}

// says returns the documentation of an event without its struct's name, for people who do not read Go; that of a part
// unchanged.
func (o *object) says() string {
	text := flowing(o.doc)
	if o.kind == "" {
		return text
	}
	return sentence(strings.TrimPrefix(strings.TrimPrefix(text, o.name+" "), "is "))
}

// isBase reports whether an object exists only to be embedded.
func (m *model) isBase(o *object) bool {
	for _, other := range m.objects {
		for _, f := range other.fields {
			if f.embedded && f.path == o.name {
				return true
			}
		}
	}
	return false
}

// shown returns the objects that appear in JSON: events, and their parts.
func (m *model) shown() []*object {
	return slices.DeleteFunc(slices.Clone(m.objects), m.isBase)
}

// valuesOf returns the values of a type with a closed list: its constants, in order.
func (s *source) valuesOf(t types.Type) []string {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	if basic, ok := named.Underlying().(*types.Basic); !ok || basic.Kind() != types.String {
		return nil
	}
	scope := named.Obj().Pkg().Scope()
	var constants []*types.Const
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), named) {
			constants = append(constants, c)
		}
	}
	slices.SortStableFunc(constants, func(a, b *types.Const) int {
		at, other := s.fset.Position(a.Pos()), s.fset.Position(b.Pos())
		return cmp.Or(strings.Compare(at.Filename, other.Filename), at.Line-other.Line)
	})
	var values []string
	for _, c := range constants {
		if value, err := strconv.Unquote(c.Val().ExactString()); err == nil && value != "" {
			values = append(values, value)
		}
	}
	return values
}
