package client

import (
	"strings"
	"unicode/utf8"

	"example.org/parley/internal/gen/operations"
)

// commentEnd is the width of comment lines, without indentation.
const commentEnd = 116

// writeComment writes a comment, wrapped.
func writeComment(out *strings.Builder, indent, text string) {
	line, width := indent+"//", 0
	for _, word := range strings.Fields(text) {
		if long := utf8.RuneCountInString(word) + 1; width > 0 && width+long > commentEnd {
			out.WriteString(line + "\n")
			line, width = indent+"//", 0
		}
		line += " " + word
		width += utf8.RuneCountInString(word) + 1
	}
	out.WriteString(line + "\n")
}

// sentence returns an operation's summary in the form of a method's comment: "creates an agent."
func sentence(o *operations.Operation) string {
	if said := said(o.ID); said != "" {
		return said + "."
	}
	verb, rest, _ := strings.Cut(o.Summary, " ")
	return strings.TrimSpace(thirdPerson(strings.ToLower(verb))+" "+strings.TrimSuffix(rest, ".")) + "."
}

// said returns the sentences of operations whose summaries do not begin with a single imperative.
func said(id string) string {
	switch id {
	case "getDocs":
		return "downloads the API's description as a page for people"
	case "getDocsScript":
		return "downloads the script of that page"
	case "getHealth":
		return "asks whether the process is alive"
	case "getReadiness":
		return "asks whether the server is ready"
	case "getMetrics":
		return "downloads the metrics for Prometheus"
	case "getResponseCache":
		return "reads what the response cache holds and saved"
	case "getOpenAPI":
		return "downloads the API's description"
	case "getOpenAPIYAML":
		return "downloads the API's description as YAML"
	case "getPrincipal":
		return "reads the caller's identity"
	case "ensureSession":
		return "gets or creates a session by key"
	case "updateMessage":
		return "edits a queued message, or marks one"
	}
	return ""
}

func thirdPerson(verb string) string {
	switch {
	case verb == "have":
		return "has"
	case strings.HasSuffix(verb, "y") && !strings.ContainsAny(verb[max(len(verb)-2, 0):len(verb)-1], "aeiou"):
		return strings.TrimSuffix(verb, "y") + "ies"
	case strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "sh"), strings.HasSuffix(verb, "s"),
		strings.HasSuffix(verb, "x"), strings.HasSuffix(verb, "o"):
		return verb + "es"
	}
	return verb + "s"
}
