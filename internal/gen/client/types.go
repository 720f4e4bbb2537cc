package client

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/gen/operations"
	"example.org/parley/model"
)

// shared lists the packages whose types the client uses directly.
func shared() []string {
	return []string{
		reflect.TypeFor[parley.ID]().PkgPath(), reflect.TypeFor[model.Info]().PkgPath(),
		reflect.TypeFor[event.Settled]().PkgPath(),
	}
}

// types are the Go types that the client declares in place of the server's, which it may not import.
type types struct {
	comments *operations.Comments
	names    map[reflect.Type]string
	taken    map[string]reflect.Type
	sent     map[reflect.Type]bool // parts of bodies: absent fields stay absent
	pending  []reflect.Type        // named but not declared yet
}

// expression returns a type in the client's spelling.
func (ts *types) expression(t reflect.Type) (string, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		of, err := ts.expression(t.Elem())
		return "*" + of, err
	case t.PkgPath() == "encoding/json":
		return t.String(), nil
	case strings.HasPrefix(t.Name(), "Change["):
		value, _ := t.FieldByName("Value")
		of, err := ts.expression(value.Type)
		return "parley.Change[" + of + "]", err
	case slices.Contains(shared(), t.PkgPath()):
		return t.String(), nil
	case t.Kind() == reflect.Slice:
		of, err := ts.expression(t.Elem())
		return "[]" + of, err
	case t.Kind() == reflect.Array:
		of, err := ts.expression(t.Elem())
		return fmt.Sprintf("[%d]%s", t.Len(), of), err
	case t.Kind() == reflect.Map:
		key, err := ts.expression(t.Key())
		if err != nil {
			return "", err
		}
		of, err := ts.expression(t.Elem())
		return "map[" + key + "]" + of, err
	}
	if rows, ok := operations.RowsOf(t); ok {
		of, err := ts.expression(rows)
		return "Page[" + of + "]", err
	}
	if t.Kind() != reflect.Struct {
		return t.Kind().String(), nil // a named word or number is its underlying type
	}
	if t.Name() == "" {
		return "", fmt.Errorf("%v has no name", t)
	}
	return ts.name(t)
}

// name returns the client's name of a struct, which is declared in the first file that uses it.
func (ts *types) name(t reflect.Type) (string, error) {
	if name := ts.names[t]; name != "" {
		return name, nil
	}
	name := exported(t)
	if other := ts.taken[name]; other != nil {
		return "", fmt.Errorf("%v and %v would both be %s", t, other, name)
	}
	ts.names[t], ts.taken[name] = name, t
	ts.pending = append(ts.pending, t)
	return name, nil
}

// send marks a type and its parts as sent.
func (ts *types) send(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || ts.sent[t] || slices.Contains(shared(), t.PkgPath()) {
		return
	}
	ts.sent[t] = true
	for i := range t.NumField() {
		ts.send(t.Field(i).Type)
	}
}

// declare generates the declarations of all types named since the last time, and of the types that they use.
func (ts *types) declare(out *strings.Builder) error {
	for len(ts.pending) > 0 {
		t := ts.pending[0]
		ts.pending = ts.pending[1:]
		if err := ts.declareOne(out, t); err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
	}
	return nil
}

func (ts *types) declareOne(out *strings.Builder, t reflect.Type) error {
	name := ts.names[t]
	about, err := ts.comments.Type(t)
	if err != nil {
		return err
	}
	about = cmp.Or(strings.TrimPrefix(about, t.Name()+" "), "is part of an answer.")
	writeComment(out, "", name+" "+about)
	fmt.Fprintf(out, "type %s struct {\n", name)
	embedded, err := ts.fields(out, t, name)
	if err != nil {
		return err
	}
	out.WriteString("}\n\n")
	return ts.declareJoined(out, t, name, embedded)
}

// fields generates the fields of a struct, and returns the names of those that it embeds. An embedded struct with the
// same name is a smaller form of it, so its fields become the struct's own.
func (ts *types) fields(out *strings.Builder, t reflect.Type, name string) (embedded []string, err error) {
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || field.Tag.Get("json") == "-" {
			continue
		}
		if field.Anonymous && !slices.Contains(shared(), field.Type.PkgPath()) && exported(field.Type) == name {
			if _, err := ts.fields(out, field.Type, name); err != nil {
				return nil, err
			}
			continue
		}
		of, err := ts.expression(field.Type)
		if err != nil {
			return nil, err
		}
		if field.Anonymous {
			fmt.Fprintf(out, "%s\n", of)
			embedded = append(embedded, of[strings.LastIndex(of, ".")+1:])
			continue
		}
		doc, err := ts.comments.Field(t, &field)
		if err != nil {
			return nil, err
		}
		if doc != "" {
			writeComment(out, "\t", doc)
		}
		key := field.Tag.Get("json")
		if !ts.sent[t] {
			key, _, _ = strings.Cut(key, ",") // an answer has every field
		}
		fmt.Fprintf(out, "%s %s `json:%q`\n", field.Name, of, key)
	}
	return embedded, nil
}

// exported returns the client's name of a server type.
func exported(t reflect.Type) string { return strings.ToUpper(t.Name()[:1]) + t.Name()[1:] }

// declareJoined gives a struct that embeds a type with its own MarshalJSON one for the whole: otherwise Go would
// promote the embedded one and omit the rest.
func (ts *types) declareJoined(out *strings.Builder, t reflect.Type, name string, embedded []string) error {
	marshals := reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.Anonymous || !slices.Contains(shared(), field.Type.PkgPath()) || !field.Type.Implements(marshals) {
			continue
		}
		if len(embedded) != t.NumField() {
			return fmt.Errorf("it embeds %v, which encodes itself: embed the rest, too", field.Type)
		}
		fmt.Fprintf(
			out,
			"// MarshalJSON writes its parts as one object.\nfunc (v %s) MarshalJSON() ([]byte, error) {\n",
			name,
		)
		fmt.Fprintf(out, "return joined(v.%s)\n}\n\n", strings.Join(embedded, ", v."))
		return nil
	}
	return nil
}
