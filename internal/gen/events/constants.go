package events

import (
	"fmt"
	"strings"
)

// constants generates event_gen.go of package parley: the types of events.
func (m *model) constants() ([]byte, error) {
	var out strings.Builder
	out.WriteString("package parley\n\n")
	for _, group := range []struct {
		doc  string
		with func(*object) bool
	}{
		{"The durable types. A turn ends with exactly one of session.completed, session.failed\n// and " +
			"session.cancelled, which carries the turn. Package event describes their data.", func(o *object) bool {
			return o.durable
		}},
		{"The live types: no sequence, no id, never stored.", func(o *object) bool { return o.live }},
		{"The types of the workspace feed alone, none durable.", func(o *object) bool { return o.feed && !o.durable }},
	} {
		fmt.Fprintf(&out, "// %s\nconst (\n", group.doc)
		for _, o := range m.events() {
			if group.with(o) {
				fmt.Fprintf(&out, "%s EventType = %q\n", o.constant(), o.kind)
			}
		}
		out.WriteString(")\n\n")
	}
	return gofmt(out.String())
}

// catalogue generates event/catalogue_gen.go: the descriptions as values.
func (m *model) catalogue() ([]byte, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "package event\n\nimport (\n\t\"encoding/json\"\n\t\"reflect\"\n\n\t%q\n)\n\n", m.module)
	out.WriteString(
		"// Catalogue describes every event, in the order of the documentation.\nfunc Catalogue() " +
			"[]Description {\nreturn []Description{\n",
	)
	for _, o := range m.events() {
		fmt.Fprintf(&out, "{Event: parley.%s", o.constant())
		for _, flag := range []struct {
			name string
			is   bool
		}{{"Durable", o.durable}, {"Feed", o.feed}, {"Live", o.live}, {"Reserved", o.reserved}} {
			if flag.is {
				fmt.Fprintf(&out, ", %s: true", flag.name)
			}
		}
		fmt.Fprintf(&out, ", Object: %s},\n", o.literal())
	}
	out.WriteString(
		"}\n}\n\n// Parts describes the objects inside the data of events.\nfunc Parts() []Object " +
			"{\nreturn []Object{\n",
	)
	for _, o := range m.shown() {
		if o.kind == "" {
			out.WriteString(strings.TrimPrefix(o.literal(), "Object") + ",\n")
		}
	}
	out.WriteString("}\n}\n")
	return gofmt(out.String())
}

// literal returns the description of an object as Go code.
func (o *object) literal() string {
	var out strings.Builder
	fmt.Fprintf(
		&out,
		"Object{Name: %q, Type: reflect.TypeFor[%s](), Doc: %q, Fields: []Field{\n",
		o.name,
		o.name,
		o.says(),
	)
	for i := range o.whole {
		f := &o.whole[i]
		fmt.Fprintf(&out, "{Name: %q, Doc: %q, Type: reflect.TypeFor[%s]()", f.name, f.doc, goName(f.typ))
		if f.null {
			out.WriteString(", Null: true")
		}
		if f.optional() {
			out.WriteString(", Optional: true")
		}
		if f.of != "" {
			fmt.Fprintf(&out, ", Of: %q", f.of)
		}
		if len(f.values) > 0 {
			fmt.Fprintf(&out, ", Values: %#v", f.values)
		}
		out.WriteString("},\n")
	}
	out.WriteString("}}")
	return out.String()
}

// flowing removes the line breaks inside a text's paragraphs.
func flowing(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n\n")
}
