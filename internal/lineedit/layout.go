package lineedit

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const (
	continued = ". "   // before each further line of a text
	tabShown  = "    " // a tab in it
)

// layout is how prompt and text stand on a terminal: rows, and the cursor's place in them.
type layout struct {
	rows        []string
	row, column int
}

// lay breaks prompt and text into rows. The last column stays free: there terminals differ in where the cursor goes.
func lay(prompt, text string, cursor, width int) layout {
	var out layout
	var row strings.Builder
	column := 0
	end := func(begin string) {
		out.rows = append(out.rows, row.String())
		row.Reset()
		row.WriteString(begin)
		column = len(begin)
	}
	whole, at, state := prompt+text, len(prompt)+cursor, -1
	for rest := whole; rest != ""; {
		here := len(whole) - len(rest)
		character, columns := rest[:1], 1
		if isPlain(rest) {
			rest, state = rest[1:], -1
		} else {
			character, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
			columns = uniseg.StringWidth(shown(character))
		}
		if character != "\n" && column > 0 && column+columns >= width {
			end("")
		}
		if here == at {
			out.row, out.column = len(out.rows), column
		}
		if character == "\n" {
			end(continued)
			continue
		}
		row.WriteString(shown(character))
		column += columns
	}
	if at == len(whole) {
		out.row, out.column = len(out.rows), column
	}
	out.rows = append(out.rows, row.String())
	return out
}

// isPlain reports whether a text begins with one column of ASCII, which most texts are full of.
func isPlain(text string) bool {
	return text[0] >= ' ' && text[0] < 0x7f && (len(text) == 1 || text[1] < utf8.RuneSelf)
}

// shown is a character as it is drawn.
func shown(character string) string {
	if character == "\t" {
		return tabShown
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, character)
}
