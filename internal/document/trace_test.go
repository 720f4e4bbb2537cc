package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

// TestLinesAreFollowedToTheirAuthor: over a history of edits, each of which inserts, removes or changes lines of a
// text, the version to which a line is followed back is the one that wrote it.
func TestLinesAreFollowedToTheirAuthor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type line struct {
			text   string
			author int
		}
		join := func(lines []line) string {
			var out strings.Builder
			for i := range lines {
				out.WriteString(lines[i].text)
				if i < len(lines)-1 || len(lines)%2 == 0 { // the last line may have no line feed
					out.WriteByte('\n')
				}
			}
			return out.String()
		}
		var lines []line
		texts := []string{""}
		written := 0
		for version := 1; version <= rapid.IntRange(1, 12).Draw(t, "versions"); version++ {
			// Text that stands nowhere else, so that there is one way only to read the difference.
			fresh := func() line {
				written++
				return line{fmt.Sprintf("line %d", written), version}
			}
			at := rapid.IntRange(0, len(lines)).Draw(t, "at")
			removed := rapid.IntRange(0, min(3, len(lines)-at)).Draw(t, "removed")
			var added []line
			for range rapid.IntRange(0, 3).Draw(t, "added") {
				added = append(added, fresh())
			}
			lines = slices.Concat(lines[:at], added, lines[at+removed:])
			texts = append(texts, join(lines))
		}
		for i := range lines {
			from, to, version := i+1, i+1, len(texts)-1
			for ; version > 0; version-- {
				first, last, changed, err := TraceLines(texts[version-1], texts[version], from, to)
				if err != nil {
					t.Fatal(err)
				}
				if changed {
					break
				}
				from, to = first, last
				if part, err := Lines(texts[version-1], from, to); err != nil ||
					strings.TrimSuffix(part.Text, "\n") != lines[i].text {
					t.Fatalf("line %d is %q in version %d, %v", i+1, part.Text, version-1, err)
				}
			}
			if version != lines[i].author {
				t.Fatalf("line %d, %q, is followed to version %d; version %d wrote it", i+1, lines[i].text, version,
					lines[i].author)
			}
		}
	})
}

// TestARangeChangesWithWhatWasBetween: lines have changed when one between them was removed, and have not when the
// neighbours were.
func TestARangeChangesWithWhatWasBetween(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		older       string
		first, last int
		changed     bool
	}{
		{"a\nb\nc\nd\n", 2, 3, false},
		{"a\nb\nx\nc\nd\n", 0, 0, true},
		{"a\nx\nb\nc\nd\n", 3, 4, false},
		{"a\nb\nc\nx\nd\n", 2, 3, false},
		{"b\nc", 1, 2, false},
		{"a\nb\nd\n", 0, 0, true},
		{"", 0, 0, true},
	} {
		first, last, changed, err := TraceLines(one.older, "a\nb\nc\nd\n", 2, 3)
		if err != nil || first != one.first || last != one.last || changed != one.changed {
			t.Errorf("in %q they stand at %d to %d (changed %v, %v); want %d to %d (changed %v)", one.older,
				first, last, changed, err, one.first, one.last, one.changed)
		}
	}
	for _, wrong := range [][2]int{{0, 1}, {2, 1}, {1, 5}, {5, 5}} {
		if _, _, _, err := TraceLines("", "a\nb\nc\nd\n", wrong[0], wrong[1]); fieldOf(err) != "range" {
			t.Errorf("lines %v: %v", wrong, err)
		}
	}
}

// TestValuesAreFollowedToTheirAuthor: over a history of edits, each of which sets, inserts or removes a value of a
// document, the version to which a value is followed back is the one that wrote it.
func TestValuesAreFollowedToTheirAuthor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type item struct{ title, body int } // the authors of both are the versions that stand in them
		var items []item
		render := func(version int) []byte {
			list := []any{}
			for _, one := range items {
				list = append(list, map[string]any{
					"title": fmt.Sprint("title ", one.title), "b/o~dy": []any{fmt.Sprint("body ", one.body), "same"},
				})
			}
			raw, err := json.Marshal(map[string]any{"items": list, "version": version})
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		contents := [][]byte{[]byte(`{"items":[]}`)}
		for version := 1; version <= rapid.IntRange(1, 12).Draw(t, "versions"); version++ {
			at := rapid.IntRange(0, len(items)).Draw(t, "at")
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 || at == len(items):
				items = slices.Insert(items, at, item{version, version})
			case kind == 1:
				items = slices.Delete(items, at, at+1)
			case kind == 2:
				items[at].title = version
			default:
				items[at].body = version
			}
			contents = append(contents, render(version))
		}
		follow := func(pointer string) int {
			for version := len(contents) - 1; version > 0; version-- {
				now, err := At(contents[version], pointer)
				if err != nil {
					t.Fatal(err)
				}
				before, changed, err := TraceJSON(contents[version-1], contents[version], pointer)
				if err != nil {
					t.Fatal(err)
				}
				if changed {
					return version
				}
				if was, err := At(contents[version-1], before); err != nil || string(was) != string(now) {
					t.Fatalf("%s was %s at %q, %v; it is %s", pointer, was, before, err, now)
				}
				pointer = before
			}
			return 0
		}
		for i, one := range items {
			at := "/items/" + strconv.Itoa(i)
			if got := follow(at + "/title"); got != one.title {
				t.Errorf("title %d is followed to version %d; version %d wrote it", i, got, one.title)
			}
			if got := follow(at + "/b~1o~0dy/0"); got != one.body {
				t.Errorf("body %d is followed to version %d; version %d wrote it", i, got, one.body)
			}
			if got, want := follow(at), max(one.title, one.body); got != want {
				t.Errorf("item %d is followed to version %d; version %d changed it last", i, got, want)
			}
		}
		if got := follow("/version"); got != len(contents)-1 {
			t.Errorf("what every version changes is followed to version %d", got)
		}
	})
}

func fieldOf(err error) string {
	var refused *parley.Error
	if !errors.As(err, &refused) || refused.Code != parley.CodeInvalid {
		return ""
	}
	return refused.Field
}

func TestAPointerToNothingIsNotFollowed(t *testing.T) {
	t.Parallel()
	for _, pointer := range []string{"/b", "/a/1", "/a/-", "a", "/a/0/x", "/~2"} {
		if _, _, err := TraceJSON([]byte(`{}`), []byte(`{"a":[0]}`), pointer); fieldOf(err) != "pointer" {
			t.Errorf("%q: %v", pointer, err)
		}
	}
	for older, want := range map[string]bool{`{"a":[0]}`: false, `{"a":[1]}`: true, `[]`: true, `{"a":{"0":0}}`: true} {
		if _, changed, err := TraceJSON([]byte(older), []byte(`{"a":[0]}`), "/a/0"); err != nil || changed != want {
			t.Errorf("from %s it has changed: %v, %v", older, changed, err)
		}
	}
}
