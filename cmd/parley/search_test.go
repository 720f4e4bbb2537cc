package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// Marks are shown to people; nothing that steers a terminal gets through.
func TestHitsAreMarked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		marks [][2]int
		want  string
	}{
		{"a needle", [][2]int{{2, 8}}, "a [needle]"},
		{"größer 🚀 東京", [][2]int{{0, 6}, {9, 11}}, "[größer] 🚀 [東京]"},
		{"ab", [][2]int{{0, 1}, {1, 2}}, "[a][b]"},
		{"\x1b[31mred\u202e", nil, " [31mred "},
	} {
		var shown bytes.Buffer
		on := &screen{to: &shown, watched: true, styled: true}
		printMarked(on, &client.Snippet{Text: test.text, Marks: test.marks})
		got := strings.NewReplacer(string(markOn), "[", string(styleOff), "]").Replace(shown.String())
		if got != test.want {
			t.Errorf("%q is shown as %q, want %q", test.text, got, test.want)
		}
	}
}

// A page is told with where, when and what, and what is missing on the other stream.
func TestHitsArePrinted(t *testing.T) {
	t.Parallel()
	var out, told bytes.Buffer
	at := parley.TimeOf(time.Date(2026, 1, 31, 12, 0, 0, 0, time.Local))
	page := client.SearchResults{Next: new("more"), Data: []client.SearchHit{
		{
			Session: client.FoundSession{Title: "Plans"},
			Message: &client.FoundMessage{Role: parley.RoleToolResult, ToolName: "sew", Sequence: 7, CreatedAt: at},
			Snippet: client.Snippet{Text: "a needle", Marks: [][2]int{{2, 8}}},
		},
		{Session: client.FoundSession{Title: "Needles"}, Snippet: client.Snippet{Text: "Needles"}},
	}}
	if err := printHits(terminal{out: &out, err: &told}, &page); err != nil {
		t.Fatal(err)
	}
	none := parley.ID{}.String()
	if want := none + "  tool_result sew #7  2026-01-31 12:00  Plans\n    a needle\n" + none +
		"  title  Needles\n    Needles\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if want := "There is more: --cursor more\n" +
		"The index is still being built: older conversations may be missing.\n"; told.String() != want {
		t.Errorf("told %q", told.String())
	}
}

func TestTimesOfSearches(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-01-31":                time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T10:00:00+02:00": time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC),
		"90m":                       now.Add(-90 * time.Minute), "7d": now.AddDate(0, 0, -7), "0d": now,
	} {
		if got, err := timeAgo(text, now); err != nil || got != parley.TimeOf(want) {
			t.Errorf("%s is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-1d", "-5m", "d", "7", "99999999999999999999d"} {
		if got, err := timeAgo(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
