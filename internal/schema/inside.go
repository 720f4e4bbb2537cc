package schema

import (
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
)

// logic checks the keywords that apply other schemas to the same value.
func (c *check) logic(n *node, v *value, own *evaluated) bool {
	for _, one := range n.allOf {
		if !c.meets(one, v, own) {
			return false
		}
	}
	return c.anyOf(n, v, own) && c.oneOf(n, v, own) && c.conditions(n, v, own)
}

// anyOf visits all of its schemas if they record what they have evaluated.
func (c *check) anyOf(n *node, v *value, own *evaluated) bool {
	if len(n.anyOf) == 0 {
		return true
	}
	fits := false
	for _, one := range n.anyOf {
		if fits = c.silently(one, v, own) || fits; fits && own == nil {
			return c.err == nil
		}
	}
	return c.err == nil && (fits || c.explain(len(n.anyOf)*bytesPerStep, func() string { return none(n.anyOf, v) }))
}

func (c *check) oneOf(n *node, v *value, own *evaluated) bool {
	if len(n.oneOf) == 0 {
		return true
	}
	fits := 0
	for _, one := range n.oneOf {
		if c.silently(one, v, own) {
			if fits++; fits > 1 {
				return c.refuse("must fit one schema of oneOf, fits several")
			}
		}
	}
	return c.err == nil &&
		(fits == 1 || c.explain(len(n.oneOf)*bytesPerStep, func() string { return none(n.oneOf, v) }))
}

// none returns the message for a value that fits none of several schemas: their types, if these rule it out.
func none(of []*node, v *value) string {
	var wanted []string
	for _, n := range of {
		if len(n.types) == 0 {
			return "fits none of the alternative schemas"
		}
		wanted = append(wanted, n.types...)
	}
	if slices.Contains(wanted, v.typeName()) {
		return "fits none of the alternative schemas"
	}
	slices.Sort(wanted)
	return "must be " + strings.Join(slices.Compact(wanted), " or ") + ", is " + v.typeName()
}

func (c *check) conditions(n *node, v *value, own *evaluated) bool {
	if n.not != nil && c.silently(n.not, v, nil) {
		return c.refuse("fits the schema of not")
	}
	if n.when != nil {
		branch := n.other
		if c.silently(n.when, v, own) {
			branch = n.then
		}
		if branch != nil && !c.meets(branch, v, own) {
			return false
		}
	}
	return c.err == nil
}

// array checks the keywords of lists.
func (c *check) array(n *node, v *value, own *evaluated) bool {
	for i := range v.items {
		one := n.items
		if i < len(n.prefixItems) {
			one = n.prefixItems[i]
		}
		if one == nil {
			break
		}
		if !c.part(strconv.Itoa(i), one, &v.items[i]) {
			return false
		}
	}
	own.sawItems(len(n.prefixItems), n.items != nil)
	switch {
	case n.minItems != nil && len(v.items) < *n.minItems:
		return c.refuse("must have at least %d items, has %d", *n.minItems, len(v.items))
	case n.maxItems != nil && len(v.items) > *n.maxItems:
		return c.refuse("must have at most %d items, has %d", *n.maxItems, len(v.items))
	}
	return c.contains(n, v, own) && (!n.uniqueItems || c.unique(v)) && c.unseenItems(n, v, own)
}

func (c *check) contains(n *node, v *value, own *evaluated) bool {
	if n.contains == nil {
		return true
	}
	fits := 0
	for i := range v.items {
		if c.silently(n.contains, &v.items[i], nil) {
			fits++
			own.sawItem(i)
		}
	}
	least := 1
	if n.minContains != nil {
		least = *n.minContains
	}
	switch {
	case c.err != nil:
		return false
	case fits < least:
		return c.refuse("must have at least %d items that fit contains, has %d", least, fits)
	case n.maxContains != nil && fits > *n.maxContains:
		return c.refuse("must have at most %d items that fit contains, has %d", *n.maxContains, fits)
	}
	return true
}

// unique compares the items by their keys.
func (c *check) unique(v *value) bool {
	const longest = MaxSteps * bytesPerStep // more than the budget could pay for
	seen := make(map[string]int, len(v.items))
	for i := range v.items {
		key, whole := v.items[i].appendKey(nil, longest)
		if !whole {
			c.err = ErrBudget
		}
		if !c.spend(1 + len(key)/keyPerStep) {
			return false
		}
		if before, twice := seen[string(key)]; twice {
			return c.refuse("must have different items; %d and %d are the same", before, i)
		}
		seen[string(key)] = i
	}
	return true
}

func (c *check) unseenItems(n *node, v *value, own *evaluated) bool {
	if n.unevaluatedItems == nil {
		return true
	}
	for i := range v.items {
		if !own.item(i) && !c.part(strconv.Itoa(i), n.unevaluatedItems, &v.items[i]) {
			return false
		}
	}
	own.sawItems(0, true)
	return true
}

// object checks the keywords of objects.
func (c *check) object(n *node, v *value, own *evaluated) bool {
	if !c.spend((len(v.names) + len(n.required)) / namesPerStep) {
		return false
	}
	for _, name := range n.required {
		if v.members[name] == nil {
			return c.refuse("%q is missing, and required", parley.Clip(name, shownBytes))
		}
	}
	switch {
	case n.minProperties != nil && len(v.names) < *n.minProperties:
		return c.refuse("must have at least %d properties, has %d", *n.minProperties, len(v.names))
	case n.maxProperties != nil && len(v.names) > *n.maxProperties:
		return c.refuse("must have at most %d properties, has %d", *n.maxProperties, len(v.names))
	}
	for _, name := range v.names {
		if !c.member(n, name, v.members[name], own) || !c.dependent(n, name, v, own) {
			return false
		}
	}
	return c.unseenMembers(n, v, own)
}

// member checks one member by the schemas that apply to its name.
func (c *check) member(n *node, name string, v *value, own *evaluated) bool {
	if n.propertyNames != nil &&
		!c.part(parley.Clip(name, shownBytes), n.propertyNames, &value{kind: text, text: name}) {
		return false
	}
	known := n.properties[name] != nil
	if known && !c.part(name, n.properties[name], v) {
		return false
	}
	for _, by := range n.patternProperties {
		if c.matches(by.pattern, name) {
			known = true
			if !c.part(name, by.node, v) {
				return false
			}
		}
	}
	if !known && n.additionalProperties != nil {
		if n.additionalProperties.never {
			return c.refuse("%q is not a known property", parley.Clip(name, shownBytes))
		}
		known = true
		if !c.part(name, n.additionalProperties, v) {
			return false
		}
	}
	if known {
		own.sawMember(name)
	}
	return c.err == nil
}

// dependent checks what the presence of a member requires.
func (c *check) dependent(n *node, name string, v *value, own *evaluated) bool {
	wanted := n.dependentRequired[name]
	if !c.spend(len(wanted) / namesPerStep) {
		return false
	}
	for _, other := range wanted {
		if v.members[other] == nil {
			return c.refuse(
				"%q is missing, and required beside %q",
				parley.Clip(other, shownBytes),
				parley.Clip(name, shownBytes),
			)
		}
	}
	one := n.dependentSchemas[name]
	return one == nil || c.meets(one, v, own)
}

func (c *check) unseenMembers(n *node, v *value, own *evaluated) bool {
	if n.unevaluated == nil {
		return true
	}
	for _, name := range v.names {
		if own.member(name) {
			continue
		}
		if n.unevaluated.never {
			return c.refuse("%q is not a known property", parley.Clip(name, shownBytes))
		}
		if !c.part(name, n.unevaluated, v.members[name]) {
			return false
		}
	}
	own.sawAllMembers()
	return true
}
