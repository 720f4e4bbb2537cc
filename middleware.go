package parley

import (
	"context"
	"errors"
	"iter"
	"regexp/syntax"
	"strings"
)

// Middleware stands between Parley and the models: it may change a request
// before it is encoded, and the chunks of its answer before they are kept. Parley
// has some of its own (see MiddlewareSettings); a program that embeds Parley may
// add others. Implementations are safe for concurrent use.
//
// The order is fixed: requests pass user_context, the program's own in the order
// in which they were given, think_tags, and last redact, so that nothing reaches
// a provider behind its back; answers pass the same list backwards.
type Middleware interface {
	// Name is a name and a version, as "redact@1": what the manifests of calls list.
	// What Request does to the same request may never change under the same name,
	// for a recorded call is made again by it.
	Name() string

	// Request may change a request. It is a pure function of its arguments, but for
	// ctx, whose end ends it with an error: the turn's time is over, it was cancelled,
	// or nobody waits for the answer any more. What the request's slices and byte strings hold belongs to others: replace, do not
	// write. The filter that it returns reads the answers; nil leaves them alone.
	// CodeInvalid ends the turn with its message.
	Request(ctx context.Context, exchange Exchange, request *ModelRequest) (AnswerFilter, error)
}

// AnswerFilter reads the chunks of an answer and yields those that take their
// place. It is called once for each attempt at a request. Chunks keep the rules of
// Model.Stream: blocks are numbered from 0 in order of appearance, texts are whole
// runes, and what is held back is yielded before ChunkFinish or the error with
// which an answer ends.
type AnswerFilter func(chunks iter.Seq2[Chunk, error]) iter.Seq2[Chunk, error]

// Exchange says whose request a Middleware sees. It is the same when a recorded
// request is made again.
type Exchange struct {
	WorkspaceID ID
	SessionID   ID
}

// MiddlewareSettings say which of Parley's own middleware stands around the calls
// of an agent or a session. A session's field replaces its agent's.
type MiddlewareSettings struct {
	UserContext *[]ContextField  `json:"user_context,omitempty" doc:"What is told with each user message: request, project, user, time. It is written once, when the message is posted, and sent unchanged ever after."`
	ThinkTags   *bool            `json:"think_tags,omitempty" doc:"Text between <think> and </think> is the answer's reasoning."`
	Redact      *[]RedactPattern `json:"redact,omitempty" doc:"What matches is hidden from providers: they see placeholders, which are filled in again in what they answer."`
}

// ContextField is a thing that user_context tells.
type ContextField string

// The context fields.
const (
	ContextRequest ContextField = "request" // the session's title: what was asked for first
	ContextProject ContextField = "project" // the project's name and directory
	ContextUser    ContextField = "user"    // who wrote the message
	ContextTime    ContextField = "time"    // when it was posted, to the second, UTC
)

// ContextFields lists them in the order in which they are told.
func ContextFields() []ContextField {
	return []ContextField{ContextRequest, ContextProject, ContextUser, ContextTime}
}

// RedactPattern hides from providers what a regular expression finds.
type RedactPattern struct {
	Name    string `json:"name" yaml:"name" doc:"1 to 32 letters, digits and _; it shows in the placeholders."`
	Pattern string `json:"pattern" yaml:"pattern" doc:"A regular expression in Go's syntax (RE2), up to 512 bytes, that matches no empty text."`
}

// The bounds of middleware.
const (
	MaxMiddleware      = 8       // of a program's own
	MaxMiddlewareName  = 32      // bytes of its name with version
	MaxRedactPatterns  = 32      // of one scope
	MaxRedactName      = 32      // bytes
	MaxRedactPattern   = 512     // bytes
	MaxRedactSize      = 2 << 10 // instructions that all of one scope compile to, as CompilePattern counts
	MaxPatternSize     = 4 << 10 // instructions that one compiles to, as CompilePattern counts
	MaxContextNoteLine = 512     // bytes of one field that user_context tells
)

// IsZero reports that nothing is set.
func (s MiddlewareSettings) IsZero() bool {
	return s.UserContext == nil && s.ThinkTags == nil && s.Redact == nil
}

// MarshalJSON writes null for what is absent.
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
				return InvalidField("middleware.user_context", "%q is not one of request, project, user, time", Clip(string(field), 32))
			}
			if seen[field] {
				return InvalidField("middleware.user_context", "%q is there twice", field)
			}
			seen[field] = true
		}
	}
	if s.Redact == nil {
		return nil
	}
	return ValidateRedact("middleware.redact", *s.Redact)
}

// ValidateRedact reports the pattern that breaks a rule. The error repeats no
// pattern: one may hold a secret.
func ValidateRedact(field string, patterns []RedactPattern) error {
	if len(patterns) > MaxRedactPatterns {
		return InvalidField(field, "at most %d patterns", MaxRedactPatterns)
	}
	size := 0
	for i, p := range patterns {
		if !isRedactName(p.Name) {
			return InvalidField(field, "%q is no name of a pattern: use 1 to %d letters, digits and _", Clip(p.Name, MaxRedactName), MaxRedactName)
		}
		for _, other := range patterns[:i] {
			if strings.EqualFold(other.Name, p.Name) {
				return InvalidField(field, "%q is there twice", p.Name)
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
			return InvalidField(field, "%s: the pattern is too large once its repetitions are written out, alone or with those before it; repeat less, or use fewer", p.Name)
		}
		if err != nil {
			return InvalidField(field, "%s: the pattern is no regular expression in Go's syntax (RE2: no look-around, no back references)", p.Name)
		}
		if compiled.MatchString("") {
			return InvalidField(field, "%s: the pattern matches empty text, so it would match everywhere", p.Name)
		}
	}
	return nil
}

// tooRepetitive reports that an expression is one, but repeats more than any may.
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

// ValidateMiddleware reports why a program's own middleware cannot be listed:
// names that are none, that Parley's own have, or that are there twice.
func ValidateMiddleware(own []Middleware) error {
	if len(own) > MaxMiddleware {
		return InvalidField("middleware", "at most %d", MaxMiddleware)
	}
	seen := map[string]bool{}
	for _, m := range own {
		full := m.Name()
		name, version, found := strings.Cut(full, "@")
		if !found || name == "" || version == "" || len(full) > MaxMiddlewareName || strings.ContainsAny(full, " ,\"\\") {
			return InvalidField("middleware", "%q is no name of middleware: write name@version in at most %d bytes, such as audit@1", Clip(full, MaxMiddlewareName), MaxMiddlewareName)
		}
		switch name {
		case "user_context", "think_tags", "redact":
			return InvalidField("middleware", "%q is Parley's own", name)
		}
		if seen[full] {
			return InvalidField("middleware", "%q is there twice", full)
		}
		seen[full] = true
	}
	return nil
}
