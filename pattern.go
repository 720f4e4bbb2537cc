package parley

import (
	"regexp"
	"regexp/syntax"
)

// CompilePattern compiles a regular expression from outside (RE2), and returns its size: about how many instructions it
// compiles to, which bounds the cost of matching one byte. An expression larger than most is CodeTooLarge. The check
// precedes the expansion of repetitions: a{1000} is short but large.
func CompilePattern(expression string, most int) (compiled *regexp.Regexp, size int, err error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	if size = patternSize(parsed, most); size > most {
		return nil, size, Errorf(
			CodeTooLarge,
			"the regular expression is too large once its repetitions are written out; repeat less",
		)
	}
	compiled, err = regexp.Compile(expression)
	return compiled, size, err
}

// patternSize counts while repetitions are still folded, and stops once it exceeds most. syntax.Parse bounds the
// nesting of an expression.
func patternSize(e *syntax.Regexp, most int) int {
	const classRanges = 64 // ranges that cost as much as one instruction
	size := 1
	switch e.Op {
	case syntax.OpLiteral:
		size += len(e.Rune)
	case syntax.OpCharClass:
		size += len(e.Rune) / classRanges
	}
	for _, sub := range e.Sub {
		size += patternSize(sub, most)
	}
	if e.Op == syntax.OpRepeat {
		size *= max(e.Max, e.Min+1, 1)
	}
	return min(size, most+1)
}
