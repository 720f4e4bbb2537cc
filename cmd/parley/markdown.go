package main

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Styles of Markdown. Each is switched on alone, after styleOff.
const (
	styleHeading  steering = "\x1b[1m"
	styleTitle    steering = "\x1b[1;4m"
	styleStrong   steering = "\x1b[1m"
	styleEmphasis steering = "\x1b[3m"
	styleBoth     steering = "\x1b[1;3m"
	styleCode     steering = "\x1b[36m"
	styleFaint    steering = "\x1b[2m"
)

const (
	maxSpan    = 4 << 10 // bytes that wait for the end of a span; a longer one is plain text
	maxDepth   = 4       // spans within spans
	maxHeading = 6       // levels
	maxMark    = 3       // of strong emphasis
	fence      = "```"
	ruleShown  = "────────────────────"
)

// markdown prints Markdown as it arrives, in styles that a terminal knows. Only what may still turn out to be a mark
// waits: the beginning of a line, and a span until it ends. What is not Markdown stays as it is, and so do tables. Each
// line ends without a style.
type markdown struct {
	out     io.Writer
	line    string   // what has arrived of the current line and is not printed
	prior   rune     // the character before it, if it is a span that waits
	inside  bool     // its beginning is printed
	whole   bool     // it is printed as it is: code, a table
	base    steering // of its text
	block   string   // the fence that ends the block of code, "" outside of one
	painted steering // the style that is on
}

// markdownOn prints Markdown on a terminal in styles, and elsewhere as it is.
func markdownOn(out io.Writer) *markdown {
	return &markdown{out: out, base: styleOff, painted: styleOff}
}

// print takes the next piece of the text.
func (m *markdown) print(text string) {
	if !styled(m.out) {
		_, _ = io.WriteString(m.out, text) // as fmt.Fprint does elsewhere
		return
	}
	for text != "" {
		piece, rest, ended := strings.Cut(text, "\n")
		m.line += strings.ReplaceAll(piece, "\r", "") // of a line's end
		m.advance(ended)
		if ended {
			m.paint(styleOff, "\n")
			m.line, m.prior, m.inside, m.whole, m.base = "", 0, false, false, styleOff
		}
		text = rest
	}
}

// pause prints what waits, because something else is printed next.
func (m *markdown) pause() {
	if m.line != "" {
		m.advance(true)
	}
	m.paint(styleOff, "")
}

// advance prints as much of the line as is certain; if it has ended, all of it.
func (m *markdown) advance(ended bool) {
	if !m.inside && !m.begin(ended) {
		return
	}
	if m.whole {
		m.paint(m.base, m.line)
		m.line = ""
		return
	}
	m.line = m.spans(m.line, m.base, ended, maxDepth)
}

// marksOfLines are the characters of what a line may begin with.
const marksOfLines = "#-*+_>`~|0123456789.)"

// begin prints the mark at the beginning of the line; false while it may still become another.
func (m *markdown) begin(ended bool) bool {
	rest := strings.TrimLeft(m.line, " ")
	word := rest[:len(rest)-len(strings.TrimLeft(rest, marksOfLines))]
	if len(word) == len(rest) && !ended && len(m.line) < maxSpan { // more of the mark may come
		return false
	}
	if m.block != "" || isFence(word) {
		if begun, is := m.code(rest, ended); is {
			return begun
		}
	}
	m.inside = true
	m.beginText(m.line[:len(m.line)-len(rest)], word, rest[len(word):], ended)
	return true
}

// beginText prints the mark of a line outside of code.
func (m *markdown) beginText(indent, word, after string, ended bool) {
	spaced := after == "" || after[0] == ' '
	switch {
	case word == "":
	case len(word) <= maxHeading && strings.Trim(word, "#") == "" && spaced && after != "":
		m.base = styleHeading
		if len(word) == 1 {
			m.base = styleTitle
		}
		m.line = strings.TrimLeft(after, " ")
	case ended && strings.TrimSpace(after) == "" && len(word) >= len(fence) && isRule(word):
		m.paint(styleFaint, ruleShown)
		m.line = ""
	case (word == "-" || word == "*" || word == "+") && spaced && after != "":
		m.paint(styleOff, indent+"•")
		m.line = after
	case word[0] == '>':
		text := strings.TrimLeft(word, ">")
		m.paint(styleFaint, indent+strings.Repeat("│", len(word)-len(text)))
		m.line = text + after
	case word[0] == '|':
		m.whole = true
	}
}

func isRule(word string) bool {
	return strings.Contains("-*_", word[:1]) && strings.Trim(word, word[:1]) == ""
}

func isFence(word string) bool {
	return strings.HasPrefix(word, fence) || strings.HasPrefix(word, "~~~")
}

// code prints a line of a block of code, or the fence before or after it; is is false for a line that is neither, and
// begun while it may still become the other.
func (m *markdown) code(rest string, ended bool) (begun, is bool) {
	mark := rest
	if rest != "" {
		mark = rest[:len(rest)-len(strings.TrimLeft(rest, rest[:1]))]
	}
	switch {
	case m.block == "" && !ended && len(rest) < maxSpan:
		return false, true
	case m.block == "" && mark[0] == '`' && strings.Contains(rest[len(mark):], "`"): // a span
		return false, false
	case m.block == "":
		m.block, m.base = mark, styleFaint
	case strings.HasPrefix(mark, m.block) && strings.TrimSpace(rest[len(mark):]) == "":
		if !ended {
			return false, true
		}
		m.block, m.base = "", styleFaint
	default:
		m.base = styleCode
	}
	m.inside, m.whole = true, true
	return true, true
}

// spans prints a text with the spans in it, and returns what waits for its end; nothing, if the line has ended.
func (m *markdown) spans(text string, base steering, ended bool, depth int) (waits string) {
	prior, plain := m.prior, 0 // plain is where the text begins that is not printed yet
	wait := func(at int) string {
		m.paint(base, text[plain:at])
		if at > 0 {
			m.prior, _ = utf8.DecodeLastRuneInString(text[:at])
		}
		return text[at:]
	}
	m.prior = 0
	for at := 0; at < len(text); {
		mark := spanMark(text[at:])
		switch {
		case mark == "":
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		case mark == `\`:
			if at+1 == len(text) && !ended {
				return wait(at)
			}
			if at+1 < len(text) && strings.IndexByte("\\`*_{}[]()#+-.!|<>~", text[at+1]) >= 0 {
				m.paint(base, text[plain:at])
				plain = at + 1
				at++
			}
			at++
			continue
		case at+len(mark) < len(text) && !opens(text, at, mark, prior), len(mark) > maxMark && mark[0] != '`':
			at += len(mark)
			continue
		}
		inner, length, open := span(text[at:], mark)
		switch {
		case open && !ended && len(text)-at < maxSpan:
			return wait(at)
		case length == 0:
			at += len(mark)
			continue
		}
		m.paint(base, text[plain:at])
		if style := spanStyle(mark, base); mark[0] == '`' || depth == 0 {
			m.paint(style, inner)
		} else {
			m.spans(inner, style, true, depth-1)
		}
		at += length
		plain = at
	}
	m.paint(base, text[plain:])
	return ""
}

// spanMark is the mark at the beginning of a text, "" without one.
func spanMark(text string) string {
	switch text[0] {
	case '`', '*', '_':
		return text[:len(text)-len(strings.TrimLeft(text, text[:1]))]
	case '\\':
		return text[:1]
	}
	return ""
}

// opens reports whether a mark may begin a span: text follows, and an underscore is not within a word. prior is the
// character before the text.
func opens(text string, at int, mark string, prior rune) bool {
	if mark[0] == '`' {
		return true
	}
	after, _ := utf8.DecodeRuneInString(text[at+len(mark):])
	if at > 0 {
		prior, _ = utf8.DecodeLastRuneInString(text[:at])
	}
	return !unicode.IsSpace(after) && (mark[0] != '_' || !inWord(prior))
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// span finds the span that a mark begins: what is in it, and how long it is with its marks, 0 for none. open reports
// that its end may still come.
func span(text, mark string) (inner string, length int, open bool) {
	for at := len(mark); at < len(text); {
		found := spanMark(text[at:])
		switch {
		case found == "":
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		case found == `\` && mark[0] != '`':
			at += 2
			continue
		case !ends(found, mark) || mark[0] != '`' && !closes(text, at, found):
			at += len(found)
			continue
		}
		end := at + len(found)
		return text[len(mark) : end-len(mark)], end, end == len(text) // more of the mark may come
	}
	return "", 0, true
}

// ends reports whether a mark may end the span of another: the same, or three that also end a span within it.
func ends(found, mark string) bool {
	return found == mark || mark[0] != '`' && found[0] == mark[0] && len(found) == maxMark
}

// closes reports whether a mark may end a span: text precedes it, and an underscore is not within a word.
func closes(text string, at int, mark string) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+len(mark):])
	return at > len(mark) && !unicode.IsSpace(before) && (mark[0] != '_' || !inWord(after))
}

// spanStyle is the style of a span in a text of a style.
func spanStyle(mark string, base steering) steering {
	strong, emphasis := len(mark) >= 2, len(mark) != 2
	switch {
	case mark[0] == '`':
		return styleCode
	case base == styleTitle || base == styleHeading && !emphasis:
		return base
	case strong && emphasis, strong && base == styleEmphasis, emphasis && base == styleStrong, base == styleBoth:
		return styleBoth
	case strong:
		return styleStrong
	}
	return styleEmphasis
}

// paint prints text in a style.
func (m *markdown) paint(style steering, text string) {
	if style != m.painted && (text != "" || style == styleOff) {
		if m.painted != styleOff {
			steer(m.out, styleOff)
		}
		if style != styleOff {
			steer(m.out, style)
		}
		m.painted = style
	}
	if text != "" {
		_, _ = io.WriteString(m.out, text) // as fmt.Fprint does elsewhere: a terminal that is gone reads nothing
	}
}
