package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/llm/wire"
)

// skipAll reads a text as the decoders do, and reports whether it was JSON.
func skipAll(text []byte) bool {
	var s wire.Scanner
	s.Reset(text)
	s.Skip()
	return s.Valid()
}

func TestScannerKnowsJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{}`, ` [ ] `, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `[1,2]`, `[1 2]`,
		`[1,]`, `[,1]`,
		`null`, `nul`, `nulll`, `true`, `false`, `tru`, `0`, `01`, `-`, `-0`, `1.`, `.1`, `1.5e+3`, `1e`, `+1`, `"`,
		`"a`, `"\`, `"\x"`,
		`"\u12"`, `"\u12g4"`, `"\ud83d\ude00"`, "\"a\nb\"", "\"a\tb\"", `{"a":[{"b":{"c":[]}}]}`, `{"a":1}}`,
		`{"a":1}{`, `[[1],[2]]`, `{"a":"b" "c":1}`,
		"\"\xff\"", `{"":""}`, `[`, `{`, `{"a":`, `{"a":1`, `[1`, `x`, "\x00",
	} {
		if got, want := skipAll([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%q: valid %t, want %t", text, got, want)
		}
	}
	deep := strings.Repeat("[", parley.MaxJSONDepth+1) + strings.Repeat("]", parley.MaxJSONDepth+1)
	if skipAll([]byte(deep)) || !skipAll([]byte(deep[1:len(deep)-1])) {
		t.Error("the bound of nesting")
	}
}

// Whatever is removed from or inserted into a JSON text, the scanner and encoding/json agree on whether it is still
// valid.
func TestScannerAgreesOnValidity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(`{"a":[1,-2.5e3,"x\u00e9\n",null,true,{"b":"c"}],"d":{}} `)
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "remove") {
				text = append(text[:at:at], text[at+1:]...)
			} else {
				text[at] = rapid.SampledFrom([]byte(`{}[]",:\ue1-.0 ntx`)).Draw(t, "byte")
			}
		}
		if got, want := skipAll(text), json.Valid(text); got != want {
			t.Fatalf("%q: valid %t, want %t", text, got, want)
		}
	})
}

// A text cut at any bytes into JSON strings of their own is joined unchanged.
func TestStringsAndRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", "")
		escaped := rapid.Bool().Draw(t, "escaped")
		var runes wire.Runes
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 5)).Draw(t, "n")
			var quoted []byte
			if escaped && utf8.ValidString(rest[:n]) {
				quoted, _ = json.Marshal(rest[:n])
			} else {
				quoted = rawString(rest[:n])
			}
			var s wire.Scanner
			s.Reset(quoted)
			fragment, ok := s.String()
			if !ok || !s.Valid() {
				t.Fatalf("%q is a string", quoted)
			}
			joined := runes.Join(fragment)
			if !utf8.ValidString(joined) {
				t.Fatalf("%q is not UTF-8", joined)
			}
			got.WriteString(joined)
			rest = rest[n:]
		}
		got.WriteString(runes.End())
		if want := strings.ToValidUTF8(text, "\ufffd"); got.String() != want {
			t.Fatalf("got %q, want %q", got.String(), want)
		}
	})
}

// rawString quotes bytes without looking at their encoding.
func rawString(text string) []byte {
	b := []byte{'"'}
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

func TestRunes(t *testing.T) {
	cases := map[string]struct{ fragments, want []string }{
		"split rune":         {[]string{"\xe4", "\xbd", "\xa0!"}, []string{"", "", "你!", ""}},
		"split pair":         {[]string{`a\ud83d`, `\ude00b`}, []string{"a", "😀b", ""}},
		"high alone":         {[]string{`\ud83d`, `x`}, []string{"", "\ufffdx", ""}},
		"low alone":          {[]string{`\ude00x`}, []string{"\ufffdx", ""}},
		"two high":           {[]string{`\ud83d\ud83d`, `\ude00`}, []string{"\ufffd", "😀", ""}},
		"end in a rune":      {[]string{"a\xf0\x9f"}, []string{"a", "\ufffd\ufffd"}},
		"end in a pair":      {[]string{`a\ud83d`}, []string{"a", "\ufffd"}},
		"NUL":                {[]string{`a\u0000b`}, []string{"a\ufffdb", ""}},
		"never a rune":       {[]string{"\xff", "a"}, []string{"\ufffd", "a", ""}},
		"NUL beside a split": {[]string{"\xe4", "\xbd\xa0\\u0000"}, []string{"", "你\ufffd", ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var runes wire.Runes
			var got []string
			for _, fragment := range c.fragments {
				var s wire.Scanner
				s.Reset([]byte(`"` + fragment + `"`))
				text, _ := s.String()
				got = append(got, runes.Join(text))
			}
			if diff := cmp.Diff(c.want, append(got, runes.End())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		var got string
		if err := json.Unmarshal(parley.AppendJSONString(nil, text), &got); err != nil {
			t.Fatal(err)
		}
		want := strings.Map(func(r rune) rune { return r }, text) // each bad byte becomes U+FFFD
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestCallData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := wire.CallData{ID: rapid.String().Draw(t, "id"), Arguments: rapid.String().Draw(t, "arguments")}
		if rapid.Bool().Draw(t, "extra") {
			want.Extra = json.RawMessage(`{"google":{"thought_signature":"x y"}}`)
		}
		got, ok := wire.ReadCallData(want.Bytes())
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
	for _, raw := range []string{"", "null ,", `"x"`, `{"id":1}`} {
		if _, ok := wire.ReadCallData([]byte(raw)); ok {
			t.Errorf("%q was read", raw)
		}
	}
}

func TestCallIDs(t *testing.T) {
	var ids wire.CallIDs
	for i, c := range []struct{ own, provider, want string }{
		{"p1", "call_0", "call_0"}, {"p2", "call_0", "p2"}, {"p3", "", "p3"}, {"p4", "call_1", "call_1"},
		{"p5", "call_0", "p5"},
	} {
		if got := ids.Call(c.own, c.provider); got != c.want {
			t.Errorf("call %d: %q, want %q", i, got, c.want)
		}
		if got, err := ids.Result(c.own); err != nil || got != c.want {
			t.Errorf("result %d: %q, %v, want %q", i, got, err, c.want)
		}
	}
	if _, err := ids.Result("p6"); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("a result without its call: %v", err)
	}
}

// An impossible count is ignored and skipped.
func TestTokens(t *testing.T) {
	for text, counts := range map[string]bool{
		"0": true, "4096": true, "10000000000": true,
		"10000000001": false, "4611686018427387904": false, "18446744073709551615": false, "-1": false, "1.5": false,
		`"7"`: false, "null": false,
	} {
		var s wire.Scanner
		s.Reset([]byte(text))
		if _, ok := s.Tokens(); ok != counts || !s.Valid() {
			t.Errorf("%s is a number of tokens: %t", text, ok)
		}
	}
}
