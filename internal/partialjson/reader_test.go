package partialjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley/event"
	"example.org/parley/internal/partialjson"
)

// said reads pieces and returns what is said of each, one operation a line.
func said(pieces ...string) (all []string) {
	var r partialjson.Reader
	for _, piece := range pieces {
		var lines []string
		for _, op := range r.Write(piece) {
			lines = append(lines, string(op.AppendJSON(nil)))
		}
		all = append(all, strings.Join(lines, "\n"))
	}
	return all
}

func TestReaderHoldsBackWhatMayChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ pieces, want []string }{
		"at once": {
			[]string{` {"a": [1, "b", {"c": null}]} `},
			[]string{`{"op":"replace","path":"","value":{"a":[1,"b",{"c":null}]}}`},
		},
		"a name": {
			[]string{`{"na`, `me`, `":`, ` "x`, `y"}`},
			[]string{
				`{"op":"replace","path":"","value":{}}`, "", "", `{"op":"add","path":"/name","value":"x"}`,
				`{"op":"append","path":"/name","value":"y"}`,
			},
		},
		"a number": {
			[]string{`{"n":1`, `2.`, `5,"m":-`, `1}`},
			[]string{
				`{"op":"replace","path":"","value":{}}`, "", `{"op":"add","path":"/n","value":12.5}`,
				`{"op":"add","path":"/m","value":-1}`,
			},
		},
		"a literal": {
			[]string{`{"a":[tr`, `ue`, `,nul`, `l]`},
			[]string{
				`{"op":"replace","path":"","value":{"a":[]}}`, "", `{"op":"add","path":"/a/0","value":true}`,
				`{"op":"add","path":"/a/1","value":null}`,
			},
		},
		"an escape": {
			[]string{`{"a":"x\`, `n\u00`, `e9`, `"}`},
			[]string{
				`{"op":"replace","path":"","value":{"a":"x"}}`, `{"op":"append","path":"/a","value":"\n"}`,
				`{"op":"append","path":"/a","value":"\u00e9"}`, "",
			},
		},
		"a pair of surrogates": {
			[]string{`{"a":"\ud83d`, `\ude00!`},
			[]string{
				`{"op":"replace","path":"","value":{"a":""}}`, `{"op":"append","path":"/a","value":"\ud83d\ude00!"}`,
			},
		},
		"names with marks of paths": {
			[]string{`{"a/b~\"":{`, `"":1 `, `}}`},
			[]string{
				`{"op":"replace","path":"","value":{"a/b~\"":{}}}`, `{"op":"add","path":"/a~1b~0\"/","value":1}`, "",
			},
		},
		"several in one piece": {
			[]string{`{"a":{"b":"x`, `y"},"c":[1],"d":"z`},
			[]string{
				`{"op":"replace","path":"","value":{"a":{"b":"x"}}}`,
				`{"op":"append","path":"/a/b","value":"y"}` + "\n" + `{"op":"add","path":"/c","value":[1]}` + "\n" +
					`{"op":"add","path":"/d","value":"z"}`,
			},
		},
		"no object": {[]string{`Bonn`, `{"a":1}`}, []string{"", ""}},
		"a list":    {[]string{`[1`, `]`}, []string{"", ""}},
	} {
		if diff := cmp.Diff(c.want, said(c.pieces...)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a name twice":             `{"a":1,"a":2}`,
		"a name twice, escaped":    `{"a":1,"\u0061":2}`,
		"half a pair":              `{"a":"\ud83d"}`,
		"half a pair, then text":   `{"a":"\ud83dx"}`,
		"half a pair, then escape": `{"a":"\ud83d\n"}`,
		"the other half alone":     `{"a":"\ude00"}`,
		"a NUL":                    `{"a":"\u0000"}`,
		"a control character":      "{\"a\":\"\n\"}",
		"an unknown escape":        `{"a":"\x"}`,
		"a number of zeros":        `{"a":01}`,
		"a number that ends":       `{"a":1.}`,
		"an unknown literal":       `{"a":nil}`,
		"a comma too many":         `{"a":[1,]}`,
		"a member without a value": `{"a"}`,
		"the wrong bracket":        `{"a":[1}`,
		"text behind it":           `{"a":1} x`,
		"too deep":                 strings.Repeat(`{"a":`, partialjson.MaxDepth+1),
		"a long name":              `{"` + strings.Repeat("a", 5000) + `":1}`,
		"a long text":              `{"a":"` + strings.Repeat("a", partialjson.MaxBytes) + `"}`,
		"a long path":              strings.Repeat(`{"`+strings.Repeat("a", 900)+`":`, 10) + `1`,
	} {
		for size := 1; size < 100; size += 33 {
			var r partialjson.Reader
			for i := 0; i < len(text) && !r.Failed(); {
				n := min(len(text), i+size*(1+len(text)/1000))
				r.Write(text[i:n])
				i = n
			}
			if !r.Failed() {
				t.Errorf("%s is read in pieces of %d", name, size)
			}
			if ops := r.Write(`"`); len(ops) > 0 {
				t.Errorf("%s: a reader that has failed says %v", name, ops)
			}
		}
	}
	if err := partialjson.Check(`{"a":[{"b":"c"}]}`); err != nil {
		t.Error(err)
	}
	if partialjson.Check(`{"a":1`) == nil {
		t.Error("half an object is whole")
	}
}

// TestWhatAPieceSaysIsBounded: a list of numbers behind a long path says little more than its text, however long the
// piece.
func TestWhatAPieceSaysIsBounded(t *testing.T) {
	t.Parallel()
	const most = 6 << 20
	var r partialjson.Reader
	r.Write(strings.Repeat(`{"`+strings.Repeat("a", 900)+`":`, 8) + `[1`)
	if r.Failed() {
		t.Fatal("the beginning is not read")
	}
	says := 0
	for _, op := range r.Write(strings.Repeat(",1", 10_000)) {
		says += len(op.Path) + len(op.Value)
	}
	if says == 0 || says > most {
		t.Errorf("20 kB of text say %d bytes", says)
	}
}

// partOf reports whether a value is a part of another: a beginning of a text or of a list, some of the members.
func partOf(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && strings.HasPrefix(b, a)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) > len(b) {
			return false
		}
		for i := range a {
			if !partOf(a[i], b[i]) || i < len(a)-1 && !reflect.DeepEqual(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name := range a {
			if in, found := b[name]; !found || !partOf(a[name], in) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// checkCuts cuts a text at every byte, and into single characters: the sum is a part of the object at every moment, and
// the object in the end.
func checkCuts(t interface{ Fatalf(string, ...any) }, text string) {
	var final any
	if err := json.Unmarshal([]byte(text), &final); err != nil {
		t.Fatalf("%s is not JSON: %v", text, err)
	}
	follow := func(pieces ...string) {
		var r partialjson.Reader
		var d partialjson.Document
		for i, piece := range pieces {
			ops := r.Write(piece)
			if i == 0 && len(ops) > 0 && (ops[0].Op != event.PatchReplace || ops[0].Path != "") {
				t.Fatalf("it begins with %+v", ops[0])
			}
			if err := d.Apply(ops); err != nil {
				t.Fatalf("of %q, piece %q says %v: %v", pieces, piece, ops, err)
			}
			raw, err := d.JSON()
			var sum any
			if err != nil || json.Unmarshal(raw, &sum) != nil || sum != nil && !partOf(sum, final) {
				t.Fatalf("after piece %q of %q the sum is %s", piece, pieces, raw)
			}
		}
		raw, _ := d.JSON()
		var sum any
		if json.Unmarshal(raw, &sum) != nil || !r.Whole() || !reflect.DeepEqual(sum, final) {
			t.Fatalf("of %q the sum is %s; whole: %t", pieces, raw, r.Whole())
		}
	}
	for i := range text {
		follow(text[:i], text[i:])
	}
	follow(strings.Split(text, "")...)
}

// value draws a JSON value with white space and escapes.
func value(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth > 3 {
		kind %= 5
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")
	case 1, 2:
		return rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?([eE][-+]?[0-9])?`).Draw(t, "number")
	case 5:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, space()+value(t, depth+1)+space())
		}
		return "[" + strings.Join(items, ",") + space() + "]"
	case 6:
		return object(t, depth+1)
	}
	return literal(t)
}

// literal draws a string, some of its characters escaped.
func literal(t *rapid.T) string {
	var out strings.Builder
	out.WriteByte('"')
	for range rapid.IntRange(0, 6).Draw(t, "length") {
		out.WriteString(rapid.SampledFrom([]string{
			"a", "/", "~", "é", "😀", `\"`, `\\`, `\/`, `\n`, `\u00e9`, `\u2028`, `\ud83d\ude00`, "\u2028",
		}).Draw(t, "character"))
	}
	out.WriteByte('"')
	return out.String()
}

func object(t *rapid.T, depth int) string {
	seen := map[string]bool{}
	var members []string
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		name := literal(t)
		var plain string
		if err := json.Unmarshal([]byte(name), &plain); err != nil || seen[plain] {
			continue
		}
		seen[plain] = true
		members = append(members, name+" :"+value(t, depth))
	}
	return "{" + strings.Join(members, " ,") + "}"
}

// The sum of what is said is at every moment a part of the final object, wherever the text is cut.
func TestTheSumIsAPartOfTheObject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkCuts(t, object(t, 0)) })
}

// Whatever the text: what is said can be applied, is a part of what encoding/json reads if that reads anything, and the
// reader refuses what encoding/json refuses.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":{"b":[1,"x\ud83d\ude00",{"c":null}]}}`, `{"a":1,"a":2}`, `{"a":"\ud83d"}`, `{"a":01}`, `[1]`,
		"{\"\":",
	} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if !utf8.ValidString(text) {
			return
		}
		at = max(0, min(at, len(text)))
		for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
			at--
		}
		var r partialjson.Reader
		var d partialjson.Document
		for _, piece := range []string{text[:at], text[at:]} {
			if err := d.Apply(r.Write(piece)); err != nil {
				t.Fatalf("%q cut at %d: %v", text, at, err)
			}
		}
		if r.Whole() != (partialjson.Check(text) == nil) {
			t.Fatalf("%q cut at %d is read otherwise than at once", text, at)
		}
		if r.Whole() {
			checkCuts(t, text)
		}
	})
}

// A text of one size costs the same memory whatever came before it.
func BenchmarkReader(b *testing.B) {
	text := `{"rows":[` + strings.Repeat(`{"name":"a simulated row","n":12345,"ok":true},`, 4000) + `null]}`
	const piece = 48
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var r partialjson.Reader
		for i := 0; i < len(text); i += piece {
			r.Write(text[i:min(len(text), i+piece)])
		}
		if !r.Whole() {
			b.Fatal("it is not read whole")
		}
	}
}
