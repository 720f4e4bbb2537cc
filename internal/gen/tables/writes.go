package tables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.org/parley/internal/tables"
)

// keyPlaces is the number of placeholders before those of an UPDATE on PostgreSQL: the row's workspace and id.
const keyPlaces = 2

// writes generates the columns of a list, its placeholders, and the function that builds their arguments.
func (w *writer) writes(t *tables.Table, l *tables.List, columns []tables.Column) error {
	name := lower(l.Name) + t.Go
	if l.Kind == tables.Inserts {
		w.inserted(t, l, name, columns)
	} else {
		w.updated(t, l, name, columns)
	}
	return w.arguments(t, l, name, columns)
}

func (w *writer) inserted(t *tables.Table, l *tables.List, name string, columns []tables.Column) {
	var names, places, excluded []string
	for i := range columns {
		column := quoted(columns[i].Name)
		names, places = append(names, column), append(places, w.place(i+1))
		if !slices.Contains(t.Keys[w.db], columns[i].Name) {
			excluded = append(excluded, column+" = excluded."+column)
		}
	}
	w.line(
		"// %sColumns and %sPlaces are for an INSERT INTO %s, with the arguments of %sArgs.",
		name,
		name,
		t.Name,
		name,
	)
	w.constant(name+"Columns", names)
	w.constant(name+"Places", places)
	if l.Upsert {
		w.line("// %sExcluded is for its ON CONFLICT … DO UPDATE SET.", name)
		w.constant(name+"Excluded", excluded)
	}
	w.spare(l, name, len(columns)+1)
}

func (w *writer) updated(t *tables.Table, l *tables.List, name string, columns []tables.Column) {
	first, begins := 1, l
	for ; begins.After != ""; begins = t.List(begins.After) {
		first += len(t.In(begins.After, w.db))
	}
	first += cmp.Or(begins.Behind, keyPlaces)
	var sets []string
	for i := range columns {
		sets = append(sets, quoted(columns[i].Name)+" = "+w.place(first+i))
	}
	w.line("// %sSet is for an UPDATE of %s, with the arguments of %sArgs.", name, t.Name, name)
	w.constant(name+"Set", sets)
	w.spare(l, name, first+len(columns))
}

// spare names the placeholders of arguments after a list's; those of SQLite are not numbered.
func (w *writer) spare(l *tables.List, name string, first int) {
	for i := range l.Spare {
		if w.db == tables.Postgres {
			w.line("// %sPlace%d is the placeholder of an argument after these.", name, i+1)
			w.line("const %sPlace%d = %q\n", name, i+1, w.place(first+i))
		}
	}
}

// arguments generates the function that appends the arguments of a list.
func (w *writer) arguments(t *tables.Table, l *tables.List, name string, columns []tables.Column) error {
	var before, values []string
	for i := range columns {
		c := &columns[i]
		typ, err := field(l.Of, c.Field)
		if err != nil {
			return err
		}
		prepared, value, err := w.value(c, typ)
		if err != nil {
			return err
		}
		if prepared != "" {
			before = append(before, prepared)
		}
		values = append(values, value)
	}
	fails := slices.ContainsFunc(before, func(text string) bool { return strings.Contains(text, "err") })
	to, result, end := "to", "[]arg", ")\n}\n"
	if fails {
		result, end = "([]arg, error)", "), nil\n}\n"
	}
	if l.Kind == tables.Updates { // with room for the arguments that follow
		w.imports["slices"] = true
		to = fmt.Sprintf("slices.Grow(to, %d)", w.room(t, l))
	}
	w.line("// %sArgs appends the arguments of its columns.", name)
	w.line("func %sArgs(to []arg, of *%s) %s {", name, w.typeName(l.Of), result)
	for _, text := range before {
		w.line("%s", text)
	}
	w.line("return append(%s,\n%s,\n%s", to, strings.Join(values, ",\n"), end)
	return nil
}

// room returns how many arguments a list and those after it have.
func (w *writer) room(t *tables.Table, l *tables.List) int {
	n := len(t.In(l.Name, w.db)) + max(l.Spare, keyPlaces)
	for i := range t.Lists {
		if t.Lists[i].After == l.Name {
			n += w.room(t, &t.Lists[i])
		}
	}
	return n
}

// value returns the argument that writes a column, and the statements that must precede it.
func (w *writer) value(c *tables.Column, typ reflect.Type) (before, value string, err error) {
	of, local := "of."+c.Field, lower(camel(c.Name))
	const check = "\nif err != nil {\nreturn nil, err\n}"
	switch c.Codec {
	case tables.JSON, tables.Usage, tables.Failure:
		call := "encode(" + of + ")"
		if typ.Kind() == reflect.Pointer {
			call = "encodeMaybe(" + of + ")"
		}
		return local + ", err := " + call + check, local, nil
	case tables.NullJSON:
		return fmt.Sprintf("var %s arg\nif !%s.IsZero() {\ntext, err := encode(%s)%s\n%s = text\n}",
			local, of, of, check, local), local, nil
	case tables.MessageSettings:
		return local + ", err := " + w.transition("StoredSettings") + "(&" + of + ")" + check, local, nil
	case tables.SessionSettings:
		return local + ", err := " + w.transition("SessionSettings") + "(&" + of + ")" + check, local, nil
	case tables.Null:
		zero := "0"
		if typ.Kind() == reflect.String {
			zero = `""`
		}
		return fmt.Sprintf("var %s arg\nif %s != %s {\n%s = %s\n}", local, of, zero, local, of), local, nil
	case tables.NotNull:
		if typ == hashType { // slice a copy, or else the whole value would stay reachable
			return local + " := " + of, local + "[:]", nil
		}
		return "", "int64(" + of + ")", nil
	case tables.Counter:
		return "", of + " + 1", nil
	case tables.Limit:
		return "", "limitOf(" + of + ")", nil
	case tables.ChainVersion:
		w.imports[rootPackage] = true
		return "", "max(" + of + ", parley.ChainVersion1)", nil
	case tables.Plain, tables.Object:
	}
	switch {
	case typ == moneyType:
		return "", "int64(" + of + ")", nil
	case w.db == tables.SQLite && slices.Contains([]reflect.Type{
		idType, hashType, timeType, reflect.TypeFor[json.RawMessage](),
	}, typ): // its package binds them through pointers, which saves an allocation each
		return "", "&" + of, nil
	case slices.Contains([]reflect.Type{
		idType, hashType, timeType, reflect.PointerTo(moneyType), reflect.TypeFor[*int64](),
		reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](), reflect.TypeFor[string](),
		reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int64](),
	}, typ):
		return "", of, nil
	case typ.Kind() == reflect.String:
		return "", "string(" + of + ")", nil
	}
	return "", "", fmt.Errorf("%s: a %s needs a codec", c.Name, typ)
}

// camel returns a column's name in Go's spelling.
func camel(name string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		out.WriteString(upper(part))
	}
	return out.String()
}
