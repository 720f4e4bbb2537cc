package client

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley/internal/gen/operations"
)

// query generates the struct of the query parameters, and its conversion to a query.
func (w *writer) query(name, about string, parameters []operations.Parameter) error {
	var sets strings.Builder
	writeComment(w.out, "", name+" "+about)
	fmt.Fprintf(w.out, "type %s struct {\n", name)
	for i := range parameters {
		p := &parameters[i]
		field := operations.Exported(p.Name)
		of, set, err := w.parameter(p.Schema)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		about := p.About
		if values := operations.Words(
			p.Schema,
		); len(values) > 0 &&
			!strings.HasPrefix(strings.TrimPrefix(of, "[]"), "parley.") {
			about += " One of " + strings.Join(values, ", ") + "."
		}
		writeComment(w.out, "\t", about)
		fmt.Fprintf(w.out, "%s %s\n", field, of)
		fmt.Fprintf(&sets, set+"\n", p.Name, "q."+field)
	}
	fmt.Fprintf(
		w.out,
		"}\n\nfunc (q *%s) values() url.Values {\nv := newValues()\n%sreturn v.Values\n}\n\n",
		name,
		sets.String(),
	)
	return nil
}

// farInteger is beyond an int of 32 bits.
const farInteger = 1 << 31

// parameter returns a parameter's type, and the call that sets it: a format of its name and its field.
func (w *writer) parameter(s *huma.Schema) (of, set string, err error) {
	switch {
	case s.Type == huma.TypeArray:
		if s.Items.Type == huma.TypeInteger {
			return "[]int", "integers(v, %q, %s)", nil
		}
		if of, _, err = w.parameter(s.Items); err != nil {
			return "", "", err
		}
		if of == "parley.ID" {
			return "[]parley.ID", "ids(v, %q, %s)", nil
		}
		return "[]" + of, "texts(v, %q, %s)", nil
	case s.Type == huma.TypeBoolean:
		return "*bool", "v.flag(%q, %s)", nil
	case s.Type == huma.TypeInteger && s.Minimum != nil && *s.Minimum <= 0:
		return "", "", errors.New("integers whose 0 has a meaning are not supported")
	case s.Type == huma.TypeInteger && s.Maximum != nil && *s.Maximum < farInteger:
		return "int", "v.integer(%q, int64(%s))", nil
	case s.Type == huma.TypeInteger:
		return "int64", "v.integer(%q, %s)", nil
	case s.Type == huma.TypeString && s.Format == "uuid":
		return "parley.ID", "v.id(%q, %s)", nil
	case operations.IsTime(s):
		return "parley.Time", "v.time(%q, %s)", nil
	case s.Type != huma.TypeString:
		return "", "", fmt.Errorf("parameters of type %q are not supported", s.Type)
	}
	if list, ok := w.list(operations.Words(s)); ok {
		return list, "v.text(%q, string(%s))", nil
	}
	return "string", "v.text(%q, %s)", nil
}

// list returns the type of the root package that has exactly these words.
func (w *writer) list(values []string) (string, bool) {
	slices.Sort(values)
	var found []reflect.Type
	for t, list := range w.api.Lists {
		if slices.Equal(slices.Sorted(slices.Values(list)), values) {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0].String(), true
}
