// Package schema reads foreign JSON Schemas (drafts 2020-12 and 07) and validates values against
// them. Both are bounded, whatever the schema and the value: Read refuses a schema that is too
// large or whose references lead back to themselves, and a validation that takes too many steps, or
// whose context ends, stops with an error. References to other documents are never fetched.
package schema

import (
	"context"
	"encoding/json"
	"fmt"

	"example.org/parley"
)

// The bounds of a schema. Exceeding one is a BoundError.
const (
	MaxBytes        = 64 << 10 // bytes of its JSON
	MaxSubschemas   = 2048     // schemas in it, including itself
	MaxPatterns     = 256      // regular expressions
	MaxPatternBytes = 1024     // bytes of one of them
	// maxPatternSize bounds what all patterns of a schema compile to, in instructions, counted before compiling.
	maxPatternSize = 32 << 10
	// maxPointerBytes bounds the JSON Pointer of a schema.
	maxPointerBytes = 4 << 10
)

const (
	// MaxSteps bounds one check: each value read, each schema met, and each 64 bytes examined is a step. All steps
	// together take a fraction of a second.
	MaxSteps = 1 << 20
	// maxDepth bounds the nested schemas of a check, and so the stack.
	maxDepth = 4096
	// maxValueDepth bounds the nesting of a checked value.
	maxValueDepth = 256

	// maxTree bounds the estimated memory of a value while it is checked: treeFactor times that of encoding/json.
	// Values longer than large take turns.
	maxTree    = 64 << 20
	treeFactor = 2
	large      = 64 << 10
	largeTurns = 2

	// maxViolationBytes bounds the message about arguments that do not fit.
	maxViolationBytes = 1024
)

// BoundError says that a schema cannot be checked against: it is too large, or its references are circular.
type BoundError struct{ Text string }

// Error tells a person what to change.
func (e *BoundError) Error() string { return e.Text }

func bound(format string, args ...any) error { return &BoundError{fmt.Sprintf(format, args...)} }

// ErrBudget means that a check needed more than MaxSteps. The value counts as refused.
var ErrBudget = fmt.Errorf("checking it against the schema takes more than %d steps", MaxSteps)

// Schema is a schema to check against, safe for concurrent use. The zero Schema accepts everything.
type Schema struct {
	root      *node
	annotates bool // it has unevaluatedItems or unevaluatedProperties
}

// Read reads a schema. It fails for one that is inconsistent, refers to another document, or names a type that JSON
// Schema does not have: a misspelt type would refuse every value. A schema beyond the bounds is a BoundError.
func Read(raw json.RawMessage) (Schema, error) {
	if len(raw) > MaxBytes {
		return Schema{}, bound("it is longer than %d bytes; make it smaller", MaxBytes)
	}
	if err := parley.CheckJSONBounds(raw); err != nil {
		return Schema{}, &BoundError{err.Error()}
	}
	document, err := Schema{}.check(context.Background()).decode(raw)
	if err != nil {
		return Schema{}, fmt.Errorf("this is not a JSON Schema: %w", err)
	}
	r := reader{at: map[string]*node{}, resources: map[string]*resource{}}
	root, err := r.root(document)
	if err != nil {
		return Schema{}, err
	}
	if err := r.resolve(); err != nil {
		return Schema{}, err
	}
	return Schema{root, r.annotates}, r.checkCycles()
}

// Properties returns the names of the schema's own properties.
func (s Schema) Properties() map[string]bool {
	names := map[string]bool{}
	if s.root != nil {
		for name := range s.root.properties {
			names[name] = true
		}
	}
	return names
}

// turns is for large values.
var turns = make(chan struct{}, largeTurns) //nolint:gochecknoglobals // memory belongs to the process

// take waits for the turn of a value of the given size; done ends it.
func take(ctx context.Context, bytes int) (done func(), err error) {
	if bytes <= large {
		return func() {}, nil
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Fits reports whether a text is JSON that fits. An error means that the check did not finish: ErrBudget, or the end of
// ctx. The text then counts as not fitting.
func (s Schema) Fits(ctx context.Context, text string) (bool, error) {
	done, err := take(ctx, len(text))
	if err != nil {
		return false, err
	}
	defer done()
	c := s.check(ctx)
	given, err := c.decode([]byte(text))
	if err != nil || s.root == nil {
		return err == nil, c.err
	}
	fits := c.fits(s.root, &given)
	return fits && c.err == nil, c.err
}

// Check says what is wrong with the arguments of a call, "" if nothing is. An error means that the check did not
// finish: ErrBudget, or the end of ctx. The call must then not run.
//
// Models write null for arguments that they leave out, and tools' protocols read it so: null is accepted for an
// optional argument.
func (s Schema) Check(ctx context.Context, arguments json.RawMessage) (wrong string, err error) {
	if s.root == nil {
		return "", nil
	}
	done, err := take(ctx, len(arguments))
	if err != nil {
		return "", err
	}
	defer done()
	c := s.check(ctx) // one budget for both looks
	given, err := c.decode(arguments)
	if c.err != nil {
		return "", c.err
	}
	if err != nil {
		return "they are not a JSON object: " + err.Error(), nil
	}
	if given.kind != object {
		return "they are not a JSON object", nil
	}
	if c.fits(s.root, &given) || c.err != nil {
		return "", c.err
	}
	wrong = c.wrong
	given.dropNulls()
	if c.fits(s.root, &given) || c.err != nil {
		return "", c.err
	}
	return parley.Clip(wrong, maxViolationBytes), nil
}

// Violation says why a text is not a JSON value that fits, "" if it is one. An error means that the check did not
// finish: ErrBudget, or the end of ctx. The text then counts as not fitting.
func (s Schema) Violation(ctx context.Context, text []byte) (wrong string, err error) {
	done, err := take(ctx, len(text))
	if err != nil {
		return "", err
	}
	defer done()
	c := s.check(ctx)
	given, err := c.decode(text)
	switch {
	case c.err != nil:
		return "", c.err
	case err != nil:
		return "it is not JSON: " + err.Error(), nil
	case s.root == nil || c.fits(s.root, &given) || c.err != nil:
		return "", c.err
	}
	return parley.Clip(c.wrong, maxViolationBytes), nil
}
