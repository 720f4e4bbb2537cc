package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

// TestNothingThatOthersSaidSteersTheTerminal: titles, names and answers are members'.
func TestNothingThatOthersSaidSteersTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, ÄÖ 漢字 👩‍🚀\tand\n":                   "plain, ÄÖ 漢字 👩‍🚀\tand\n",
		"\x1b]0;title\x07":                          " ]0;title ",
		"\x1b]52;c;AAAA\x1b\\":                      " ]52;c;AAAA \\",
		"gone\x1b[2J\x1b[H":                         "gone [2J [H",
		"first\rsecond\b":                           "first second ",
		"a line\r\nand another":                     "a line\nand another",
		"c1 \u009b31m":                              "c1  31m",
		"c1 in Latin-1 \x9b31m":                     "c1 in Latin-1 \ufffd31m",
		"right\u202eleft\u2066":                     "right left ",
		string(clearLine + "x" + markOn + styleOff): "  [Kx [1;33m [0m", // only steer writes them
	} {
		for _, cut := range []int{len(text), 1} { // whole, and byte by byte
			var shown bytes.Buffer
			s := &screen{to: &shown, watched: true}
			for at := 0; at < len(text); at += cut {
				if n, err := fmt.Fprint(s, text[at:at+cut]); err != nil || n != cut {
					t.Fatal(n, err)
				}
			}
			if cut == 1 && strings.Contains(text, "\r\n") { // the line's end comes in two
				continue
			}
			if shown.String() != want {
				t.Errorf("%q in pieces of %d is shown as %q; want %q", text, cut, shown.String(), want)
			}
		}
	}
	var shown bytes.Buffer
	(&screen{to: &shown}).steer(markOn)
	if shown.Len() > 0 {
		t.Errorf("a sequence reaches a file: %q", shown.String())
	}
}

// TestOutputOfEveryCommandIsShown: a command that is run on any writer shows people's text on a screen, and JSON keeps
// the value without a raw control character.
func TestOutputOfEveryCommandIsShown(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]52;c;AAAA\x07 \u009b2J \u202e\u2028 \x7f \"quoted\" <b> é"
	var out bytes.Buffer
	term := terminal{out: &out, err: &bytes.Buffer{}}.shown()
	fmt.Fprint(term.out, evil)
	if strings.ContainsFunc(out.String(), steers) {
		t.Errorf("shown as %q", out.String())
	}
	out.Reset()
	if err := term.printJSON(map[string]string{evil: evil}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\n", ""), steers) {
		t.Errorf("JSON has control characters: %q", out.String())
	}
	var read map[string]string
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || read[evil] != evil {
		t.Errorf("%q is read back as %q, %v", evil, read, err)
	}
}

// TestTablesAlignWideCharacters: a wide character takes two columns of a terminal, a joined one as many as its picture.
func TestTablesAlignWideCharacters(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	term := terminal{out: &out}.shown()
	if err := term.printTable([]string{"TITLE", "ID"}, [][]string{
		{"日本語", "x"}, {"👩‍🚀", "x"}, {"e\u0301", "x"}, {"tab\tand\nline", "x"},
	}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	if len(lines) != 5 {
		t.Fatalf("printed\n%s", out.String())
	}
	at := strings.Index(lines[0], "ID")
	for _, line := range lines[1:] {
		before, _, _ := strings.Cut(line, "x")
		if uniseg.StringWidth(before) != at {
			t.Errorf("%q is not aligned with %q", line, lines[0])
		}
	}
}
