package main

import (
	"bytes"
	"fmt"
	"testing"
)

// TestNothingThatOthersSaidSteersTheTerminal: titles, names and answers are members'.
func TestNothingThatOthersSaidSteersTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, ÄÖ 漢字 👩‍🚀\tand\n":          "plain, ÄÖ 漢字 👩‍🚀\tand\n",
		"\x1b]0;title\x07":                 " ]0;title ",
		"gone\x1b[2J\x1b[H":                "gone [2J [H",
		"first\rsecond\b":                  "first second ",
		"c1 \u009b31m":                     "c1  31m",
		"right\u202eleft":                  "right left",
		clearLine + markOn + "x" + markOff: clearLine + markOn + "x" + markOff,
	} {
		var shown bytes.Buffer
		if n, err := fmt.Fprint(screen{&shown}, text); err != nil || n != len(text) || shown.String() != want {
			t.Errorf("%q is shown as %q (%d, %v); want %q", text, shown.String(), n, err, want)
		}
	}
}
