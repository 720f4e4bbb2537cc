package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// pattern is a regular expression with its size, in instructions.
type pattern struct {
	*regexp.Regexp
	size int
}

// compile compiles a regular expression after it was found small enough.
func (r *reader) compile(expression string, at place) (*pattern, error) {
	if r.patterns++; r.patterns > MaxPatterns {
		return nil, bound("it holds more than %d regular expressions; use fewer", MaxPatterns)
	}
	if len(expression) > MaxPatternBytes {
		return nil, bound("%s: a regular expression is longer than %d bytes; make it shorter", at, MaxPatternBytes)
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%s is not a regular expression in Go's syntax (RE2: no look-around, no back references): %w", at, err)
	}
	size := sizeOf(parsed)
	if r.patternSize += size; r.patternSize > maxPatternSize {
		return nil, bound("%s: the regular expressions are too large once their repetitions are written out; repeat less", at)
	}
	compiled, err := regexp.Compile(expression)
	return &pattern{compiled, size}, err
}

// sizeOf is about how many instructions an expression compiles to. Repetitions are
// still folded, and syntax.Parse bounds their nesting.
func sizeOf(e *syntax.Regexp) int {
	const classRanges = 64 // that cost as much as an instruction
	size := 1
	switch e.Op {
	case syntax.OpLiteral:
		size += len(e.Rune)
	case syntax.OpCharClass:
		size += len(e.Rune) / classRanges
	}
	for _, sub := range e.Sub {
		size += sizeOf(sub)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Max, e.Min+1)
	}
	return min(size, maxPatternSize+1)
}
