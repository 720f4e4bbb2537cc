package document

import (
	"strings"

	"example.org/parley"
)

// LineRange is a part of a text.
type LineRange struct {
	From  int // its first line, from 1
	To    int // its last line
	Total int // lines of the whole text
	Text  string
}

// Lines returns the lines from to to of a text, both included and counted from 1; a to of 0, or beyond the end, is the
// last line. Line feeds end lines; the last line may have none. It is CodeInvalid, with Field "from" or "to", for
// lines that the text does not have; Total is then set nevertheless.
func Lines(content string, from, to int) (LineRange, error) {
	total := countLines(content)
	if to <= 0 || to > total {
		to = total
	}
	switch {
	case from < 1 || from > max(total, 1):
		return LineRange{Total: total}, parley.InvalidField("from", "must be a line from 1 to %d", max(total, 1))
	case from > to && total > 0:
		return LineRange{Total: total}, parley.InvalidField("to", "must not be before the first line, %d", from)
	}
	part := content
	for range from - 1 {
		_, part, _ = strings.Cut(part, "\n")
	}
	end := 0
	for range to - from + 1 {
		next := strings.IndexByte(part[end:], '\n')
		if next < 0 {
			end = len(part)
			break
		}
		end += next + 1
	}
	return LineRange{From: min(from, to), To: to, Total: total, Text: part[:end]}, nil
}

// countLines returns the number of lines.
func countLines(content string) int {
	lines := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		lines++
	}
	return lines
}

// splitLines returns the lines with their line feeds.
func splitLines(content string) []string {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
