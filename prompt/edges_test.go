package prompt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

func edgesOf(r *redactor, left int64) *Edges {
	return &Edges{hiding{redactor: r, reading: reading{ctx: context.Background(), each: 1, left: left}}}
}

func gapOf(head, tail int) string { return fmt.Sprintf("\n\n[%d bytes are left out]\n\n", tail-head) }

// TestWhatIsCutHidesAllTheSame: of a text that is cut, no byte is shown that is hidden in the whole text, whatever the
// patterns look at around a value.
func TestWhatIsCutHidesAllTheSame(t *testing.T) {
	t.Parallel()
	var redactors []*redactor
	for _, patterns := range [][]string{
		{`\bAK[12]+\b`}, {`"p": *"[^"]*"`}, {`(?m)^x.*$`, `[12]{4}`}, {`\B[12]+\B`}, {`(?s)x.{3,9}`, `AK.`},
		{`(?m)[12]{3}$`}, {`A(?s:.*)1`},
	} {
		redactors = append(redactors, mustRedactor(t, patterns...))
	}
	pieces := []string{
		"AK", "1", "2", "121", "x", " ", "\n", `\n`, `\\n`, `\`, `"`, `"p": "`, `\"`, "é", "[P0_0123456789]",
	}
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(redactors).Draw(t, "redactor")
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		head := runeStart(text, rapid.IntRange(0, len(text)).Draw(t, "head"))
		tail := runeStart(text, rapid.IntRange(head, len(text)).Draw(t, "tail"))
		before, behind := edgesOf(r, maxEdgeWork).cut(text, head, tail, gapOf)
		if before > head || behind < tail || before < 0 || behind > len(text) {
			t.Fatalf("the cut from %d to %d became one from %d to %d", head, tail, before, behind)
		}
		gap := gapOf(before, behind)
		shown := edgesOf(r, maxEdgeWork).hiding.places(text[:before] + gap + text[behind:])
		for _, p := range edgesOf(r, maxEdgeWork).hiding.places(text) {
			if at := min(p[1], before); p[0] < at && !covers(shown, p[0], at) {
				t.Fatalf("of %q, %q is shown before the cut at %d", text, text[p[0]:at], before)
			}
			seam := before + len(gap) - behind
			if at := max(p[0], behind); p[1] > at && !covers(shown, at+seam, p[1]+seam) {
				t.Fatalf("of %q, %q is shown behind the cut at %d", text, text[at:p[1]], behind)
			}
		}
	})
}

// TestCutsMoveNoFurtherThanTheValue: what stands around a value within reach is shown, and a cut that meets none stays.
func TestCutsMoveNoFurtherThanTheValue(t *testing.T) {
	t.Parallel()
	r := mustRedactor(t, `[0-9]{16}`)
	words := strings.Repeat("word ", 4000)
	text := words + "4929717717732941" + words + "4929717717732942" + words
	e := edgesOf(r, maxEdgeWork)
	head, tail := len(words)+8, 2*len(words)+20
	if head, tail = e.cut(text, head, tail, gapOf); head != len(words) || tail != 2*len(words)+32 {
		t.Errorf("the text is cut at %d and %d, not around values of 16 bytes behind %d each", head, tail, len(words))
	}
	if head, tail = e.cut(text, 100, 200, gapOf); head != 100 || tail != 200 {
		t.Errorf("a cut far from values moved to %d and %d", head, tail)
	}
	if got := e.Clip(text, len(words)+8); got != words+"…" {
		t.Errorf("a beginning ends with %q", got[len(got)-20:])
	}
	if got := e.plain("Card 4929717717732941, keep it", 48); got != "Card " {
		t.Errorf("a quotation is %q", got)
	}
}

// TestCutsHaveABudget: beyond it nothing of a text is shown, nor once the context has ended, which is told.
func TestCutsHaveABudget(t *testing.T) {
	t.Parallel()
	r := mustRedactor(t, `[0-9]{16}`)
	text := strings.Repeat("word ", 4000)
	e := edgesOf(r, 20_000)
	shown := 0
	for range 10 {
		if head, tail := e.cut(text, 8000, 9000, gapOf); head == 8000 && tail == 9000 {
			shown++
		} else if head != 0 || tail != len(text) {
			t.Fatalf("beyond the budget a text is cut at %d and %d", head, tail)
		}
	}
	if shown != 1 || e.Err() != nil {
		t.Errorf("%d texts are shown before the budget is used up, and the error is %v", shown, e.Err())
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(gone)
	if e.hiding.ctx = ctx; !errors.Is(e.Err(), gone) {
		t.Errorf("once the context has ended the error is %v", e.Err())
	}
}

// TestEarlierCallsKeepTheirCuts: a recorded call is rebuilt as its redaction cut texts.
func TestEarlierCallsKeepTheirCuts(t *testing.T) {
	t.Parallel()
	layers, err := NewLayers(LayersInput{Redact: []parley.RedactPattern{{Name: "card", Pattern: `[0-9]{16}`}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, moves := range map[string]bool{olderRedactName: false, cuttingRedact: false, redactName: true} {
		again, err := RebuildLayers([]string{name}, layers.Text(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Edges(t.Context()) != nil; got != moves || again.Names()[0] != name {
			t.Errorf("%s is rebuilt as %v and moves cuts: %t", name, again.Names(), got)
		}
		if reads := again.hides.depth > 0; reads != (name != olderRedactName) {
			t.Errorf("%s reads escapes: %t", name, reads)
		}
	}
	if none := (Layers{}).Edges(t.Context()); none != nil {
		t.Error("layers that hide nothing have edges")
	}
}
