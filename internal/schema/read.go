package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
)

// reader converts a document to nodes.
type reader struct {
	nodes       []*node
	at          map[string]*node     // by JSON Pointer from the root
	resources   map[string]*resource // by address
	dynamic     []*node              // those with a dynamic anchor
	patterns    int
	patternSize int
	draft7      bool
	annotates   bool // some keyword uses what others have evaluated
}

// position is where a schema is in its document.
type position struct {
	pointer  string
	resource *resource
}

func (p position) to(token string) position {
	p.pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return p
}

func (p position) String() string {
	if p.pointer == "" {
		return "the schema"
	}
	return parley.Clip(p.pointer, 128)
}

// types returns the types of JSON Schema.
func types() []string {
	return []string{"array", "boolean", "integer", "null", "number", "object", "string"}
}

// root reads the document.
func (r *reader) root(document value) (*node, error) {
	if dialect := document.members["$schema"]; dialect != nil {
		r.draft7 = slices.ContainsFunc([]string{"draft-04", "draft-06", "draft-07"}, func(draft string) bool {
			return strings.Contains(dialect.text, draft)
		})
	}
	return r.schema(&document, position{resource: &resource{}})
}

// schema reads a schema and its subschemas.
func (r *reader) schema(v *value, at position) (*node, error) {
	if len(r.nodes) >= MaxSubschemas {
		return nil, bound("it holds more than %d schemas; make it smaller", MaxSubschemas)
	}
	if len(at.pointer) > maxPointerBytes {
		return nil, bound(
			"%s…: the names on the way to a schema are longer than %d bytes; shorten them",
			at,
			maxPointerBytes,
		)
	}
	n := &node{where: at.pointer, resource: at.resource}
	r.nodes = append(r.nodes, n)
	r.at[at.pointer] = n
	if at.resource.root == nil {
		at.resource.root = n
	}
	switch v.kind {
	case boolean:
		n.never = !v.truth
		return n, nil
	case object:
	default:
		return nil, fmt.Errorf("%s is a %s; a JSON Schema is an object, true or false", at, v.typeName())
	}
	if err := r.address(n, v, &at); err != nil {
		return nil, err
	}
	for _, name := range v.names {
		if err := r.keyword(n, name, v.members[name], at.to(name)); err != nil {
			return nil, err
		}
	}
	r.pair(n, v)
	return n, nil
}

// keyword reads one member of a schema.
func (r *reader) keyword(n *node, name string, v *value, at position) (err error) {
	switch one, list, table := n.holds(name); {
	case name == "items" && v.kind == array: // before 2020-12
		n.prefixItems, err = r.list(v, at)
	case one != nil:
		*one, err = r.schema(v, at)
	case list != nil:
		*list, err = r.list(v, at)
	case table != nil:
		*table, err = r.table(v, at)
	case name == "$defs" || name == "definitions":
		_, err = r.table(v, at)
	case name == "contentSchema" || name == "additionalItems":
		_, err = r.schema(v, at)
	case name == "patternProperties":
		err = r.patternProperties(n, v, at)
	case name == "dependencies":
		err = r.dependencies(n, v, at)
	default:
		err = r.assertion(n, name, v, at)
	}
	return err
}

// holds returns where the schemas of a keyword go: one, a list or a table of them.
func (n *node) holds(keyword string) (one **node, list *[]*node, table *map[string]*node) {
	switch keyword {
	case "items":
		one = &n.items
	case "contains":
		one = &n.contains
	case "unevaluatedItems":
		one = &n.unevaluatedItems
	case "additionalProperties":
		one = &n.additionalProperties
	case "propertyNames":
		one = &n.propertyNames
	case "unevaluatedProperties":
		one = &n.unevaluated
	case "not":
		one = &n.not
	case "if":
		one = &n.when
	case "then":
		one = &n.then
	case "else":
		one = &n.other
	case "prefixItems":
		list = &n.prefixItems
	case "allOf":
		list = &n.allOf
	case "anyOf":
		list = &n.anyOf
	case "oneOf":
		list = &n.oneOf
	case "properties":
		table = &n.properties
	case "dependentSchemas":
		table = &n.dependentSchemas
	}
	return one, list, table
}

// pair resolves the combined meaning of two keywords.
func (r *reader) pair(n *node, v *value) {
	if list := v.members["items"]; list != nil && list.kind == array {
		n.items = r.at[n.where+"/additionalItems"] // nil if absent
	}
	n.refAlone = r.draft7 && n.ref != ""
	r.annotates = r.annotates || n.unevaluated != nil || n.unevaluatedItems != nil
}

func (r *reader) list(v *value, at position) ([]*node, error) {
	if v.kind != array {
		return nil, fmt.Errorf("%s must be a list of schemas", at)
	}
	list := make([]*node, 0, len(v.items))
	for i := range v.items {
		n, err := r.schema(&v.items[i], at.to(strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func (r *reader) table(v *value, at position) (map[string]*node, error) {
	if v.kind != object {
		return nil, fmt.Errorf("%s must be an object of schemas", at)
	}
	table := make(map[string]*node, len(v.names))
	for _, name := range v.names {
		n, err := r.schema(v.members[name], at.to(name))
		if err != nil {
			return nil, err
		}
		table[name] = n
	}
	return table, nil
}

func (r *reader) patternProperties(n *node, v *value, at position) error {
	table, err := r.table(v, at)
	if err != nil {
		return err
	}
	for _, name := range v.names {
		compiled, err := r.compile(name, at)
		if err != nil {
			return err
		}
		n.patternProperties = append(n.patternProperties, patternProperty{compiled, table[name]})
	}
	return nil
}

// dependencies reads draft 07's keyword: names, or a schema.
func (r *reader) dependencies(n *node, v *value, at position) (err error) {
	if v.kind != object {
		return fmt.Errorf("%s must be an object", at)
	}
	n.dependentRequired, n.dependentSchemas = map[string][]string{}, map[string]*node{}
	for _, name := range v.names {
		if member := v.members[name]; member.kind == array {
			n.dependentRequired[name], err = texts(member, at.to(name))
		} else {
			n.dependentSchemas[name], err = r.schema(member, at.to(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
