package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
)

func mustRedactor(t rapid.TB, patterns ...string) *redactor {
	t.Helper()
	var named []parley.RedactPattern
	for i, pattern := range patterns {
		named = append(named, parley.RedactPattern{Name: fmt.Sprintf("p%d", i), Pattern: pattern})
	}
	r, err := newRedactor(named)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hideIn(t rapid.TB, r *redactor, text string) (*model.Request, error) {
	t.Helper()
	request := &model.Request{Messages: []model.Message{{Parts: []model.Part{{Kind: model.PartText, Text: text}}}}}
	_, err := r.Request(context.Background(), model.Exchange{}, request)
	return request, err
}

// Reading a text rune by rune and from match to match finds what FindAll finds.
func TestRedactFindsWhatFindAllFinds(t *testing.T) {
	t.Parallel()
	var redactors []*redactor
	for _, patterns := range [][]string{
		{`\b`}, {`a*b`, `a`}, {`^a|b$`}, {`(?m)^.`, `a$`}, {`\Bé+`, `\ba`}, {`a(?s:.*b)?`}, {`(?i)A+?`, `a+`},
		{`x`, `[\n ]`}, {`é\b|\n\b`},
	} {
		redactors = append(redactors, mustRedactor(t, patterns...))
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(redactors).Draw(t, "redactor")
		text := strings.Join(
			rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "A", "é", " ", "\n", "x", "\xff", "[P0_0123456789]"})).
				Draw(t, "text"),
			"",
		)
		h := hiding{
			redactor: r,
			values:   map[string]string{},
			reading:  reading{ctx: context.Background(), each: 1, left: maxRedactWork},
		}
		var want strings.Builder
		last := 0
		for _, place := range r.first.FindAllStringSubmatchIndex(text, -1) {
			group := 1
			for place[2*group] < 0 {
				group++
			}
			name := "P0"
			if group > 1 {
				name = r.names[group-2]
			}
			want.WriteString(text[last:place[0]] + h.placeholder(name, text[place[0]:place[1]]))
			last = place[1]
		}
		want.WriteString(text[last:])
		if got := h.hide(text, false); got != want.String() {
			t.Fatalf("%q became %q, want %q", text, got, want.String())
		}
	})
}

// What stands behind JSON's escapes, in an answer of a tool or in one that quotes another, is hidden as it would be in
// the text: patterns look at the ends of lines, at quotation marks, and at words.
func TestRedactReadsEscapes(t *testing.T) {
	t.Parallel()
	r := mustRedactor(t, `\bAK[0-9]{6}\b`, `"password": *"[^"]*"`, `(?m)^pin: .*$`)
	text := "Keys:\nAK123456\n{\"password\": \"h<u>nter\"}\npin: 0000\n"
	for range maxEscapes {
		quoted, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		text = string(quoted)
		request, err := hideIn(t, r, text)
		if err != nil {
			t.Fatal(err)
		}
		got := request.Messages[0].Parts[0].Text
		for _, part := range []string{"123456", "nter", "0000"} {
			if strings.Contains(got, part) {
				t.Errorf("%s is in %s", part, got)
			}
		}
		if !json.Valid([]byte(got)) || !strings.Contains(got, "Keys:") || strings.Count(got, "[P") != 3 {
			t.Errorf("%s became %s", text, got)
		}
		places, err := Layers{hides: r}.Hidden(t.Context(), text)
		if err != nil || len(places) != 3 || strings.Count(text[places[0][0]:places[2][1]], "AK") != 1 {
			t.Errorf("the places of %s are %v, %v", text, places, err)
		}
	}
}

// Reading escapes is what package json does.
func TestEscapesAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		want, depth := text, rapid.IntRange(1, maxEscapes).Draw(t, "depth")
		for range depth {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(quoted[1 : len(quoted)-1])
		}
		if got := unescaped(text, depth); got != want {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
	})
}

// A search that would take too long sends nothing: neither one with many instructions over much text, nor one that
// reads to the end again and again.
func TestRedactHasABudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pattern string
		bytes   int
	}{
		"many instructions over much text": {`(\w{1,60}){1,15}[xyz]0`, 900_000},
		"behind each match to the end":     {`a(?s:.*b)?`, 900_000},
	} {
		_, err := hideIn(t, mustRedactor(t, c.pattern), strings.Repeat("a", c.bytes))
		if parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), "Nothing was sent") {
			t.Errorf("%s: %v", name, err)
		}
	}
	request, err := hideIn(
		t,
		mustRedactor(t, `[\w.]+@[\w.]+\w`, `\d{3}-\d{4}`),
		strings.Repeat("Some words, a number. ", 40_000)+"555-1234",
	)
	if text := request.Messages[0].Parts[0].Text; err != nil || strings.Contains(text, "555") {
		t.Errorf("usual patterns over a long text: %v", err)
	}
}

// The end of the context ends a search in the middle of a text.
func TestRedactEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := mustRedactor(t, `(\w{1,60}){1,15}[xyz]0`)
	why := errors.New("the turn's time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	request := &model.Request{System: strings.Repeat("a", 200_000)}
	h := hiding{
		redactor: r,
		values:   map[string]string{},
		reading:  reading{ctx: ctx, each: int64(r.size), left: maxRedactWork},
	}
	h.text(request.System)
	if done := maxRedactWork - h.left; !errors.Is(h.err, why) || done > 2*workPerLook {
		t.Errorf("after work of %d: %v", done, h.err)
	}
	if _, err := r.Request(ctx, model.Exchange{}, request); !errors.Is(err, why) {
		t.Errorf("the request ended with %v", err)
	}
}

// Patterns that are too large together are refused when written, and where an earlier version accepted them; the
// server's have room beside a scope's.
func TestPatternsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	var many []parley.RedactPattern
	for i := range parley.MaxRedactPatterns {
		many = append(many, parley.RedactPattern{Name: fmt.Sprintf("p%d", i), Pattern: `(\w{1,60}){1,15}[xyz]0`})
	}
	if err := parley.ValidateRedact(
		"redact",
		many,
	); parley.ErrorCode(err) != parley.CodeInvalid ||
		!strings.Contains(err.Error(), "p1: the pattern is too large") {
		t.Errorf("written: %v", err)
	}
	if _, err := newRedactor(
		many,
	); parley.ErrorCode(err) != parley.CodeInvalid ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("stored: %v", err)
	}
	if err := parley.ValidateRedact("redact", many[:1]); err != nil {
		t.Errorf("one: %v", err)
	}
	if _, err := newRedactor(many[:2]); err != nil {
		t.Errorf("the server's and an agent's: %v", err)
	}
	for _, pattern := range []string{`x{1001}`, `(x{100}){100}`, `((x{30}){30}){30}`} {
		err := parley.ValidateRedact("redact", []parley.RedactPattern{{Name: "p", Pattern: pattern}})
		if err == nil || !strings.Contains(err.Error(), "too large once its repetitions") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
