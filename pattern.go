package parley

import (
	"regexp"
	"regexp/syntax"
)

// CompilePattern compiles a regular expression from outside (RE2), and tells its
// size: about how many instructions it compiles to, which is what matching a byte
// may cost. One larger than most is CodeTooLarge, found before any repetition is
// written out: a{1000} is short, and large.
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

// patternSize counts while repetitions are still folded, and stops behind most. What
// is nested in an expression is bounded by syntax.Parse.
func patternSize(e *syntax.Regexp, most int) int {
	const classRanges = 64 // that cost as much as an instruction
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
