package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/parley"
)

// The bounds of the answer of DiffText.
const (
	contextLines  = 3
	maxDiffLines  = 20_000   // lines of all hunks
	maxCompared   = 200_000  // lines of a text from its first difference to its last
	maxWordsBytes = 64 << 10 // of a hunk's changed lines whose words are compared
)

// DiffText returns what makes to of from: runs of changed lines with three lines around each, and within changed lines
// the words that differ. It is empty, not nil, for equal texts. The hunks have 20,000 lines at most; truncated says
// that there are more.
func DiffText(from, to string) (hunks []parley.TextHunk, truncated bool) {
	hunks = []parley.TextHunk{}
	if from == to {
		return hunks, false
	}
	w := newWindow(from, to)
	known := numbers{}
	var changes []run
	if len(w.from) > maxCompared || len(w.to) > maxCompared {
		changes = []run{{0, len(w.from), 0, len(w.to)}}
	} else {
		changes = compare(known.of(w.from), known.of(w.to), &w.work)
	}
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].a0-changes[n-1].a1 <= 2*contextLines {
			n++
		}
		hunks = append(hunks, w.hunk(changes[:n]))
		changes = changes[n:]
	}
	return clipHunks(hunks)
}

// window is the part of two texts that holds all their differences, with the lines around it.
type window struct {
	from, to []string // lines, with their line feeds
	before   int      // lines before the window
	work     work
}

func newWindow(from, to string) window {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	same = strings.LastIndexByte(from[:same], '\n') + 1
	for range contextLines {
		if same > 0 {
			same = strings.LastIndexByte(from[:same-1], '\n') + 1
		}
	}
	w := window{before: strings.Count(from[:same], "\n")}
	from, to = from[same:], to[same:]
	same = 0
	for same < min(len(from), len(to)) && from[len(from)-1-same] == to[len(to)-1-same] {
		same++
	}
	end := from[len(from)-same:] // the same in both: its first line may have begun before
	for range contextLines + 1 {
		_, end, _ = strings.Cut(end, "\n")
	}
	w.from, w.to = splitLines(from[:len(from)-len(end)]), splitLines(to[:len(to)-len(end)])
	return w
}

// hunk returns the lines of runs that are close to each other.
func (w *window) hunk(runs []run) parley.TextHunk {
	first, last := runs[0], runs[len(runs)-1]
	lead := min(contextLines, first.a0)
	hunk := parley.TextHunk{From: w.before + first.a0 - lead + 1, To: w.before + first.b0 - lead + 1}
	at := first.a0 - lead
	for _, r := range runs {
		hunk.Lines = appendLines(hunk.Lines, parley.DiffSame, w.from[at:r.a0], nil)
		removed, added := w.from[r.a0:r.a1], w.to[r.b0:r.b1]
		before, after := w.words(removed, added)
		hunk.Lines = appendLines(hunk.Lines, parley.DiffRemoved, removed, before)
		hunk.Lines = appendLines(hunk.Lines, parley.DiffAdded, added, after)
		at = r.a1
	}
	end := min(last.a1+contextLines, len(w.from))
	hunk.Lines = appendLines(hunk.Lines, parley.DiffSame, w.from[at:end], nil)
	return hunk
}

func appendLines(to []parley.DiffLine, op parley.DiffOp, lines []string, parts [][]parley.DiffPart) []parley.DiffLine {
	for i, text := range lines {
		if len(to) > maxDiffLines {
			break
		}
		line := parley.DiffLine{Op: op}
		var ended bool
		line.Text, ended = strings.CutSuffix(text, "\n")
		line.Open = !ended
		if parts != nil {
			line.Parts = parts[i]
		}
		to = append(to, line)
	}
	return to
}

// clipHunks keeps the first maxDiffLines lines.
func clipHunks(hunks []parley.TextHunk) ([]parley.TextHunk, bool) {
	left := maxDiffLines
	for i := range hunks {
		if len(hunks[i].Lines) > left {
			hunks[i].Lines = hunks[i].Lines[:left]
			if left == 0 {
				return hunks[:i], true
			}
			return hunks[:i+1], true
		}
		left -= len(hunks[i].Lines)
	}
	return hunks, false
}

// words returns the parts of lines that were removed and of those that took their place, by line; nil for lines
// that have too little in common with the others.
func (w *window) words(removed, added []string) (before, after [][]parley.DiffPart) {
	a, b := strings.Join(removed, ""), strings.Join(added, "")
	if len(removed) == 0 || len(added) == 0 || len(a) > maxWordsBytes || len(b) > maxWordsBytes {
		return nil, nil
	}
	x, y := splitWords(a), splitWords(b)
	known := numbers{}
	changedX, changedY := make([]bool, len(x)), make([]bool, len(y))
	for _, r := range compare(known.of(x), known.of(y), &w.work) {
		mark(changedX[r.a0:r.a1])
		mark(changedY[r.b0:r.b1])
	}
	return lineParts(len(removed), a, x, changedX), lineParts(len(added), b, y, changedY)
}

// lineParts puts the words of a text together again, line by line.
func lineParts(lines int, content string, words []string, changed []bool) [][]parley.DiffPart {
	parts := make([][]parley.DiffPart, 0, lines)
	var line []parley.DiffPart
	begin, at := 0, 0 // of the part and of the word, in bytes
	for i, word := range words {
		if at > begin && (word == "\n" || changed[i] != changed[i-1]) {
			line, begin = append(line, parley.DiffPart{Text: content[begin:at], Changed: changed[i-1]}), at
		}
		at += len(word)
		if word == "\n" {
			parts, line, begin = append(parts, kept(line)), nil, at
		}
	}
	if at > begin {
		line = append(line, parley.DiffPart{Text: content[begin:at], Changed: changed[len(words)-1]})
	}
	if len(parts) < lines {
		parts = append(parts, kept(line))
	}
	return parts
}

// kept returns the parts of a line if at least a third of it, white space aside, stayed.
func kept(line []parley.DiffPart) []parley.DiffPart {
	same, all := 0, 0
	for i := range line {
		n := len(strings.TrimSpace(line[i].Text))
		if all += n; !line[i].Changed {
			same += n
		}
	}
	if same*3 < all || same == 0 {
		return nil
	}
	return line
}

// splitWords divides a text into words, runs of spaces, and single other characters. A line feed stands alone. Scripts
// without spaces between words are divided into characters.
func splitWords(content string) []string {
	var words []string
	start, kind := 0, byte(0)
	for i, r := range content {
		now := wordKind(r)
		if i > start && (now != kind || now == 0) {
			words = append(words, content[start:i])
			start = i
		}
		kind = now
	}
	if start < len(content) {
		words = append(words, content[start:])
	}
	return words
}

func wordKind(r rune) byte {
	switch {
	case r == '\n':
		return 0
	case r < utf8.RuneSelf && unicode.IsSpace(r):
		return 's'
	case r >= 0x2E80 && r < 0xAC00 || r >= 0x20000: // Chinese and Japanese, mostly
		return 0
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return 'w'
	}
	return 0
}
