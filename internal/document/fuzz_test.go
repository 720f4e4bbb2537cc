package document

import (
	"bytes"
	"encoding/json"
	"testing"

	"example.org/parley"
)

func FuzzApplyPatch(f *testing.F) {
	f.Add(
		[]byte(`{"a":[1,{"b":"c"}]}`),
		[]byte(`[{"op":"copy","from":"/a","path":"/a/-"},{"op":"remove","path":"/a/0"}]`),
	)
	f.Add(
		[]byte("{\n\"a\": [1]}"),
		[]byte(`[{"op":"move","from":"/a/0","path":"/~0"},{"op":"test","path":"/~0","value":1}]`),
	)
	f.Fuzz(func(t *testing.T, content, edits []byte) {
		var patch []parley.JSONEdit
		if json.Unmarshal(edits, &patch) != nil {
			return
		}
		made, err := ApplyPatch(content, patch)
		if err != nil {
			return
		}
		if err := parley.CheckJSON(made); err != nil || !json.Valid(made) {
			t.Fatalf("%s with %s made %s, %v", content, edits, made, err)
		}
		back, err := DiffJSON(made, content)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ApplyPatch(made, back); err != nil || !sameJSON(t, again, content) {
			t.Fatalf("the way back made %s of %s, not %s, %v", again, made, content, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	base := []byte("the base of the pack, long enough for a copy")
	f.Add(base, Pack(base, []byte("the base of the pack, changed, long enough for a copy")))
	f.Add([]byte{}, Pack(nil, []byte("alone")))
	f.Fuzz(func(t *testing.T, base, packed []byte) {
		if content, err := Unpack(base, packed); err == nil && len(content) > parley.MaxDocumentBytes {
			t.Fatalf("%d bytes", len(content))
		}
		if got, err := Unpack(base, Pack(base, packed)); err != nil || !bytes.Equal(got, packed) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func FuzzTexts(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n", "A\nb\nc")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		merged, conflicts, err := MergeText(base, ours, theirs)
		other, _, _ := MergeText(base, theirs, ours)
		if err != nil || merged != other || conflicts != nil && merged != "" {
			t.Fatalf("%q and %q, %+v, %v", merged, other, conflicts, err)
		}
		if hunks, _ := DiffText(ours, theirs); (len(hunks) == 0) != (ours == theirs) {
			t.Fatalf("%d hunks", len(hunks))
		}
		edits := []parley.TextEdit{{Old: ours, New: theirs, All: true}, {Old: theirs, New: ours}}
		if made, err := ApplyEdits(base, edits); err == nil && len(made) > parley.MaxDocumentBytes {
			t.Fatalf("%d bytes", len(made))
		}
		if lines, err := Lines(base, 1, len(ours)); err == nil && len(lines.Text) > len(base) {
			t.Fatalf("%+v", lines)
		}
	})
}
