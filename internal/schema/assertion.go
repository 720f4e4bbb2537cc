package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.org/parley"
)

// assertion reads the keywords without subschemas.
func (r *reader) assertion(n *node, name string, v *value, at position) (err error) {
	switch name {
	case "$recursiveRef":
		return fmt.Errorf("%s: $recursiveRef is of an older draft and is not known here; use $dynamicRef", at)
	case "$ref":
		n.ref, err = oneText(v, at)
	case "$dynamicRef":
		n.dynamicRef, err = oneText(v, at)
	case "type":
		err = n.readTypes(v, at)
	case "enum":
		if v.kind != array {
			return fmt.Errorf("%s must be a list", at)
		}
		n.allow(v.items)
	case "const":
		n.allow([]value{*v})
	case "pattern":
		var expression string
		if expression, err = oneText(v, at); err == nil {
			n.pattern, err = r.compile(expression, at)
		}
	case "uniqueItems":
		if v.kind != boolean {
			return fmt.Errorf("%s must be true or false", at)
		}
		n.uniqueItems = v.truth
	case "required":
		n.required, err = texts(v, at)
	case "dependentRequired":
		if v.kind != object {
			return fmt.Errorf("%s must be an object", at)
		}
		n.dependentRequired = map[string][]string{}
		for _, of := range v.names {
			if n.dependentRequired[of], err = texts(v.members[of], at.to(of)); err != nil {
				return err
			}
		}
	default:
		return n.readNumber(name, v, at)
	}
	return err
}

// readNumber reads the numeric keywords, and ignores all others.
func (n *node) readNumber(name string, v *value, at position) error {
	switch limit, count := n.bounds(name); {
	case limit != nil:
		if v.kind != number {
			return fmt.Errorf("%s must be a number", at)
		}
		if name == "multipleOf" && v.float <= 0 {
			return fmt.Errorf("%s must be more than 0", at)
		}
		*limit = v
	case count != nil:
		if !v.isInteger() || v.float < 0 {
			return fmt.Errorf("%s must be a whole number, 0 or more", at)
		}
		*count = new(int(min(v.float, math.MaxInt32)))
	}
	return nil
}

// bounds returns the destination of a numeric keyword.
func (n *node) bounds(keyword string) (limit **value, count **int) {
	switch keyword {
	case "multipleOf":
		limit = &n.multiple
	case "minimum":
		limit = &n.minimum
	case "maximum":
		limit = &n.maximum
	case "exclusiveMinimum":
		limit = &n.above
	case "exclusiveMaximum":
		limit = &n.below
	case "minLength":
		count = &n.minLength
	case "maxLength":
		count = &n.maxLength
	case "minItems":
		count = &n.minItems
	case "maxItems":
		count = &n.maxItems
	case "minContains":
		count = &n.minContains
	case "maxContains":
		count = &n.maxContains
	case "minProperties":
		count = &n.minProperties
	case "maxProperties":
		count = &n.maxProperties
	}
	return limit, count
}

func (n *node) readTypes(v *value, at position) (err error) {
	if v.kind == text {
		n.types = []string{v.text}
	} else if n.types, err = texts(v, at); err != nil {
		return err
	}
	for _, name := range n.types {
		if !slices.Contains(types(), name) {
			return fmt.Errorf(
				"%s: %q is not a type; there are %s",
				at,
				parley.Clip(name, 64),
				strings.Join(types(), ", "),
			)
		}
	}
	slices.Sort(n.types)
	n.types = slices.Compact(n.types)
	return nil
}

// allow permits only these values. With earlier ones, it permits the intersection.
func (n *node) allow(values []value) {
	allowed := map[string]bool{}
	for i := range values {
		key, _ := values[i].appendKey(nil, math.MaxInt)
		if n.enum == nil || n.enum[string(key)] {
			allowed[string(key)], n.enumKey = true, max(n.enumKey, len(key))
		}
	}
	n.enum, n.enumSize = allowed, len(allowed)*bytesPerStep
	for key := range allowed {
		n.enumSize += len(key)
	}
}

func oneText(v *value, at position) (string, error) {
	if v.kind != text {
		return "", fmt.Errorf("%s must be a string", at)
	}
	return v.text, nil
}

func texts(v *value, at position) ([]string, error) {
	if v.kind != array {
		return nil, fmt.Errorf("%s must be a list of strings", at)
	}
	list := make([]string, len(v.items))
	for i := range v.items {
		var err error
		if list[i], err = oneText(&v.items[i], at); err != nil {
			return nil, err
		}
	}
	return list, nil
}
