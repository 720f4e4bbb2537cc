package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

// drawValue draws a JSON value; names and scalars come from small sets, so that values resemble each other.
func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 && kind > 3 {
		kind = 0
	}
	switch kind {
	case 0:
		return json.Number(
			rapid.SampledFrom([]string{"0", "1", "1.0", "-7", "1e3", "12345678901234567890123"}).Draw(t, "number"),
		)
	case 1:
		return rapid.SampledFrom([]string{"", "a", "ä/~", "line\nline\n", "\u2028\"\\"}).Draw(t, "text")
	case 2:
		return rapid.Bool().Draw(t, "bool")
	case 3:
		return nil
	case 4:
		return rapid.MapOfN(rapid.SampledFrom([]string{"", "a", "b", "c/d", "e~f", "0", "-"}),
			rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 5).Draw(t, "object")
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawValue(t, depth-1) }), 0, 8).Draw(t, "list")
}

func drawJSON(t *rapid.T, label string) []byte {
	raw, err := json.Marshal(rapid.Custom(func(t *rapid.T) any { return drawValue(t, 4) }).Draw(t, label))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// sameJSON compares values with their digits.
func sameJSON(t interface{ Fatal(args ...any) }, a, b []byte) bool {
	x, err := parse(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	known := interner{}
	return known.number(x) == known.number(y)
}

func TestAPatchMakesTheOtherDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawJSON(t, "from"), drawJSON(t, "to")
		patch, err := DiffJSON(from, to)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := DiffJSON(from, to)
		if fmt.Sprint(patch) != fmt.Sprint(again) {
			t.Fatal("the same pair gave another patch")
		}
		made, err := ApplyPatch(from, patch)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, made, to) {
			t.Fatalf("%s with %+v gave %s, not %s", from, patch, made, to)
		}
		if sameJSON(t, from, to) != (len(patch) == 0) {
			t.Fatalf("the patch from %s to %s has %d operations", from, to, len(patch))
		}
	})
}

func TestAPatchOfALongListNamesOnlyWhatChanged(t *testing.T) {
	items := make([]string, 5000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d,"name":"item %d"}`, i, i)
	}
	from := "[" + strings.Join(items, ",") + "]"
	items[2500] = `{"id":2500,"name":"another"}`
	to := "[" + strings.Join(slices.Concat(items[:10], items[11:4000], []string{"null"}, items[4000:]), ",") + "]"
	patch, err := DiffJSON([]byte(from), []byte(to))
	if err != nil {
		t.Fatal(err)
	}
	const want = `remove /10 |replace /2499/name "another"|add /3999 null`
	got := make([]string, 0, len(patch))
	for _, edit := range patch {
		got = append(got, fmt.Sprintf("%s %s %s", edit.Op, edit.Path, edit.Value))
	}
	if strings.Join(got, "|") != want {
		t.Fatalf("the patch is %q", got)
	}
}

func TestDocumentsWithNothingInCommonAreReplaced(t *testing.T) {
	var from, to strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&from, `,"a%d"`, i)
		fmt.Fprintf(&to, `,"b%d",0`, i)
	}
	patch, err := DiffJSON([]byte("["+from.String()[1:]+"]"), []byte("["+to.String()[1:]+"]"))
	if err != nil || len(patch) != 1 || patch[0].Op != parley.EditReplace || patch[0].Path != "" {
		t.Fatalf("%d operations, %v", len(patch), err)
	}
}

// The examples of RFC 6902, appendix A, and some more.
func TestPatches(t *testing.T) {
	for _, c := range []struct{ document, patch, want string }{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{
			`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`,
			`[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`,
		},
		{`["all","grass","cows","eat"]`, `[{"op":"move","from":"/1","path":"/3"}]`, `["all","cows","eat","grass"]`},
		{`{"foo":["a",2,"c"]}`, `[{"op":"test","path":"/foo/1","value":2.0}]`, `{"foo":["a",2,"c"]}`},
		{`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ""},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"in":{}}}]`, `{"foo":"bar","child":{"in":{}}}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ""},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ""},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":[1e400]}]`, `[1e400]`},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, ""},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, ""},
		{`{"a":1}`, `[{"op":"add","path":"/b"}]`, ""},
		{`{"a":1}`, `[{"op":"add","path":"/b","value":{"c":1,"c":2}}]`, ""},
		{`{"a":1}`, `[{"op":"append","path":"/b","value":1}]`, ""},
		{`{"a":1}`, `[{"op":"add","path":"b","value":1}]`, ""},
		{`{"a":1}`, `[{"op":"add","path":"/~2","value":1}]`, ""},
		{`{"a":[1,2]}`, `[{"op":"remove","path":"/a/01"}]`, ""},
		{`{"a":[1,2]}`, `[{"op":"remove","path":"/a/-"}]`, ""},
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/3","value":1}]`, ""},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ""},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":{"b":1}}`},
		{
			`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/a/c"},{"op":"remove","path":"/a/b"}]`,
			`{"a":{"c":{"b":1}}}`,
		},
		{
			"{\n\"a\": [1, {}]}\n", `[{"op":"add","path":"/b","value":[]}]`,
			"{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}\n",
		},
	} {
		var patch []parley.JSONEdit
		if err := json.Unmarshal([]byte(c.patch), &patch); err != nil {
			t.Fatal(err)
		}
		got, err := ApplyPatch([]byte(c.document), patch)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %s gave %s, %v", c.document, c.patch, got, err)
		}
		if err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %v has the code %s", c.patch, err, parley.ErrorCode(err))
		}
	}
}

func TestAPatchThatDoublesIsRefused(t *testing.T) {
	document := `{"a":["` + strings.Repeat("x", 1000) + `"]}`
	var patch []parley.JSONEdit
	for range 40 {
		patch = append(patch, parley.JSONEdit{Op: parley.EditCopy, From: "/a", Path: "/a/-"})
	}
	if _, err := ApplyPatch([]byte(document), patch); parley.ErrorCode(err) != parley.CodeTooLarge &&
		parley.ErrorCode(err) != parley.CodeInvalid {
		t.Fatal(err)
	}
}

func TestAPatchThatMovesTooMuchIsRefused(t *testing.T) {
	document := "[" + strings.Repeat("0,", 100_000) + "0]"
	patch := slices.Repeat([]parley.JSONEdit{{Op: parley.EditRemove, Path: "/0"}}, 1000)
	if _, err := ApplyPatch([]byte(document), patch); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Fatal(err)
	}
	if _, err := ApplyPatch([]byte(document), patch[:100]); err != nil {
		t.Fatal(err)
	}
}

func TestPointers(t *testing.T) {
	const document = `{"foo":["bar","baz"],"":0,"a/b":1,"m~n":{"x":[1.50]}}`
	for pointer, want := range map[string]string{
		"": document, "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/m~0n/x/0": "1.50",
		"/foo/2": "", "/foo/-": "", "/foo/00": "", "/nope": "", "foo": "", "/a~b": "", "/m~0n/x/0/y": "",
	} {
		got, err := At([]byte(document), pointer)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q gave %s, %v", pointer, got, err)
		}
	}
}

func TestAmbiguousJSONIsRefused(t *testing.T) {
	for _, document := range []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `["\ud800"]`, `[1`, ``, `[] []`, "[\"\xff\"]",
	} {
		if _, err := ApplyPatch([]byte(document), nil); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %v", document, err)
		}
	}
	if _, err := At(
		[]byte("["+strings.Repeat("0,", maxValues)+"0]"),
		"",
	); parley.ErrorCode(
		err,
	) != parley.CodeTooLarge {
		t.Error(err)
	}
}

// drawText draws lines from a small set.
func drawText(t *rapid.T, label string) string {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"", "one", "two three", "four five six", "ä ö ü", "}"}), 0, 12).
		Draw(t, label)
	content := strings.Join(lines, "\n")
	if rapid.Bool().Draw(t, label+" ends") && content != "" {
		content += "\n"
	}
	return content
}

// texts returns the old and the new text of hunks' lines.
func texts(hunk *parley.TextHunk) (from, to string) {
	for _, line := range hunk.Lines {
		text := line.Text
		if !line.Open {
			text += "\n"
		}
		if line.Op != parley.DiffAdded {
			from += text
		}
		if line.Op != parley.DiffRemoved {
			to += text
		}
	}
	return from, to
}

func TestHunksMakeTheOtherText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawText(t, "from"), drawText(t, "to")
		hunks, truncated := DiffText(from, to)
		if truncated || (len(hunks) == 0) != (from == to) {
			t.Fatalf("%d hunks, truncated %v", len(hunks), truncated)
		}
		lines, made := splitLines(from), ""
		for i := range hunks {
			old, next := texts(&hunks[i])
			n := countLines(old)
			first := hunks[i].From - 1
			skipped := len(splitLines(from)) - len(lines)
			made += strings.Join(lines[:first-skipped], "")
			if countLines(made) != hunks[i].To-1 {
				t.Fatalf("hunk %d begins at line %d of the new text, not at %d", i, countLines(made)+1, hunks[i].To)
			}
			lines = lines[first-skipped:]
			if got := strings.Join(lines[:n], ""); got != old {
				t.Fatalf("hunk %d says that %q stood at line %d, where %q stood", i, old, hunks[i].From, got)
			}
			made, lines = made+next, lines[n:]
			for _, line := range hunks[i].Lines {
				together := ""
				for _, part := range line.Parts {
					together += part.Text
				}
				if line.Parts != nil && together != line.Text {
					t.Fatalf("the parts of %q are %q together", line.Text, together)
				}
			}
		}
		if made += strings.Join(lines, ""); made != to {
			t.Fatalf("the hunks make %q, not %q", made, to)
		}
	})
}

func TestWordsOfAChangedLine(t *testing.T) {
	hunks, _ := DiffText("a\nThe quick brown fox.\nb\n", "a\nThe slow brown fox.\nb\n")
	var got []string
	for _, line := range hunks[0].Lines {
		for _, part := range line.Parts {
			got = append(got, fmt.Sprintf("%s %q %v", line.Op, part.Text, part.Changed))
		}
	}
	want := []string{
		`removed "The " false`, `removed "quick" true`, `removed " brown fox." false`,
		`added "The " false`, `added "slow" true`, `added " brown fox." false`,
	}
	if len(hunks) != 1 || len(hunks[0].Lines) != 4 || !slices.Equal(got, want) {
		t.Fatalf("%+v", hunks)
	}
	hunks, _ = DiffText("alpha\n", "omega\n")
	if hunks[0].Lines[0].Parts != nil {
		t.Fatal("lines without a common word have parts")
	}
}

func TestALongDiffIsTruncated(t *testing.T) {
	from, to := strings.Repeat("x\n", 300_000), strings.Repeat("y\n", 300_000)
	hunks, truncated := DiffText(from, to)
	if !truncated || len(hunks) != 1 || len(hunks[0].Lines) != maxDiffLines {
		t.Fatalf("%d hunks, truncated %v", len(hunks), truncated)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name, content string
		edits         []parley.TextEdit
		want, err     string
	}{
		{"once", "a b c", []parley.TextEdit{{Old: "b", New: "x"}}, "a x c", ""},
		{"in turn", "a b", []parley.TextEdit{{Old: "a", New: "b c"}, {Old: "c b", New: ""}}, "b ", ""},
		{"all", "a a a", []parley.TextEdit{{Old: "a", New: "aa", All: true}}, "aa aa aa", ""},
		{
			"none", "a", []parley.TextEdit{{Old: "a", New: "b"}, {Old: "a", New: "c"}}, "",
			"edits.1.old: does not occur in the document",
		},
		{
			"several", "a\nb a\na", []parley.TextEdit{{Old: "a", New: "b"}}, "",
			"edits.0.old: occurs 3 times (lines 1, 2, 3); add the text around it to name one place, or set all",
		},
		{
			"overlapping", "aaa", []parley.TextEdit{{Old: "aa", New: "b"}}, "",
			"edits.0.old: occurs 2 times (lines 1); add the text around it to name one place, or set all",
		},
		{"empty", "a", []parley.TextEdit{{New: "b"}}, "", "edits.0.old: is empty; name the passage to replace"},
		{
			"same", "a", []parley.TextEdit{{Old: "a", New: "a"}}, "",
			"edits.0.old: equals what would replace it; nothing would change",
		},
		{
			"white space", "x\nif a {\n\tb\n}\n", []parley.TextEdit{{Old: "a {\n    b\n}", New: "c"}}, "",
			"edits.0.old: does not occur in the document; it does with other white space, at about line 2",
		},
		{
			"too long", strings.Repeat("a", 4000),
			[]parley.TextEdit{{Old: "a", New: strings.Repeat("b", 4000), All: true}}, "",
			"the document would become longer than 4194304 bytes",
		},
	} {
		got, err := ApplyEdits(c.content, c.edits)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || said != c.err {
			t.Errorf("%s: %q, %q", c.name, got, said)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		content  string
		from, to int
		want     LineRange
		ok       bool
	}{
		{"a\nb\nc", 1, 0, LineRange{From: 1, To: 3, Total: 3, Text: "a\nb\nc"}, true},
		{"a\nb\nc\n", 2, 2, LineRange{From: 2, To: 2, Total: 3, Text: "b\n"}, true},
		{"a\nb\nc\n", 3, 99, LineRange{From: 3, To: 3, Total: 3, Text: "c\n"}, true},
		{"", 1, 0, LineRange{}, true},
		{"a\n", 2, 2, LineRange{Total: 1}, false},
		{"a\n", 0, 1, LineRange{Total: 1}, false},
		{"a\nb\n", 2, 1, LineRange{Total: 2}, false},
	} {
		got, err := Lines(c.content, c.from, c.to)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q, %d to %d: %+v, %v", c.content, c.from, c.to, got, err)
		}
	}
}

// change makes another text of one, in a few places.
func change(t *rapid.T, content, label string) string {
	lines := splitLines(content)
	for range rapid.IntRange(0, 3).Draw(t, label+" changes") {
		at := rapid.IntRange(0, len(lines)).Draw(t, label+" at")
		if at < len(lines) && rapid.Bool().Draw(t, label+" removes") {
			lines = slices.Delete(slices.Clone(lines), at, at+1)
		}
		if rapid.Bool().Draw(t, label+" inserts") {
			lines = slices.Insert(
				slices.Clone(lines),
				min(at, len(lines)),
				rapid.SampledFrom([]string{"new\n", "two nine\n", "}\n"}).Draw(t, label),
			)
		}
	}
	return strings.Join(lines, "")
}

func TestMergesOfTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := drawText(t, "base")
		ours, theirs := change(t, base, "ours"), change(t, base, "theirs")
		merged, conflicts, err := MergeText(base, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		other, conflicts2, _ := MergeText(base, theirs, ours)
		if merged != other || len(conflicts) != len(conflicts2) {
			t.Fatalf("exchanged: %q and %q, %v and %v", merged, other, conflicts, conflicts2)
		}
		if one, none, _ := MergeText(base, ours, ours); one != ours || none != nil {
			t.Fatalf("the same change twice gave %q, %v", one, none)
		}
		if one, none, _ := MergeText(base, ours, base); one != ours || none != nil {
			t.Fatalf("a change and none gave %q, %v", one, none)
		}
	})
}

func TestMergesKeepBothChanges(t *testing.T) {
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"},
		{"a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"},
		{"a\nb\n", "a\nb\nc\n", "x\na\nb\n", "x\na\nb\nc\n"},
		{"the red fox sleeps\n", "the blue fox sleeps\n", "the red fox runs\n", "the blue fox runs\n"},
		{"the red fox\n", "the blue fox\n", "the green fox\n", ""},
		{"a\nb\n", "a\nc\nb\n", "a\nd\nb\n", ""},
		{"a\nb\nc\n", "a\nc\n", "a\nB\nc\n", ""},
	} {
		merged, conflicts, err := MergeText(c.base, c.ours, c.theirs)
		if merged != c.want || (len(conflicts) == 0) != (c.want != "") || err != nil {
			t.Errorf("%q, %q: %q, %+v, %v", c.ours, c.theirs, merged, conflicts, err)
		}
	}
	_, conflicts, _ := MergeText("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n")
	if len(conflicts) != 1 || conflicts[0] != (Conflict{Line: 2, Base: "b\n", Ours: "x\n", Theirs: "y\n"}) {
		t.Errorf("%+v", conflicts)
	}
}

func TestMergesOfJSON(t *testing.T) {
	for _, c := range []struct{ base, ours, theirs, want string }{
		{`{"a":1,"b":2}`, `{"a":3,"b":2}`, `{"a":1,"b":4,"c":5}`, `{"a":3,"b":4,"c":5}`},
		{`{"a":1,"b":2}`, `{"b":2}`, `{"a":1,"b":3}`, `{"b":3}`},
		{`{"a":1}`, `{}`, `{"a":2}`, ""},
		{`{"a":1}`, `{"a":2}`, `{"a":3}`, ""},
		{`{"a":1}`, `{"a":1,"b":1}`, `{"a":1,"b":1}`, `{"a":1,"b":1}`},
		{`[1,2,3]`, `[0,1,2,3]`, `[1,2,3,4]`, `[0,1,2,3,4]`},
		{`[{"a":1},{"b":1}]`, `[{"a":2},{"b":1}]`, `[{"a":1},{"b":2}]`, `[{"a":2},{"b":2}]`},
		{`[{"a":1,"b":1}]`, `[{"a":2,"b":1}]`, `[{"a":1,"b":2}]`, `[{"a":2,"b":2}]`},
		{`[1]`, `[1,2]`, `[1,3]`, ""},
		{`{"t":"a\nb\n"}`, `{"t":"A\nb\n"}`, `{"t":"a\nB\n"}`, `{"t":"A\nB\n"}`},
		{`{"t":"a b"}`, `{"t":"x b"}`, `{"t":"a y"}`, ""},
	} {
		merged, conflicts, err := MergeJSON([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if string(merged) != c.want || (len(conflicts) == 0) != (c.want != "") || err != nil {
			t.Errorf("%s, %s: %s, %+v, %v", c.ours, c.theirs, merged, conflicts, err)
		}
	}
	_, conflicts, _ := MergeJSON([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":2}}`), []byte(`{"a":{}}`))
	if len(conflicts) != 1 || *conflicts[0].Path != "/a/b" || conflicts[0].Base != "1" || conflicts[0].Ours != "2" ||
		conflicts[0].Theirs != "" {
		t.Errorf("%+v", conflicts)
	}
}

func TestMergesOfJSONAreSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := drawJSON(t, "base")
		ours, theirs := drawJSON(t, "ours"), drawJSON(t, "theirs")
		merged, conflicts, err := MergeJSON(base, ours, theirs)
		if err != nil {
			t.Fatal(err)
		}
		other, conflicts2, _ := MergeJSON(base, theirs, ours)
		if len(conflicts) != len(conflicts2) || conflicts == nil && !sameJSON(t, merged, other) {
			t.Fatalf("exchanged: %s and %s, %v and %v", merged, other, conflicts, conflicts2)
		}
		if one, none, _ := MergeJSON(base, ours, base); none != nil || !sameJSON(t, one, ours) {
			t.Fatalf("a change and none gave %s, %v", one, none)
		}
	})
}

func TestPacksGiveTheContentBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 300).Draw(t, "base")
		content := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 0, 300).Draw(t, "content")
		if at := rapid.IntRange(0, len(base)).Draw(t, "at"); rapid.Bool().Draw(t, "near") {
			content = slices.Concat(base[at:], content, base[:at])
		}
		packed := Pack(base, content)
		got, err := Unpack(base, packed)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%q, %v", got, err)
		}
		for cut := range packed {
			if got, err := Unpack(base, packed[:cut]); err == nil {
				t.Fatalf("cut at %d: %q", cut, got)
			}
		}
	})
}

func TestAPackOfASmallChangeIsSmall(t *testing.T) {
	var base []byte
	for i := range 10_000 { // not compressible by itself
		h := parley.HashOf(fmt.Appendf(nil, "%d", i))
		base = append(base, h[:10]...)
	}
	moved := slices.Concat(base[50_000:], []byte("one kilobyte at most"), base[:50_000])
	if packed := Pack(base, moved); len(packed) > 60 {
		t.Errorf("moving a half takes %d bytes", len(packed))
	}
	if packed := Pack(base, base); len(packed) > 20 {
		t.Errorf("no change takes %d bytes", len(packed))
	}
	if _, err := Unpack(base[1:], Pack(base, moved)); err == nil {
		t.Error("a pack was followed on another base")
	}
}

// A worst case for the comparison: it has a bound, and its result is right all the same.
func TestTextsWithNothingInOrderAreCompared(t *testing.T) {
	var a, b []int
	for i := range 60_000 {
		a, b = append(a, i*7919%1009), append(b, i*104729%1013)
	}
	at := 0
	var made []int
	for _, r := range compare(a, b, new(work)) {
		made = append(append(made, a[at:r.a0]...), b[r.b0:r.b1]...)
		at = r.a1
	}
	if made = append(made, a[at:]...); !slices.Equal(made, b) {
		t.Fatal("the runs do not make the other sequence")
	}
}

// All comparisons of one result share their work; the result of those that come late is coarse, but right.
func TestManyComparisonsShareTheirWork(t *testing.T) {
	var from, to strings.Builder
	for i := range 200 {
		fmt.Fprintf(&from, `,"%d":[0,1,2,3]`, i)
		fmt.Fprintf(&to, `,"%d":[3,1,0,2]`, i)
	}
	left, right := []byte("{"+from.String()[1:]+"}"), []byte("{"+to.String()[1:]+"}")
	a, _ := parse(left)
	b, _ := parse(right)
	known := interner{}
	known.number(a)
	known.number(b)
	spent := differ{work: work{maxWork}}
	patch, _, err := spent.diff("", a, b)
	if err != nil {
		t.Fatal(err)
	}
	if made, err := ApplyPatch(left, patch); err != nil || !sameJSON(t, made, right) {
		t.Fatalf("%s, %v", made, err)
	}
	if more := spent.work.steps - maxWork; more > 200*10 {
		t.Errorf("%d steps were taken after the last", more)
	}
}

// A name as long as half a document stands in the path of each operation behind it, so the operations of a large change
// would take far more memory than both documents: gigabytes for 4 MiB.
func TestOperationsBehindALongNameAreNotCollected(t *testing.T) { // alone: it counts what the process allocates
	const members = 2000
	build := func(v int) []byte {
		var out bytes.Buffer
		out.WriteString(`{"` + strings.Repeat("n", 100_000) + `":{`)
		for i := range members {
			fmt.Fprintf(&out, `"k%d":%d,`, i, i%2*v)
		}
		out.WriteString(`"end":0}}`)
		return out.Bytes()
	}
	from, to := build(1), build(2)
	took := func(work func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	most := uint64(100 * (len(from) + len(to))) // unbounded: 900 times
	if bytes := took(func() {
		patch, err := DiffJSON(from, to)
		if err != nil || len(patch) != 1 {
			t.Errorf("%d operations, error %v", len(patch), err)
		}
	}); bytes > most {
		t.Errorf("the difference takes %d bytes, more than %d", bytes, most)
	}
	if bytes := took(func() {
		if _, conflicts, err := MergeJSON(from, to, build(3)); err != nil || len(conflicts) != maxConflicts {
			t.Errorf("%d conflicts, error %v", len(conflicts), err)
		}
	}); bytes > most {
		t.Errorf("the merge takes %d bytes, more than %d", bytes, most)
	}
}

// The parts of a line of many words are slices of it: words that are joined one by one copy the line as often as it has
// words.
func TestALineOfManyWordsIsNotCopied(t *testing.T) { // alone: it counts what the process allocates
	line := strings.Repeat(";", maxWordsBytes-2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	hunks, _ := DiffText(line+"a\n", line+"b\n")
	runtime.ReadMemStats(&after)
	if parts := hunks[0].Lines[0].Parts; len(parts) != 2 || parts[0].Text != line || parts[1].Text != "a" {
		t.Errorf("%d parts", len(parts))
	}
	if took := (after.TotalAlloc - before.TotalAlloc) / maxWordsBytes; took > 1000 {
		t.Errorf("the difference takes %d times the line", took)
	}
}
