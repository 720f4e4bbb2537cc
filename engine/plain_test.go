package engine

import (
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

// Whatever the fast parser accepts, the full one accepts with the same result.
func TestPlainTextAgreesWithTheLongWay(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Errorf(string, ...any) }, raw string) bool {
		text, canonical, ok := plainText([]byte(raw))
		if !ok {
			return false
		}
		long, err := parley.ValidateContent(parley.RoleUser, []byte(raw))
		if err != nil || string(long) != string(canonical) {
			t.Errorf("%q: fast parser %s, full parser %s, %v", raw, canonical, long, err)
		}
		if want, _ := parley.EncodeContent(parley.UserContent{Text: text}); string(want) != string(canonical) {
			t.Errorf("%q: its text %q encodes as %s", raw, text, want)
		}
		return true
	}
	for raw, plain := range map[string]bool{
		`{"text":"Hello"}`: true, ` { "text" : "Größe 🙂" } `: true, "{\"text\":\"a\u2028b\x7f<&>\"}": true,
		`{"text":""}`: false, `{"text":" "}`: false, `{"text":"a\n"}`: false, `{"text":"a"} {}`: false,
		`{"text":"a","think":true}`: false,
		"{\"text\":\"\xff\"}":       false, "{\"text\":\"\x00\"}": false, `{"text":"a`: false, `{"txt":"a"}`: false,
		``: false, `"text"`: false,
	} {
		if got := check(t, raw); got != plain {
			t.Errorf("%q: plain %v, want %v", raw, got, plain)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.SampledFrom([]string{"", " ", "\n\t"})
		check(
			t,
			space.Draw(
				t,
				"a",
			)+`{`+space.Draw(
				t,
				"b",
			)+`"text"`+space.Draw(
				t,
				"c",
			)+`:"`+rapid.String().
				Draw(t, "text")+
				`"`+space.Draw(
				t,
				"d",
			)+`}`,
		)
	})
}
