package document

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
)

// allocated returns the bytes that run allocates in all.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// wide is an object below a long name, whose every pointer would be long.
func wide(name string, members, value int) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, `{%q:{`, name)
	for i := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `"%d":[%d]`, i, value+i)
	}
	return []byte(out.String() + "}}")
}

// mostForSmall is far above what a few hundred KB take, and far below what pointers for each member would.
const mostForSmall = 100 << 20

func TestLongNamesAreNotRepeatedForEachMember(t *testing.T) {
	const members = 2_000
	name := strings.Repeat("n", 300<<10)
	a, b, c := wide(name, members, 1), wide(name, members, members+1), wide(name, members, 3*members)
	if used := allocated(func() {
		patch, err := DiffJSON(a, b)
		if err != nil {
			t.Fatal(err)
		}
		made, err := ApplyPatch(a, patch)
		if err != nil || !sameJSON(t, made, b) {
			t.Errorf("the patch made something else: %v", err)
		}
	}); used > mostForSmall {
		t.Errorf("comparing allocated %d MiB", used>>20)
	}
	if used := allocated(func() {
		if _, conflicts, err := MergeJSON(a, b, c); err != nil || len(conflicts) != maxConflicts {
			t.Errorf("%d conflicts, %v", len(conflicts), err)
		}
	}); used > mostForSmall {
		t.Errorf("merging allocated %d MiB", used>>20)
	}
}

func TestManyWordsOfALineAreNotJoinedOneByOne(t *testing.T) {
	from := strings.Repeat("!", 60<<10) + "\n"
	if used := allocated(func() {
		if hunks, _ := DiffText(from, "x"+from); len(hunks) != 1 || len(hunks[0].Lines[1].Parts) != 2 {
			t.Error("the hunk does not show the word")
		}
	}); used > mostForSmall {
		t.Errorf("comparing allocated %d MiB", used>>20)
	}
}

func TestEditsOfALongTextAreBounded(t *testing.T) {
	content := strings.Repeat("a", parley.MaxDocumentBytes-1) + "b"
	edits := make([]parley.TextEdit, 0, parley.MaxTextEdits)
	for range cap(edits) / 2 {
		edits = append(edits, parley.TextEdit{Old: "b", New: "c"}, parley.TextEdit{Old: "c", New: "b"})
	}
	if _, err := ApplyEdits(content, edits[:8]); err != nil {
		t.Errorf("a few edits: %v", err)
	}
	if _, err := ApplyEdits(content, edits); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("%d edits of %d bytes: %v", len(edits), len(content), err)
	}
	if _, err := ApplyEdits("b", edits); err != nil {
		t.Errorf("%d edits of a short text: %v", len(edits), err)
	}
}
