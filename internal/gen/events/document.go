package events

import (
	"bytes"
	_ "embed"
	"go/types"
	"strings"
	"text/template"
)

//go:embed events.md.tmpl
var page string

// document generates docs/events.md.
func (m *model) document() ([]byte, error) {
	parsed, err := template.New("events.md").Funcs(template.FuncMap{"flowing": flowing}).Parse(page)
	if err != nil {
		return nil, err
	}
	var d contents
	for _, o := range m.shown() {
		one := entry{Name: o.name, Type: o.kind, Doc: strings.Join(wrapped(o.says(), 100), "\n")}
		for i := range o.whole {
			one.Fields = append(one.Fields, row(&o.whole[i]))
		}
		switch {
		case o.kind == "":
			d.Parts = append(d.Parts, one)
		case o.reserved:
			d.Reserved = append(d.Reserved, one)
		case o.durable:
			one.Feed = o.feed
			d.Durable = append(d.Durable, one)
		case o.feed:
			d.Feed = append(d.Feed, one)
		default:
			d.Live = append(d.Live, one)
		}
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, d); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// contents are the lists of the page, by delivery.
type contents struct{ Durable, Feed, Live, Reserved, Parts []entry }

type entry struct {
	Name, Type, Doc string
	Feed            bool // also on the workspace feed
	Fields          []fieldRow
}

type fieldRow struct{ Name, Type, Doc string }

func row(f *field) fieldRow {
	r := fieldRow{Name: f.name, Type: jsonType(f), Doc: f.doc}
	switch {
	case f.null:
		r.Type += " or null"
	case f.optional():
		r.Type += ", optional"
	}
	if f.null && f.optional() {
		r.Type += ", optional"
	}
	if len(f.values) > 0 {
		r.Doc += " One of `" + strings.Join(f.values, "`, `") + "`."
	}
	return r
}

// jsonType returns a member's type in JSON.
func jsonType(f *field) string {
	if f.of != "" {
		schema, property, _ := strings.Cut(f.of, ".")
		return property + " of " + schema + " or null"
	}
	return typeName(f.typ)
}

func typeName(t types.Type) string {
	switch {
	case isNamed(t, "ID"):
		return "id"
	case isNamed(t, "Time"):
		return "time"
	case isNamed(t, "Hash"):
		return "hash"
	case isNamed(t, "Number"):
		return "number"
	case isNamed(t, "RawMessage"):
		return "any JSON"
	}
	if slice, ok := t.Underlying().(*types.Slice); ok {
		return "list of " + typeName(slice.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		if _, isStruct := t.Underlying().(*types.Struct); isStruct {
			return named.Obj().Name()
		}
	}
	basic := t.Underlying().(*types.Basic) //nolint:forcetypeassert // the encoders know no other
	switch info := basic.Info(); {
	case info&types.IsString != 0:
		return "string"
	case info&types.IsBoolean != 0:
		return "boolean"
	case info&types.IsInteger != 0:
		return "integer"
	}
	return "number"
}
