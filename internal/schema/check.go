package schema

import (
	"context"
	"fmt"
	"strings"

	"example.org/parley"
)

const (
	bytesPerStep = 64   // of a text that is looked at
	keyPerStep   = 4    // bytes of a value's key, which takes more than looking at it
	namesPerStep = 8    // that are looked up
	lookEvery    = 1024 // steps between looks at the context
	shownBytes   = 64   // of a name or text in a sentence about it
)

// check is one value held against a schema.
type check struct {
	ctx   context.Context //nolint:containedctx // a check is one call, and asks for its end as it goes
	left  int             // steps
	depth int
	err   error  // why the check stopped: everything counts as not fitting from there on
	quiet int    // > 0: nobody is told why something does not fit
	wrong string // the last thing that does not fit
	path  []string
	scope []*resource // the resources that were entered, outermost first

	annotates bool // the schema asks what other schemas have seen
}

func (s Schema) check(ctx context.Context) *check {
	return &check{ctx: ctx, left: MaxSteps, annotates: s.annotates}
}

// spend takes steps from the budget, and reports whether the check goes on.
func (c *check) spend(steps int) bool {
	if c.err != nil {
		return false
	}
	before := c.left
	if c.left -= steps; c.left < 0 {
		c.err = ErrBudget
	} else if before/lookEvery != c.left/lookEvery {
		c.err = context.Cause(c.ctx)
	}
	return c.err == nil
}

// look spends what looking at a text costs.
func (c *check) look(bytes int) bool { return c.spend(bytes / bytesPerStep) }

// matches spends what a regular expression may cost at worst: each byte may meet
// each instruction.
func (c *check) matches(p *pattern, text string) bool {
	return c.spend(1+len(text)*p.size/bytesPerStep) && p.MatchString(text)
}

// refuse notes why a value does not fit; false is for the caller to return.
func (c *check) refuse(format string, args ...any) bool {
	if c.quiet == 0 && c.err == nil {
		c.wrong = fmt.Sprintf(format, args...)
		if len(c.path) > 0 {
			c.wrong = "/" + parley.Clip(strings.Join(c.path, "/"), 4*shownBytes) + ": " + c.wrong
		}
	}
	return false
}

// explain is refuse for a sentence that takes work to make, about so many bytes. It
// is made, and paid for, where somebody is told.
func (c *check) explain(bytes int, sentence func() string) bool {
	if c.quiet == 0 && c.look(bytes) {
		return c.refuse("%s", sentence())
	}
	return false
}

// silently asks without noting why something does not fit.
func (c *check) silently(n *node, v *value, seen *evaluated) bool {
	c.quiet++
	defer func() { c.quiet-- }()
	return c.meets(n, v, seen)
}

func (c *check) fits(n *node, v *value) bool { return c.meets(n, v, nil) }

// within holds a part of the value against a schema.
func (c *check) within(name string, n *node, v *value) bool {
	c.path = append(c.path, name)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.meets(n, v, nil)
}

// meets holds a value against a schema. seen, which may be nil, learns which of its
// items and members schemas have seen: unevaluatedItems and -Properties ask for it.
func (c *check) meets(n *node, v *value, seen *evaluated) bool {
	if !c.spend(1) {
		return false
	}
	if c.depth++; c.depth > maxDepth {
		c.err = ErrBudget
	}
	defer func() { c.depth-- }()
	if n.never {
		return c.refuse("nothing is allowed here")
	}
	if len(c.scope) == 0 || c.scope[len(c.scope)-1] != n.resource {
		c.scope = append(c.scope, n.resource)
		defer func() { c.scope = c.scope[:len(c.scope)-1] }()
	}
	var own *evaluated
	if c.annotates {
		own = &evaluated{}
	}
	if n.refTo != nil {
		if !c.meets(n.refTo, v, own) {
			return false
		}
		if n.refAlone {
			return c.learn(seen, own)
		}
	}
	if !c.scalar(n, v) || n.dynamicTo != nil && !c.meets(c.dynamic(n), v, own) || !c.logic(n, v, own) {
		return false
	}
	if v.kind == array && !c.array(n, v, own) || v.kind == object && !c.object(n, v, own) {
		return false
	}
	return c.learn(seen, own)
}

// dynamic is what a $dynamicRef leads to: the outermost resource with the anchor has it.
func (c *check) dynamic(n *node) *node {
	if n.dynamicName == "" {
		return n.dynamicTo
	}
	if !c.spend(len(c.scope)) {
		return n.dynamicTo
	}
	for _, resource := range c.scope {
		if to := resource.anchors[n.dynamicName]; to != nil && to.dynamicAnchor == n.dynamicName {
			return to
		}
	}
	return n.dynamicTo
}
