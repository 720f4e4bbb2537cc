package prompt

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// FuzzTemplate: a prompt's placeholders are known or refused, and none makes a request fail.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"{{session.title}}", "{{{{ {{x", "{{}}", "}}{{agent.name}}{{{{"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := ValidateTemplate(text); err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
		_ = UsedPlaceholders(text)
		long := parley.Session{Key: strings.Repeat("k", parley.MaxRenderedBytes/4)}
		if made, err := render(
			text,
			subject{agent: &parley.Agent{}, session: &long},
		); err == nil &&
			len(made) > max(len(text), parley.MaxRenderedBytes) {
			t.Errorf("%q became %d bytes", text, len(made))
		}
	})
}

// FuzzThinkTags: an answer's text between and beside tags is complete, in however many pieces it arrives.
func FuzzThinkTags(f *testing.F) {
	f.Add("<think>a</think>b", uint8(1))
	f.Add("<thi", uint8(3))
	f.Add("a<think><think></think>", uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		filter, err := thinkTags{}.Request(t.Context(), model.Exchange{}, &model.Request{})
		if err != nil {
			t.Fatal(err)
		}
		length := 0
		for chunk, err := range filter(func(yield func(model.Chunk, error) bool) {
			for rest := text; rest != ""; {
				n := min(len(rest), int(size)+1)
				if !yield(model.Chunk{Kind: model.ChunkText, Text: rest[:n]}, nil) {
					return
				}
				rest = rest[n:]
			}
			yield(model.Chunk{Kind: model.ChunkFinish, Finish: parley.FinishStop}, nil)
		}) {
			if err != nil {
				t.Fatal(err)
			}
			length += len(chunk.Text)
		}
		if length > len(text) {
			t.Errorf("%q grew to %d bytes", text, length)
		}
	})
}

// FuzzRedact: a pattern from outside is refused, or hides its matches.
func FuzzRedact(f *testing.F) {
	f.Add(`\d{3}-\d{4}`, "call 555-1234 or [PHONE_0123456789]")
	f.Add(`(a|b)+?(c)`, "abc")
	f.Add(`(?i)x{1000}`, strings.Repeat("x", 2000))
	f.Fuzz(func(t *testing.T, pattern, text string) {
		patterns := []parley.RedactPattern{{Name: "phone", Pattern: pattern}}
		if parley.ValidateRedact("redact", patterns) != nil {
			return
		}
		if _, err := newRedactor(patterns); err != nil {
			t.Errorf("%q passes, and then: %v", pattern, err)
		}
	})
}
