package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is the most columns of a line.
const width = 120

// skipped are directories of others' documents, and of generated files.
var skipped = []string{ //nolint:gochecknoglobals // a constant
	".git",
	".cache",
	"bin",
	"dist",
	"node_modules",
	"testdata",
}

// documents names the Markdown files of a tree.
func documents(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		name, err := filepath.Rel(root, path)
		names = append(names, name)
		return err
	})
	return names, err
}

// tooWide returns, counted from 1, the lines that are too wide, except rows of tables and words that cannot be broken.
func tooWide(text string) []int {
	var wide []int
	for i, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > width && !isRow(line) && strings.ContainsAny(strings.TrimSpace(line), " \t") {
			wide = append(wide, i+1)
		}
	}
	return wide
}

func isRow(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "|") }

var (
	fence = regexp.MustCompile("^\\s*(?:```|~~~)")
	item  = regexp.MustCompile(`^\s*(?:[-*+]|[0-9]+[.)]|>) +`)
	alone = regexp.MustCompile(`^\s*(?:#|<|\||---|===|\[\^?[^\]]+\]:)`)
	// begins matches a word that would change its meaning at the beginning of a line.
	begins = regexp.MustCompile(`^(?:[-*+>|]|#+|=+|-+|[0-9]+[.)]|<.*|` + "```.*)$")
)

// wrap re-breaks paragraphs and list items that contain a line too wide. Code, tables, headings, HTML and the front
// matter stay unchanged.
func wrap(text string) string {
	lines := strings.Split(text, "\n")
	var out, block []string
	flush := func() {
		out, block = append(out, broken(block)...), nil
	}
	front := lines[0] == "---" // the front matter, up to the next ---
	fenced := front
	for i, line := range lines {
		switch {
		case fence.MatchString(line), front && i > 0 && line == "---":
			flush()
			out, fenced, front = append(out, line), !fenced, false
		case fenced, strings.TrimSpace(line) == "", alone.MatchString(line), code(line, block, out):
			flush()
			out = append(out, line)
		case item.MatchString(line):
			flush()
			block = []string{line}
		default:
			block = append(block, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// code reports whether a line is indented code: four spaces after an empty line that does not follow a list item.
func code(line string, block, out []string) bool {
	if !strings.HasPrefix(line, "    ") || len(block) > 0 || item.MatchString(line) {
		return false
	}
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] != "" && !strings.HasPrefix(out[i], " ") {
			return !item.MatchString(out[i])
		}
	}
	return true
}

// broken returns a paragraph or list item in lines that fit, unchanged if they already do.
func broken(block []string) []string {
	if !slices.ContainsFunc(block, func(line string) bool { return utf8.RuneCountInString(line) > width }) ||
		slices.ContainsFunc(
			block[:len(block)-1],
			func(line string) bool { return strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`) },
		) {
		return block
	}
	first := item.FindString(block[0])
	indent := strings.Repeat(" ", utf8.RuneCountInString(first))
	if first == "" {
		first = block[0][:len(block[0])-len(strings.TrimLeft(block[0], " "))]
		indent = first
	}
	if strings.Contains(first, ">") {
		indent = first
	}
	var out []string
	line, empty := first, true
	for _, word := range words(strings.TrimPrefix(strings.Join(block, "\n"), first)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(out, line)
}

// words splits text into units that a line may be broken between: a piece of code is one, and so is a word with those
// after it that must not begin a line.
func words(text string) []string {
	var all []string
	open := "" // the backticks of the code around the last word
	for _, field := range strings.Fields(text) {
		if open != "" || len(all) > 0 && begins.MatchString(field) {
			all[len(all)-1] += " " + field
		} else {
			all = append(all, field)
		}
		for _, ticks := range ticks.FindAllString(field, -1) {
			switch open {
			case "":
				open = ticks
			case ticks:
				open = ""
			}
		}
	}
	return all
}

var ticks = regexp.MustCompile("`+")
