package schema

import (
	"context"
	"fmt"
	"regexp"

	"example.org/parley"
)

// pattern is a regular expression with its size, in instructions.
type pattern struct {
	*regexp.Regexp
	size int
}

// compile compiles a regular expression once it is known to be small enough.
func (r *reader) compile(expression string, at position) (*pattern, error) {
	if r.patterns++; r.patterns > MaxPatterns {
		return nil, bound("it holds more than %d regular expressions; use fewer", MaxPatterns)
	}
	if len(expression) > MaxPatternBytes {
		return nil, bound("%s: a regular expression is longer than %d bytes; make it shorter", at, MaxPatternBytes)
	}
	compiled, size, err := parley.CompilePattern(expression, maxPatternSize-r.patternSize)
	r.patternSize += size
	switch {
	case parley.ErrorCode(err) == parley.CodeTooLarge:
		return nil, bound(
			"%s: the regular expressions are too large once their repetitions are written out; repeat less",
			at,
		)
	case err != nil:
		return nil, fmt.Errorf(
			"%s is not a regular expression in Go's syntax (RE2: no look-around, no back references): %w",
			at,
			err,
		)
	}
	return &pattern{compiled, size}, nil
}

// Matches reports whether a text matches a regular expression, within the budget of a check. Its errors are those of
// Read and of Fits.
func Matches(ctx context.Context, expression, text string) (bool, error) {
	r := reader{}
	compiled, err := r.compile(expression, position{})
	if err != nil {
		return false, err
	}
	c := Schema{}.check(ctx)
	return c.matches(compiled, text), c.err
}
