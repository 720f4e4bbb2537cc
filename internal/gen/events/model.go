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

// object is a struct of package event: an event's data, or a part of some.
type object struct {
	name   string
	doc    string
	fields []field
	whole  []field // with those of embedded structs in their place

	kind                          string // the event's type; "" for a part
	durable, feed, live, reserved bool
}

// field is one member of an object.
type field struct {
	path     string   // below the struct, as Go selects it
	name     string   // in JSON
	values   []string // those that it may have, of a closed list
	doc      string
	typ      types.Type
	null     bool   // null when it is nil
	omitted  bool   // left out when it is empty
	under    string // the embedded pointer without which it is left out
	of       string // what the value is, where the type does not say it
	unstored bool   // null in what is stored
	embedded bool
}

// optional reports that the member may be left out.
func (f *field) optional() bool { return f.omitted || f.under != "" }

// model is what package event describes.
type model struct {
	module  string // where package parley is
	objects []*object
	byName  map[string]*object
}

// events are the objects that are events, in the order in which they are described.
func (m *model) events() []*object {
	return slices.DeleteFunc(slices.Clone(m.objects), func(o *object) bool { return o.kind == "" })
}

// order is that of the files: what a session goes through first, then what surrounds it.
var order = []string{ //nolint:gochecknoglobals // never written
	"session",
	"message",
	"step",
	"tool",
	"approval",
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

// place is where a file's events stand in documents.
func (s *source) place(file *ast.File) int {
	name := s.fset.Position(file.Package).Filename
	at := slices.IndexFunc(order, func(stem string) bool { return strings.HasSuffix(name, "/"+stem+".go") })
	if at < 0 {
		return len(order)
	}
	return at
}

// add takes in a type if it is an object: a struct with members that JSON names, or
// with embedded ones.
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

// kindOf is step.started for StepStarted, session.status_changed for SessionStatusChanged.
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

// fieldOf describes a member; parsed is nil for one of another package, whose comments are not read.
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

// sentence begins with a capital and ends with a full stop.
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

// flatten puts the members of embedded structs in their place.
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
	return nil
}

// says is the documentation of an event without its struct's name, for people who do not
// read Go; that of a part as it is.
func (o *object) says() string {
	text := flowing(o.doc)
	if o.kind == "" {
		return text
	}
	return sentence(strings.TrimPrefix(strings.TrimPrefix(text, o.name+" "), "is "))
}

// isBase reports that an object is only there to be embedded.
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

// shown are the objects that JSON shows as such: events, and parts of them.
func (m *model) shown() []*object {
	return slices.DeleteFunc(slices.Clone(m.objects), m.isBase)
}

// valuesOf are the values of a type with a closed list: its constants, in order.
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
