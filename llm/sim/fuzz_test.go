package sim

import "testing"

// FuzzScript: a user's text is a script, or refused with a sentence.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{`[[{"text":"Hello","repeat":3,"token_ms":1}]]`,
		`[[{"tool_call":{"name":"a","arguments":{}}}],[{"error":{"class":"network"}}]]`, `[]`, `[[{}]]`,
		`[[{"usage":{"input_tokens":1}},{"finish":"stop"}]]x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := parseScript(text)
		if err != nil {
			return
		}
		for _, actions := range steps {
			if len(actions) > maxActions {
				t.Errorf("%d actions", len(actions))
			}
		}
	})
}
