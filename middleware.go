package parley

import (
	"errors"
	"regexp/syntax"
	"strings"
)

// MiddlewareSettings say which of Parley's own middleware wraps the calls of an agent or a session. A session's field
// replaces its agent's.
type MiddlewareSettings struct {
	UserContext *[]ContextField  `json:"user_context,omitempty" doc:"Facts told with each user message: request, project, user, time. They are written once, when the message is posted, and always sent unchanged."`
	ThinkTags   *bool            `json:"think_tags,omitempty" doc:"Treat text between <think> and </think> as the answer's reasoning."`
	Redact      *[]RedactPattern `json:"redact,omitempty" doc:"Matches are hidden from providers: they see placeholders, which are replaced by the original text in their answers."`
}

// ContextField is a fact that user_context tells.
type ContextField string

// The context fields.
const (
	ContextRequest ContextField = "request" // the session's title: the first request
	ContextProject ContextField = "project" // the project's name and directory
	ContextUser    ContextField = "user"    // who wrote the message
	ContextTime    ContextField = "time"    // when it was posted, to the second, UTC
)

// ContextFields lists the fields in the order in which they are told.
func ContextFields() []ContextField {
	return []ContextField{ContextRequest, ContextProject, ContextUser, ContextTime}
}

// RedactPattern hides matches of a regular expression from providers.
type RedactPattern struct {
	Name    string `json:"name" yaml:"name" doc:"1 to 32 letters, digits and _; it shows in the placeholders."`
	Pattern string `json:"pattern" yaml:"pattern" doc:"A regular expression in Go's syntax (RE2), up to 512 bytes, that matches no empty text."`
}

// The bounds of middleware.
const (
	MaxMiddleware      = 8       // of a program's own middleware
	MaxMiddlewareName  = 32      // bytes of a name with its version
	MaxRedactPatterns  = 32      // per scope
	MaxRedactName      = 32      // bytes
	MaxRedactPattern   = 512     // bytes
	MaxRedactSize      = 2 << 10 // compiled instructions of all patterns of a scope, as CompilePattern counts
	MaxPatternSize     = 4 << 10 // compiled instructions of one pattern, as CompilePattern counts
	MaxContextNoteLine = 512     // bytes of one field of user_context
)

// IsZero reports whether nothing is set.
func (s MiddlewareSettings) IsZero() bool {
	return s.UserContext == nil && s.ThinkTags == nil && s.Redact == nil
}

// MarshalJSON writes null for absent fields.
func (s MiddlewareSettings) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		UserContext *[]ContextField  `json:"user_context"`
		ThinkTags   *bool            `json:"think_tags"`
		Redact      *[]RedactPattern `json:"redact"`
	}{s.UserContext, s.ThinkTags, s.Redact})
}

// Over returns s with the gaps filled from the wider scope.
func (s MiddlewareSettings) Over(wider MiddlewareSettings) MiddlewareSettings {
	if s.UserContext == nil {
		s.UserContext = wider.UserContext
	}
	if s.ThinkTags == nil {
		s.ThinkTags = wider.ThinkTags
	}
	if s.Redact == nil {
		s.Redact = wider.Redact
	}
	return s
}

// Tells reports whether user_context tells a field.
func (s MiddlewareSettings) Tells(field ContextField) bool {
	if s.UserContext == nil {
		return false
	}
	for _, f := range *s.UserContext {
		if f == field {
			return true
		}
	}
	return false
}

// Validate reports the field that breaks a rule.
func (s MiddlewareSettings) Validate() error {
	if s.UserContext != nil {
		seen := map[ContextField]bool{}
		for _, field := range *s.UserContext {
			switch field {
			case ContextRequest, ContextProject, ContextUser, ContextTime:
			default:
				return InvalidField(
					"middleware.user_context",
					"%q is not one of request, project, user, time",
					Clip(string(field), 32),
				)
			}
			if seen[field] {
				return InvalidField("middleware.user_context", "%q is listed twice", field)
			}
			seen[field] = true
		}
	}
	if s.Redact == nil {
		return nil
	}
	return ValidateRedact("middleware.redact", *s.Redact)
}

// ValidateRedact reports the pattern that breaks a rule. The error does not repeat patterns: they may hold secrets.
func ValidateRedact(field string, patterns []RedactPattern) error {
	if len(patterns) > MaxRedactPatterns {
		return InvalidField(field, "at most %d patterns", MaxRedactPatterns)
	}
	size := 0
	for i, p := range patterns {
		if !isRedactName(p.Name) {
			return InvalidField(
				field,
				"%q is not a valid pattern name: use 1 to %d letters, digits and _",
				Clip(p.Name, MaxRedactName),
				MaxRedactName,
			)
		}
		for _, other := range patterns[:i] {
			if strings.EqualFold(other.Name, p.Name) {
				return InvalidField(field, "%q is listed twice", p.Name)
			}
		}
		if p.Pattern == "" || len(p.Pattern) > MaxRedactPattern {
			return InvalidField(field, "%s: a pattern has 1 to %d bytes", p.Name, MaxRedactPattern)
		}
		if err := CheckText(field, p.Pattern, MaxRedactPattern); err != nil {
			return err
		}
		compiled, own, err := CompilePattern(p.Pattern, MaxRedactSize-size)
		if size += own; ErrorCode(err) == CodeTooLarge || tooRepetitive(err) {
			return InvalidField(
				field,
				"%s: the pattern is too large once its repetitions are written out, alone or with those before it; "+
					"repeat less, or use fewer",
				p.Name,
			)
		}
		if err != nil {
			return InvalidField(
				field,
				"%s: the pattern is not a valid regular expression in Go's syntax (RE2: no look-around, no back "+
					"references)",
				p.Name,
			)
		}
		if compiled.MatchString("") {
			return InvalidField(field, "%s: the pattern matches empty text, so it would match everywhere", p.Name)
		}
	}
	return nil
}

// tooRepetitive reports whether an expression is valid but repeats more than allowed.
func tooRepetitive(err error) bool {
	var wrong *syntax.Error
	return errors.As(err, &wrong) && (wrong.Code == syntax.ErrLarge || wrong.Code == syntax.ErrInvalidRepeatSize)
}

func isRedactName(name string) bool {
	if name == "" || len(name) > MaxRedactName {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		default:
			return false
		}
	}
	return true
}
