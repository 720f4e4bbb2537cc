package tables

import (
	"encoding/json"
	"fmt"
	"reflect"

	"example.org/parley/internal/tables"
)

// reads generates the columns of a list, and the function that reads them.
func (w *writer) reads(t *tables.Table, l *tables.List, columns []tables.Column) error {
	name := lower(t.Go)
	if l.Name != "read" {
		name += upper(l.Name)
	}
	parts := make([]string, len(columns))
	for i := range columns {
		parts[i] = from(t, &columns[i])
	}
	w.line("// %sColumns reads %q.", name, t.Alias)
	w.constant(name+"Columns", parts)
	of := w.typeName(l.Of)
	w.line("// fill%s reads %sColumns.\nfunc fill%s(r *row, to *%s) error {", upper(name), name, upper(name), of)
	for i := range columns {
		if err := w.read(l.Of, &columns[i]); err != nil {
			return err
		}
	}
	w.line("return nil\n}\n")
	if l.Part {
		return nil
	}
	w.line("func scan%s(r *row) (found %s, err error) {\nerr = fill%s(r, &found)\nreturn found, err\n}\n",
		upper(name), of, upper(name))
	return nil
}

// from returns the SQL that reads a column.
func from(t *tables.Table, c *tables.Column) string {
	text := c.From
	if text == "" {
		text = t.Alias + "." + quoted(c.Name)
	}
	if c.Codec == tables.Counter {
		text += " - 1"
	}
	return text
}

// read generates the statement that reads the next column.
func (w *writer) read(of reflect.Type, c *tables.Column) error {
	typ, err := field(of, c.Field)
	if err != nil {
		return err
	}
	to := "to." + c.Field
	value := ""
	switch c.Codec {
	case tables.JSON, tables.NullJSON:
		w.readJSON(c, typ, to)
		return nil
	case tables.SessionSettings:
		w.line("if text := r.text(); text != \"{}\" {\nif err := decode(%q, text, &%s); err != nil {\nreturn err\n}\n}",
			c.Name, to)
		return nil
	case tables.Object:
		value = w.transition("ReadableObject") + "(r.json())"
	case tables.Usage:
		value = w.transition("ReadUsage") + "(r.text())"
	case tables.Failure:
		value = w.transition("ReadFailure") + "(r.text())"
	case tables.MessageSettings:
		value = w.transition("ReadSettings") + "(r.text())"
	case tables.Limit:
		w.imports[rootPackage] = true
		value = "parley.OrNull(" + number(typ.Elem()) + ")"
	case tables.Plain, tables.Null, tables.NotNull, tables.Counter, tables.ChainVersion:
		if value = w.plain(typ); value == "" {
			return fmt.Errorf("%s: a %s needs a codec", c.Name, typ)
		}
	}
	w.line("%s = %s", to, value)
	return nil
}

// readJSON generates the decoding of a column, unless it is empty.
func (w *writer) readJSON(c *tables.Column, typ reflect.Type, to string) {
	into, empty := "&"+to, `text != ""`
	switch typ.Kind() {
	case reflect.Pointer:
		w.line("if text := r.text(); %s {\n%s = new(%s)", empty, to, w.typeName(typ.Elem()))
		into = to
	case reflect.Slice:
		w.line("%s = %s{}\nif text := r.text(); text != \"\" && text != \"[]\" {", to, typ)
	default:
		w.line("if text := r.text(); %s {", empty)
	}
	w.line("if err := decode(%q, text, %s); err != nil {\nreturn err\n}\n}", c.Name, into)
}

func (w *writer) transition(name string) string {
	w.imports[rootPackage+"/internal/transition"] = true
	return "transition." + name
}

func number(typ reflect.Type) string {
	if typ.Kind() == reflect.Int {
		return "r.int()"
	}
	return "r.int64()"
}

// plain returns the expression that reads a field of a type; empty if the type does not tell.
func (w *writer) plain(typ reflect.Type) string {
	switch typ {
	case idType:
		return "r.id()"
	case hashType:
		return "r.hash()"
	case timeType:
		return "r.time()"
	case moneyType:
		return w.typeName(typ) + "(r.int64())"
	case reflect.PointerTo(moneyType):
		return "r.money()"
	case reflect.TypeFor[*int64]():
		return "r.maybe()"
	case reflect.TypeFor[json.RawMessage]():
		return "r.json()"
	case reflect.TypeFor[[]byte]():
		return "r.bytes()"
	case reflect.TypeFor[string]():
		return "r.text()"
	case reflect.TypeFor[bool]():
		return "r.bool()"
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return number(typ)
	}
	if typ.Kind() == reflect.String {
		return w.typeName(typ) + "(r.text())"
	}
	return ""
}
