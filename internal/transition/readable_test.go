package transition

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestReadableJSON compares the fast check with encoding/json.
func TestReadableJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `0`, `-1.5e+9`, `"a"`, `{"a":[1,{"b":"c"}],"d":"\u00e9\n\\"}`, `[1,2]`,
		`{"a" : 1 , "b" : [ ] }`,
		``, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `nul`, `01`, `1.`, `.5`, `-`, `1e`, `"a`, `"\x"`,
		`"\u12g4"`, "\"a\nb\"", `{a:1}`, `{} x`, `[}`, `{]`,
	} {
		if got, want := ReadableJSON([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%s: readable %t, valid %t", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOfN(rapid.RuneFrom([]rune(`{}[]",:\u0a1 -+.eEtrufalsn`)), 0, 12, -1).Draw(t, "text"))
		if len(text) > 0 && (text[0] == ' ' || text[len(text)-1] == ' ') {
			return // white space around a value is valid JSON but never stored here
		}
		if got, want := ReadableJSON(text), json.Valid(text); got != want {
			t.Fatalf("%s: readable %t, valid %t", text, got, want)
		}
	})
}

func BenchmarkReadableJSON(b *testing.B) {
	text := []byte(`{"reasoning":"one two three four five six seven","text":"` + fmt.Sprintf("%0200d", 7) + `"}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !ReadableJSON(text) {
			b.Fatal("unreadable")
		}
	}
}
