package schema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/parley"
)

// scalar checks the keywords that apply to a value without its contents.
func (c *check) scalar(n *node, v *value) bool {
	if len(n.types) > 0 && !slices.Contains(n.types, v.typeName()) &&
		(v.kind != number || !slices.Contains(n.types, "number")) {
		return c.refuse("must be %s, is %s", strings.Join(n.types, " or "), v.typeName())
	}
	if n.enum != nil {
		key, whole := v.appendKey(nil, n.enumKey)
		if !c.spend(len(key) / keyPerStep) {
			return false
		}
		if !whole || !n.enum[string(key)] {
			return c.explain(n.enumSize, func() string { return "must be " + choices(n.enum) })
		}
	}
	switch v.kind {
	case number:
		return c.number(n, v)
	case text:
		return c.text(n, v)
	}
	return true
}

// choices lists the allowed values, in JSON as close as keys are to it.
func choices(enum map[string]bool) string {
	const listed = 16
	keys := make([]string, 0, len(enum))
	for key := range enum {
		keys = append(keys, parley.Clip(key, shownBytes))
	}
	slices.Sort(keys)
	if len(keys) > listed {
		keys = append(keys[:listed], "…")
	}
	return "one of " + strings.Join(keys, ", ")
}

func (c *check) number(n *node, v *value) bool {
	for _, limit := range []*value{n.minimum, n.maximum, n.above, n.below, n.multiple} {
		if limit != nil && !c.spend(1) { // exact comparison costs more than meeting a schema
			return false
		}
	}
	shown := parley.Clip(v.text, shownBytes)
	switch {
	case n.minimum != nil && v.compare(n.minimum) < 0:
		return c.refuse("must be at least %s, is %s", n.minimum.text, shown)
	case n.maximum != nil && v.compare(n.maximum) > 0:
		return c.refuse("must be at most %s, is %s", n.maximum.text, shown)
	case n.above != nil && v.compare(n.above) <= 0:
		return c.refuse("must be more than %s, is %s", n.above.text, shown)
	case n.below != nil && v.compare(n.below) >= 0:
		return c.refuse("must be less than %s, is %s", n.below.text, shown)
	case n.multiple != nil && !v.multipleOf(n.multiple):
		return c.refuse("must be a multiple of %s, is %s", n.multiple.text, shown)
	}
	return true
}

func (c *check) text(n *node, v *value) bool {
	if n.minLength != nil || n.maxLength != nil {
		if !c.look(len(v.text)) {
			return false
		}
		switch length := utf8.RuneCountInString(v.text); {
		case n.minLength != nil && length < *n.minLength:
			return c.refuse("must have at least %d characters, has %d", *n.minLength, length)
		case n.maxLength != nil && length > *n.maxLength:
			return c.refuse("must have at most %d characters, has %d", *n.maxLength, length)
		}
	}
	if n.pattern != nil && !c.matches(n.pattern, v.text) {
		return c.refuse("must match the regular expression %s", parley.Clip(n.pattern.String(), 2*shownBytes))
	}
	return true
}
