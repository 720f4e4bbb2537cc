package transition

import (
	"testing"

	"example.org/parley"
)

// TestEndOf: the settled end is the length of the text, whatever the text contains.
func TestEndOf(t *testing.T) {
	for _, text := range []string{"", "plain", "quotes \" and \\ and ,\"text\":\"", "line\nbreak\ttab\x01",
		"naïve — 日本語"} {
		content, err := parley.EncodeContent(parley.AssistantContent{Reasoning: `{"text":"no"}`, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if end, err := endOf(parley.RoleAssistant, content); err != nil || end != len(text) {
			t.Errorf("%q: end %d, %v", text, end, err)
		}
	}
}
