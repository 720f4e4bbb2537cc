package schema

// node is a schema or subschema with its keywords. Purely descriptive keywords (title, format, default and the like)
// are dropped.
type node struct {
	where    string // JSON Pointer from the document's root
	resource *resource
	never    bool // the schema false

	ref, dynamicRef string // as written
	refTo           *node  // the target of ref
	dynamicTo       *node  // the target of dynamicRef unless overridden
	dynamicName     string // if set, the anchor that outer resources may override
	dynamicAnchor   string
	refAlone        bool // draft 07: keywords beside a $ref are ignored

	types    []string
	enum     map[string]bool // keys of the values; nil: any
	enumKey  int             // length of the longest key
	enumSize int             // bytes of all keys, and a step for each
	multiple *value

	minimum, maximum, above, below *value

	minLength, maxLength *int
	pattern              *pattern

	prefixItems          []*node
	items                *node
	contains             *node
	minContains          *int
	maxContains          *int
	minItems, maxItems   *int
	uniqueItems          bool
	unevaluatedItems     *node
	properties           map[string]*node
	patternProperties    []patternProperty
	additionalProperties *node
	propertyNames        *node
	unevaluated          *node // unevaluatedProperties

	minProperties, maxProperties *int
	required                     []string
	dependentRequired            map[string][]string
	dependentSchemas             map[string]*node

	allOf, anyOf, oneOf []*node
	not                 *node
	when, then, other   *node // if, then, else
}

// patternProperty is the schema of properties whose names match.
type patternProperty struct {
	pattern *pattern
	node    *node
}

// resource is a schema with an address of its own: the document, or a subschema with $id.
type resource struct {
	uri     string
	root    *node
	anchors map[string]*node
}

// inPlace calls visit for every schema that a value meets when it meets n.
func (n *node) inPlace(visit func(*node)) {
	for _, one := range []*node{n.refTo, n.dynamicTo, n.not, n.when, n.then, n.other} {
		if one != nil {
			visit(one)
		}
	}
	for _, list := range [][]*node{n.allOf, n.anyOf, n.oneOf} {
		for _, one := range list {
			visit(one)
		}
	}
	for _, one := range n.dependentSchemas {
		visit(one)
	}
}
