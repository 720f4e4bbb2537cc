package parley_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

// jsonText draws any JSON value, with random white space, member order and escapes.
func jsonText(depth int) *rapid.Generator[string] {
	text := rapid.Custom(func(t *rapid.T) string {
		plain := rapid.String().Draw(t, "text")
		encoded, err := json.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	})
	scalar := rapid.OneOf(
		rapid.Just("null"),
		rapid.Just("true"),
		rapid.Just("false"),
		text,
		rapid.Map(rapid.Int64(), func(n int64) string { b, _ := json.Marshal(n); return string(b) }),
		rapid.Map(
			rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64),
			func(f float64) string { b, _ := json.Marshal(f); return string(b) },
		),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`),
	)
	if depth == 0 {
		return scalar
	}
	inner := jsonText(depth - 1)
	space := rapid.SampledFrom([]string{"", " ", "\n\t"})
	array := rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(inner, 0, 4).Draw(t, "items"), ","+space.Draw(t, "space")) + "]"
	})
	object := rapid.Custom(func(t *rapid.T) string {
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return text.Draw(t, "name") + space.Draw(t, "space") + ":" + inner.Draw(t, "value")
		}), 0, 4).Draw(t, "members")
		return "{" + space.Draw(t, "space") + strings.Join(members, ",") + "}"
	})
	return rapid.OneOf(scalar, array, object)
}

func TestCanonicalJSONIsItsOwnCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := jsonText(3).Draw(t, "json")
		once, err := parley.CanonicalJSON([]byte(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if !json.Valid(once) {
			t.Fatalf("%s became %s, which is not JSON", raw, once)
		}
		twice, err := parley.CanonicalJSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s and then %s, %v", raw, once, twice, err)
		}
	})
}

func TestCanonicalJSONIgnoresTheOrderOfMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOfN(rapid.StringMatching(`[a-zé"\\]{0,6}`), jsonText(1), 0, 6).Draw(t, "members")
		members := make([]string, 0, len(values))
		for name, value := range values {
			members = append(members, string(parley.AppendJSONString(nil, name))+":"+value)
		}
		first, err := parley.CanonicalJSON([]byte("{" + strings.Join(members, ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffle.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		second, err := parley.CanonicalJSON([]byte("{ " + strings.Join(members, " ,\n") + "}"))
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s and %s, %v", first, second, err)
		}
	})
}

func TestCanonicalJSONForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{` { "b" : 1 , "a" : [ ] } `, `{"a":[],"b":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"é":1,"z":2,"Z":3,"":4}`, `{"":4,"Z":3,"z":2,"é":1}`},
		{`1.0`, `1`},
		{`-0`, `0`},
		{`-0.0`, `0`},
		{`1e2`, `100`},
		{`1E+2`, `100`},
		{`0.10`, `0.1`},
		{`0.000001`, `0.000001`},
		{`0.0000001`, `1e-7`},
		{`1e21`, `1e+21`},
		{`123456789012345678901234567890`, `1.2345678901234568e+29`},
		{`9007199254740993`, `9007199254740993`}, // RFC 8785 would round it
		{`9223372036854775807`, `9223372036854775807`},
		{`18446744073709551615`, `18446744073709551615`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`"\u00e9\u2028\/<"`, "\"é\u2028/<\""},
		{`"\n\r\t\b\f\u001f\"\\"`, `"\n\r\t\b\f\u001f\"\\"`},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\ud83d"`, "\"\uFFFD\""},
		{`null`, `null`},
	} {
		got, err := parley.CanonicalJSON([]byte(test.in))
		if err != nil || string(got) != test.want {
			t.Errorf("%s became %s, %v; want %s", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{``, `{`, `{"a"}`, `[1,]`, `01`, `1e999`, `nul`, `{} x`, `1 2`, `'a'`,
		strings.Repeat("[", 20_000)} {
		if got, err := parley.CanonicalJSON([]byte(in)); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%.20q became %s, %v; want invalid", in, got, err)
		}
	}
}

func manyMembers(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"m%d":%d`, i, i)
	}
	return strings.Join(members, ",")
}

// Errors name the path of the problem.
func TestCheckJSONNamesTheField(t *testing.T) {
	t.Parallel()
	for raw, field := range map[string]string{
		`{"content":{"text":"a","text":"b"}}`:          "content.text",
		`{"messages":[{},{"content":{"x":"\ud800"}}]}`: "messages.1.content.x",
		`{"metadata":{"deep":[[{"a":"\u0000"}]]}}`:     "metadata.deep.0.0.a",
		"{\"name\":\"ok\",\"title\":\"a\xffb\"}":       "title",
		`{"a":1,"a":2}`:                                "a",
		`"\ud800"`:                                     "",
	} {
		var of *parley.Error
		if err := parley.CheckJSON([]byte(raw)); !errors.As(err, &of) || of.Field != field {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{`{"a":1,"a":2}`, `{"a":"\ud800"}`} {
		if err := parley.CheckJSONBounds([]byte(raw)); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	raw := []byte(
		`{"content":{"text":"What is the weather like in Lisbon today, and what should I wear?"},"model":"sim/echo",` +
			`"metadata":{"a":1}}`,
	)
	b.ReportAllocs()
	for b.Loop() {
		if err := parley.CheckJSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, test := range map[string]struct {
		raw string
		ok  bool
	}{
		"deepest":                  {deep(parley.MaxJSONDepth), true},
		"too deep":                 {deep(parley.MaxJSONDepth + 1), false},
		"too deep in objects":      {strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), false},
		"wide is not deep":         {"[" + strings.Repeat("[],", 500) + "[]]", true},
		"brackets in strings":      {`"` + strings.Repeat("[", 500) + `"`, true},
		"bracket behind a quote":   {`["\"` + strings.Repeat("[", 500) + `"]`, true},
		"NUL escape":               {`{"a":"x\u0000y"}`, false},
		"NUL escape in a name":     {`{"\u0000":1}`, false},
		"escaped backslash":        {`{"a":"x\\u0000y"}`, true},
		"backslashes before NUL":   {`{"a":"\\\u0000"}`, false},
		"NUL behind a surrogate":   {`"\ud800\u0000"`, false},
		"NUL byte":                 {"{\"a\":\x001}", false},
		"invalid UTF-8":            {"\"\xff\"", false},
		"multibyte":                {`"é😀"`, true},
		"other control escape":     {`"\u0001"`, true},
		"a surrogate pair":         {`"\ud83d\ude00"`, true},
		"half a pair":              {`{"a":"\ud83d"}`, false},
		"the other half":           {`{"a":"\uDE00"}`, false},
		"half behind a pair":       {`["\ud83d\ude00\ud83d"]`, false},
		"halves the wrong way":     {`"\ude00\ud83d"`, false},
		"half, then another":       {`"\ud83d\u0041"`, false},
		"half in a name":           {`{"\ud83d":1}`, false},
		"an escaped half":          {`"\\ud83d"`, true},
		"a name twice":             {`{"a":1,"b":2,"a":3}`, false},
		"a name twice, escaped":    {`{"a":1,"\u0061":3}`, false},
		"a name in two objects":    {`[{"a":1},{"a":{"a":[{"a":1}]}}]`, true},
		"a name and a value":       {`{"a":"a","b":"a","c":["a","a"]}`, true},
		"a name in another case":   {`{"a":1,"A":2}`, true},
		"a name twice of many":     {`{` + manyMembers(40) + `,"m7":1}`, false},
		"many names":               {`{` + manyMembers(400) + `}`, true},
		"a name twice far in":      {`{"x":{` + manyMembers(40) + `},"y":1,"x":2}`, false},
		"a name around an array":   {`{"x":[1,{"y":1}],"y":[{"x":2}]}`, true},
		"escape at the very end":   {`"\`, true}, // the decoder refuses it
		"half of an escaped NUL":   {`"\u000`, true},
		"an upper-case look-alike": {`"\\U0000"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := parley.CheckJSON([]byte(test.raw))
			if (err == nil) != test.ok {
				t.Errorf("CheckJSON: %v; want ok = %t", err, test.ok)
			}
			if err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("code %s; want invalid", parley.ErrorCode(err))
			}
		})
	}
}

func TestAppendJSONStringIsReadBackByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		var back string
		if err := json.Unmarshal(parley.AppendJSONString(nil, text), &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want := strings.ToValidUTF8(
			text,
			"\x00",
		); strings.Count(want, "\x00") == strings.Count(text, "\x00") &&
			back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

func TestClipCutsOnRunes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		n := rapid.IntRange(0, 40).Draw(t, "bytes")
		clipped := parley.Clip(text, n)
		switch kept, cut := strings.CutSuffix(clipped, "…"); {
		case len(text) <= n && clipped != text:
			t.Fatalf("%q fits %d bytes and became %q", text, n, clipped)
		case len(text) > n && (!cut || len(kept) > n || !strings.HasPrefix(text, kept)):
			t.Fatalf("%q cut to %d bytes became %q", text, n, clipped)
		case !json.Valid(parley.AppendJSONString(nil, clipped)) || strings.ToValidUTF8(clipped, "") != clipped:
			t.Fatalf("%q is cut inside a rune", clipped)
		}
	})
}
