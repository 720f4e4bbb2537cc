package sim

import (
	"strconv"
	"strings"
	"time"

	"example.org/parley"
)

// The bounds of the numbers in model names.
const (
	maxTokens   = 1_000_000
	maxTokenMS  = 60_000
	maxFailures = 100
)

// player makes an answer.
type player interface{ play(a *answer) }

// exists lists the simulator's models, for errors.
const exists = "the simulator has echo, lorem-<tokens>-<ms per token>, tool, reason, fail-<class>-<n>[-<ms until the " +
	"next attempt>], object[-<n>], document, script and team"

// parseName finds the model with a name; CodeInvalid with the list if there is none.
func parseName(name string) (player, error) {
	switch name {
	case "echo":
		return echo{}, nil
	case "tool":
		return toolUser{}, nil
	case "reason":
		return reasoner{}, nil
	case "script":
		return scripted{}, nil
	case "object":
		return object{}, nil
	case "document":
		return writer{}, nil
	case "team":
		return teammate{}, nil
	}
	family, rest, _ := strings.Cut(name, "-")
	if family == "object" {
		wrong, ok := number(rest, 1, maxFailures)
		if !ok {
			return nil, unknownModel(name, "; object takes 1 to %d attempts that are wrong", maxFailures)
		}
		return object{wrong: wrong}, nil
	}
	first, second, found := cutLast(rest)
	switch {
	case family == "lorem" && found:
		tokens, okTokens := number(first, 1, maxTokens)
		ms, okMS := number(second, 0, maxTokenMS)
		if okTokens && okMS {
			return lorem{tokens: tokens, pace: time.Duration(ms) * time.Millisecond}, nil
		}
		return nil, unknownModel(name, "; lorem takes 1 to %d tokens and 0 to %d ms per token", maxTokens, maxTokenMS)
	case family == "fail" && found:
		wait, okWait := 0, true
		if class, n, more := cutLast(first); more { // no class has a dash
			wait, okWait = number(second, 0, maxTokenMS)
			first, second = class, n
		}
		class, okClass := failureClass(first)
		n, okN := number(second, 1, maxFailures)
		if okClass && okN && okWait {
			return failing{class: class, attempts: n, wait: time.Duration(wait) * time.Millisecond}, nil
		}
		return nil, unknownModel(
			name,
			"; fail takes one of %s and 1 to %d attempts",
			strings.Join(failureClasses(), ", "),
			maxFailures,
		)
	}
	return nil, unknownModel(name, "")
}

func unknownModel(name, more string, args ...any) error {
	args = append([]any{parley.Clip(name, 64), exists}, args...)
	return parley.InvalidField("model", "there is no model sim/%s: %s"+more, args...)
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// number reads a plain decimal between bounds.
func number(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most && strconv.Itoa(n) == text
}

// modelClasses returns the classes of failure that a provider can have.
func modelClasses() []parley.ErrorClass {
	return []parley.ErrorClass{parley.ClassContentFilter, parley.ClassRateLimit, parley.ClassNetwork, parley.ClassAuth,
		parley.ClassModel, parley.ClassStream, parley.ClassContextLength}
}

func failureClasses() []string {
	classes := modelClasses()
	names := make([]string, len(classes))
	for i, class := range classes {
		names[i] = string(class)
	}
	return names
}

func failureClass(name string) (parley.ErrorClass, bool) {
	for _, class := range modelClasses() {
		if string(class) == name {
			return class, true
		}
	}
	return "", false
}

// retryable reports whether another attempt can help against a class, as with the real providers' adapters.
func retryable(class parley.ErrorClass) bool {
	return class == parley.ClassRateLimit || class == parley.ClassNetwork || class == parley.ClassStream
}
