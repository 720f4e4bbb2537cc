package schema

import (
	"context"
	"fmt"
	"strings"

	"example.org/parley"
)

const (
	bytesPerStep = 64   // of a text examined per step
	keyPerStep   = 4    // bytes of a value's key per step, which costs more than examining it
	namesPerStep = 8    // names looked up per step
	lookEvery    = 1024 // steps between checks of the context
	shownBytes   = 64   // of a name or text in a sentence about it
)

// check is the validation of one value against a schema.
type check struct {
	ctx   context.Context //nolint:containedctx // a check is one call
	left  int             // steps
	depth int
	err   error  // why the check stopped: from then on nothing fits
	quiet int    // > 0: nobody is told why a value does not fit
	wrong string // the last thing that does not fit
	path  []string
	scope []*resource // the resources that were entered, outermost first

	annotates bool // the schema uses what other schemas have evaluated
}

func (s Schema) check(ctx context.Context) *check {
	return &check{ctx: ctx, left: MaxSteps, annotates: s.annotates}
}

// spend takes steps from the budget, and reports whether the check continues.
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

// look spends the cost of examining a text.
func (c *check) look(bytes int) bool { return c.spend(bytes / bytesPerStep) }

// matches spends the worst cost of a regular expression: each byte may meet each instruction.
func (c *check) matches(p *pattern, text string) bool {
	return c.spend(1+len(text)*p.size/bytesPerStep) && p.MatchString(text)
}

// refuse notes why a value does not fit; it returns false for the caller to return.
func (c *check) refuse(format string, args ...any) bool {
	if c.quiet == 0 && c.err == nil {
		c.wrong = fmt.Sprintf(format, args...)
		if len(c.path) > 0 {
			c.wrong = "/" + parley.Clip(strings.Join(c.path, "/"), 4*shownBytes) + ": " + c.wrong
		}
	}
	return false
}

// explain is refuse for a sentence of about the given bytes that takes work to build. It is built, and paid for, only
// if somebody is told.
func (c *check) explain(bytes int, sentence func() string) bool {
	if c.quiet == 0 && c.look(bytes) {
		return c.refuse("%s", sentence())
	}
	return false
}

// silently checks without noting why something does not fit.
func (c *check) silently(n *node, v *value, seen *evaluated) bool {
	c.quiet++
	defer func() { c.quiet-- }()
	return c.meets(n, v, seen)
}

func (c *check) fits(n *node, v *value) bool { return c.meets(n, v, nil) }

// part checks a part of the value against a schema.
func (c *check) part(name string, n *node, v *value) bool {
	c.path = append(c.path, name)
	defer func() { c.path = c.path[:len(c.path)-1] }()
	return c.meets(n, v, nil)
}

// meets checks a value against a schema. seen, which may be nil, records which of its items and members schemas have
// evaluated, for unevaluatedItems and -Properties.
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

// dynamic returns the target of a $dynamicRef: the anchor of the outermost resource that has it.
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
