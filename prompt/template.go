package prompt

import (
	"errors"
	"strings"

	"example.org/parley"
)

// opening and closing delimit a placeholder; literal stands for opening itself.
const (
	opening = "{{"
	closing = "}}"
	literal = "{{{{"
)

// subject holds what placeholders are filled from.
type subject struct {
	agent   *parley.Agent
	session *parley.Session
	project *parley.Project // nil: none
}

// placeholder is one name of the closed list.
type placeholder struct {
	name  string
	value func(subject) string
}

// placeholders is the closed list. Nothing in it is a time or changes by itself, so that system prompts stay the same
// from call to call.
func placeholders() []placeholder {
	return []placeholder{
		{"session.id", func(s subject) string { return s.session.ID.String() }},
		{"session.title", func(s subject) string { return s.session.Title }},
		{"session.type", func(s subject) string { return s.session.Type }},
		{"session.feature", func(s subject) string { return s.session.Feature }},
		{"session.task", func(s subject) string { return s.session.Task }},
		{"session.key", func(s subject) string { return shownKey(s.session) }},
		{"agent.name", func(s subject) string { return s.agent.Name }},
		{"agent.slug", func(s subject) string { return s.agent.Slug }},
		{"project.name", func(s subject) string {
			if s.project == nil {
				return ""
			}
			return s.project.Name
		}},
		{"project.path", func(s subject) string {
			if s.project == nil {
				return ""
			}
			return s.project.Path
		}},
	}
}

// shownKey returns a session's key; for one named by type, feature and task the array of these, as prompts have always
// shown it.
func shownKey(session *parley.Session) string {
	if key := session.OpaqueKey(); key != "" {
		return key
	}
	return session.Key
}

// Placeholders lists the names that templates may use.
func Placeholders() []string {
	list := placeholders()
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.name
	}
	return names
}

// ValidateTemplate checks a system prompt when it is written. Its error is CodeInvalid on field system_prompt, for a
// placeholder outside the closed list or one that is never closed.
func ValidateTemplate(text string) error {
	_, err := expand(text, func(name string) (string, error) {
		for _, p := range placeholders() {
			if p.name == name {
				return "", nil
			}
		}
		if volatile(name) {
			return "", parley.InvalidField(
				"system_prompt",
				"{{%s}} would change the beginning of every request, which providers keep in their caches only while "+
					"it stays the same; have user_context tell it with each message instead (middleware: "+
					"{\"user_context\": [\"user\", \"time\"]}), or post a context_note",
				parley.Clip(name, 64),
			)
		}
		return "", parley.InvalidField(
			"system_prompt",
			"there is no placeholder {{%s}}; known are %s; write {{{{ for a literal {{",
			parley.Clip(name, 64),
			strings.Join(Placeholders(), ", "),
		)
	})
	return err
}

// volatile reports the name of something that changes by itself, or with the author.
func volatile(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"time", "date", "now", "today", "clock", "user", "principal", "author", "message"} {
		for _, part := range strings.FieldsFunc(name, func(r rune) bool {
			return r == '.' || r == '_' || r == '-' || r == ' '
		}) {
			if part == word {
				return true
			}
		}
	}
	return false
}

// render fills in a template. Anything that ValidateTemplate would refuse stays unchanged: a stored prompt makes a turn
// fail only if its values make it longer than parley.MaxRenderedBytes, which is CodeInvalid.
func render(text string, from subject) (string, error) {
	if !strings.Contains(text, opening) {
		return text, nil
	}
	list := placeholders()
	out, err := expand(text, func(name string) (string, error) {
		for _, p := range list {
			if p.name == name {
				return p.value(from), nil
			}
		}
		return opening + name + closing, nil
	})
	switch {
	case errors.Is(err, errRendered):
		return "", err
	case err != nil:
		return text, nil //nolint:nilerr // it stays as written
	}
	return out, nil
}

// errRendered refuses a prompt that its values make too long.
var errRendered = parley.InvalidField(
	"system_prompt",
	"the system prompt is longer than %d bytes once its placeholders are filled in; use fewer of them, or shorter "+
		"values",
	parley.MaxRenderedBytes,
)

// expand replaces each placeholder by its value. Values are not expanded again. The result is bounded: errRendered is
// returned before anything longer is built.
func expand(text string, value func(name string) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, opening)
		if out.Len()+len(before) > parley.MaxRenderedBytes {
			return "", errRendered
		}
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		if strings.HasPrefix(rest, opening) {
			out.WriteString(opening)
			text = rest[len(literal)-len(opening):]
			continue
		}
		name, after, closed := strings.Cut(rest, closing)
		if !closed {
			return "", parley.InvalidField(
				"system_prompt",
				"a {{ is never closed; write {{session.title}}, or {{{{ for a literal {{",
			)
		}
		filled, err := value(strings.TrimSpace(name))
		if err != nil {
			return "", err
		}
		if out.Len()+len(filled) > parley.MaxRenderedBytes {
			return "", errRendered
		}
		out.WriteString(filled)
		text = after
	}
}

// UsedPlaceholders lists the names that a template uses, in order.
func UsedPlaceholders(text string) (names []string) {
	_, _ = expand(text, func(name string) (string, error) { // an unreadable rest uses nothing more
		names = append(names, name)
		return "", nil
	})
	return names
}

// SameForAgent reports whether a placeholder has the same value in all sessions of an agent.
func SameForAgent(name string) bool { return strings.HasPrefix(name, "agent.") }
