package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentsFit: every document of the tree keeps within its columns.
func TestDocumentsFit(t *testing.T) {
	t.Parallel()
	const root = "../.."
	names, err := documents(root)
	if err != nil || len(names) < 5 {
		t.Fatalf("%d documents: %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range tooWide(string(text)) {
			t.Errorf("%s:%d is wider than %d columns: run make fmt", name, line, width)
		}
	}
}

// long is a sentence of about 150 columns.
var long = strings.TrimSpace(strings.Repeat("nine wide ", 15))

func TestWrap(t *testing.T) {
	t.Parallel()
	row := strings.TrimSpace(strings.Repeat("nine wide ", 12)) // 119 columns
	for name, c := range map[string]struct{ before, after string }{
		"what fits stays as it is broken": {"One.\nTwo.\n\n- a\n  b\n", "One.\nTwo.\n\n- a\n  b\n"},
		"a paragraph":                     {long + "\nend\n", row + "\nnine wide nine wide nine wide end\n"},
		"an item keeps its indent": {"1. " + long + "\n   end\n2. two\n",
			"1. " + row[:114] + "\n   wide nine wide nine wide nine wide end\n2. two\n"},
		"an item in an item": {"- a\n  - " + long + "\n",
			"- a\n  - " + row[:114] + "\n    wide nine wide nine wide nine wide\n"},
		"a quotation": {"> " + long + "\n",
			"> " + row[:114] + "\n> wide nine wide nine wide nine wide\n"},
		"a table":       {"| " + long + " |\n", "| " + long + " |\n"},
		"fenced code":   {"```sh\n" + long + "\n```\n", "```sh\n" + long + "\n```\n"},
		"indented code": {"Text.\n\n    " + long + "\n", "Text.\n\n    " + long + "\n"},
		"a heading":     {"# " + long + "\n" + "text\n", "# " + long + "\n" + "text\n"},
		"front matter": {"---\nabout: " + long + "\n---\n\ntext\n",
			"---\nabout: " + long + "\n---\n\ntext\n"},
		"code is one word":         {row[:110] + "`a b c d e f` x\n", row[:109] + "\n`a b c d e f` x\n"},
		"no word becomes a marker": {row[:110] + "a 1. - # > | b\n", row[:109] + "\na 1. - # > | b\n"},
		"breaks that were meant":   {long + "  \nend\n", long + "  \nend\n"},
	} {
		got := wrap(c.before)
		if diff := cmp.Diff(c.after, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if again := wrap(got); again != got {
			t.Errorf("%s: the second time it is %q", name, again)
		}
	}
}

func TestTooWide(t *testing.T) {
	t.Parallel()
	text := strings.Join(
		[]string{
			strings.Repeat("é", 119) + " ",
			"x " + strings.Repeat("é", 119),
			"| " + long,
			strings.Repeat("x", 200),
			"```",
			long,
			"```",
		},
		"\n",
	)
	if diff := cmp.Diff([]int{2, 6}, tooWide(text)); diff != "" {
		t.Error(diff)
	}
}
