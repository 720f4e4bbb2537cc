package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// written is Markdown as a terminal gets it, with the styles as words.
func written(text string, pieces int) string {
	var out bytes.Buffer
	m := markdownOn(&screen{to: &out, watched: true, styled: true})
	for len(text) > pieces {
		m.print(text[:pieces])
		text = text[pieces:]
	}
	m.print(text)
	m.pause()
	return strings.NewReplacer(
		string(styleOff), "{}", string(styleTitle), "{title}", string(styleStrong), "{strong}",
		string(styleEmphasis), "{emphasis}", string(styleBoth), "{both}", string(styleCode), "{code}",
		string(styleFaint), "{faint}",
	).Replace(out.String())
}

// TestMarkdownHasStyles: the same ones in whatever pieces it arrives; what is not Markdown stays.
func TestMarkdownHasStyles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain text":                           "plain text",
		"# Title\ntext\n":                      "{title}Title{}\ntext\n",
		"### A `b` **c**\n":                    "{strong}A {}{code}b{}{strong} c{}\n",
		"#hashtag, C# and #1\n":                "#hashtag, C# and #1\n",
		"a **bold** and *slanted* word\n":      "a {strong}bold{} and {emphasis}slanted{} word\n",
		"__bold__ _slanted_ ***both***\n":      "{strong}bold{} {emphasis}slanted{} {both}both{}\n",
		"**bold `rm -rf *` *it***\n":           "{strong}bold {}{code}rm -rf *{}{strong} {}{both}it{}\n",
		"snake_case_name and _x_y\n":           "snake_case_name and _x_y\n",
		"2 * 3 * 4 and *.go and *.md\n":        "2 * 3 * 4 and *.go and *.md\n",
		"`a **b** c` ``x ` y``\n":              "{code}a **b** c{} {code}x ` y{}\n",
		"an open **mark\nand the next* line\n": "an open **mark\nand the next* line\n",
		"\\*not\\* \\x \\\\\n":                 "*not* \\x \\\n",
		"- one\n  * two\n+ three\n-no\n- \n":   "• one\n  • two\n• three\n-no\n• \n",
		"1. one\n2) two\n2024 was\n":           "1. one\n2) two\n2024 was\n",
		"> quoted **x**\n>> twice\n":           "{faint}│{} quoted {strong}x{}\n{faint}││{} twice\n",
		"---\n-- -\n":                          "{faint}" + ruleShown + "{}\n-- -\n",
		"| a | **b** |\n|---|---|\n":           "| a | **b** |\n|---|---|\n",
		"```go\nx := *p // **\n\n``\n```\nafter `x`\n": "{faint}```go{}\n{code}x := *p // **{}\n\n{code}``{}\n" +
			"{faint}```{}\nafter {code}x{}\n",
		"1. one\n    ```\n    a*b*\n    ```\n": "1. one\n{faint}    ```{}\n{code}    a*b*{}\n{faint}    ```{}\n",
		"```x``` is a span\n":                  "{code}x{} is a span\n",
		"~~~\n```\n~~~\n":                      "{faint}~~~{}\n{code}```{}\n{faint}~~~{}\n",
		"an unfinished `span":                  "an unfinished `span",
		"an unfinished block\n```\ncode":       "an unfinished block\n{faint}```{}\n{code}code{}",
		"#":                                    "#",
		"日本 **語** 👩‍🚀\r\n":                     "日本 {strong}語{} 👩‍🚀\n",
	} {
		for _, pieces := range []int{len(text), 1, 2, 3} {
			if got := written(text, pieces); got != want {
				t.Errorf("%q in pieces of %d is\n%q, want\n%q", text, pieces, got, want)
			}
		}
	}
	long := "**" + strings.Repeat("x", 2*maxSpan)
	if got := written(long, 100); got != long {
		t.Errorf("a mark without end becomes %.60q…", got)
	}
}

// TestMarkdownIsPlainElsewhere: in files, pipes and terminals without styles.
func TestMarkdownIsPlainElsewhere(t *testing.T) {
	const text = "# **Title**\n`code` \x1b[31m\n"
	for _, s := range []*screen{{}, {watched: true}} {
		var out bytes.Buffer
		s.to = &out
		m := markdownOn(s)
		m.print(text)
		m.pause()
		if out.String() != "# **Title**\n`code`  [31m\n" {
			t.Errorf("it is %q", out.String())
		}
	}
}

// FuzzMarkdown: nothing but marks goes missing, and no style outlives its line.
func FuzzMarkdown(f *testing.F) {
	f.Add("# a **b** `c`\n```\nd\n```\n> - _e_", 3)
	f.Fuzz(func(t *testing.T, text string, pieces int) {
		if !utf8.ValidString(text) {
			return
		}
		words := func(s string) string {
			return strings.Map(func(r rune) rune {
				if steers(r) || strings.ContainsRune(" \n#*_`\\>-+•│─~", r) {
					return -1
				}
				return r
			}, s)
		}
		var out bytes.Buffer
		m := markdownOn(&screen{to: &out, watched: true, styled: true})
		step := max(1, pieces%100)
		for at := 0; at < len(text); at += step {
			m.print(text[at:min(len(text), at+step)])
		}
		m.pause()
		plain, on := "", false
		for rest := out.String(); rest != ""; {
			if rest[0] == 0x1b {
				end := strings.IndexByte(rest, 'm') + 1
				on, rest = rest[:end] != string(styleOff), rest[end:]
				continue
			}
			if rest[0] == '\n' && on {
				t.Fatalf("%q ends a line in a style: %q", text, out.String())
			}
			plain, rest = plain+rest[:1], rest[1:]
		}
		if on || words(plain) != words(text) {
			t.Fatalf("%q is shown as %q", text, out.String())
		}
	})
}
