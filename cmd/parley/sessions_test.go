package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
)

// TestStructuredAnswersAreIndented: the object of an answer is shown in place of its text, and never as Markdown.
func TestStructuredAnswersAreIndented(t *testing.T) {
	t.Parallel()
	shown := conversation{&parley.Session{}, []parley.Message{{
		Sequence: 2, Role: parley.RoleAssistant, Content: json.RawMessage(
			`{"text":"{\"city\": \"*Bonn*\", \"size\": 330000}","reasoning":"Bonn, then.",` +
				`"object":{"city":"*Bonn*","size":330000}}`),
	}}}
	const want = "\n(reasoning) Bonn, then.\n{\n  \"city\": \"*Bonn*\",\n  \"size\": 330000\n}\n"
	out := &strings.Builder{}
	if err := printConversation(terminal{out: out}, &shown); err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("printed, %v:\n%s", err, out)
	}
}
