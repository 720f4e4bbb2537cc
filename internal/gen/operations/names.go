package operations

import (
	"strings"
	"unicode"
)

// capitals returns an initialism in Go's spelling; "" for other words.
func capitals(word string) string {
	switch word {
	case "id", "ms", "url", "json", "yaml":
		return strings.ToUpper(word)
	}
	return ""
}

// Exported returns a name of JSON or of a path in Go's spelling: agent_id becomes AgentID.
func Exported(name string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' }) {
		if all := capitals(word); all != "" {
			out.WriteString(all)
			continue
		}
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// Variable returns such a name as a variable: sign_in becomes signIn.
func Variable(name string) string {
	if exported := Exported(name); exported != capitals(name) {
		return strings.ToLower(exported[:1]) + exported[1:]
	}
	return strings.ToLower(name)
}

// GoName returns the client's method for an operation: methods that read or list something are named after it.
func (o *Operation) GoName() string { return methodOf(o.ID) }

// Waits reports whether the operation answers when a turn ends.
func (o *Operation) Waits() bool { return strings.HasSuffix(o.ID, "AndWait") }

// Iterator is the client's method that ranges over all pages of a list.
func (o *Operation) Iterator() string {
	if o.ID == "search" {
		return "AllHits"
	}
	return "All" + o.GoName()
}

func methodOf(id string) string {
	for _, verb := range []string{"get", "list"} {
		if rest, ok := strings.CutPrefix(id, verb); ok && unicode.IsUpper(rune(rest[0])) {
			return rest
		}
	}
	return strings.ToUpper(id[:1]) + id[1:]
}
