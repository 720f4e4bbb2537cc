package prompt_test

import (
	"math"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

func TestNewBudget(t *testing.T) {
	t.Parallel()
	answer, long := 2000, 64_000
	for name, c := range map[string]struct {
		model       model.Info
		parameters  parley.Parameters
		fixed       int
		ratio       float64
		least, most int // Tokens and Most
	}{
		"unknown length":              {model.Info{MaxOutput: 5}, parley.Parameters{}, 100, 1, 31_895, math.MaxInt},
		"unknown length, long answer": {model.Info{}, parley.Parameters{MaxTokens: &long}, 0, 1, 16_000, math.MaxInt},
		"max_tokens": {model.Info{ContextLength: 8000, MaxOutput: 4000},
			parley.Parameters{MaxTokens: &answer}, 500, 1, 5500, 5500},
		"the model's longest": {model.Info{ContextLength: 8000, MaxOutput: 3000}, parley.Parameters{}, 500, 1,
			4500, 6476},
		"longer than it reads": {model.Info{ContextLength: 8000, MaxOutput: 8000}, parley.Parameters{}, 0, 1,
			4000, 6976},
		"neither": {model.Info{ContextLength: 128_000}, parley.Parameters{}, 0, 1, 123_904, 126_976},
		"another tokenizer": {model.Info{ContextLength: 10_000}, parley.Parameters{MaxTokens: &answer}, 1000, 1.5,
			6500, 6500},
		"nothing left": {model.Info{ContextLength: 2000}, parley.Parameters{MaxTokens: &answer}, 500, 1, 1, 1},
	} {
		got := prompt.NewBudget(c.model, c.parameters, parley.Policy{Kind: parley.PolicyAll}, c.fixed, c.ratio)
		if got.Tokens != c.least || got.Most != c.most {
			t.Errorf("%s: %+v, want %d and %d", name, got, c.least, c.most)
		}
	}
}

// A window under a budget of tokens is cut to two thirds of it when it has filled the budget, and stays there until it
// has filled it again.
func TestBudgetCutsInJumps(t *testing.T) {
	t.Parallel()
	r := &record{}
	var anchor, jumps int64
	budget := prompt.Budget{Tokens: 3000, Ratio: 1}
	for turn := 1; turn <= 200; turn++ {
		r.add(user(turnID(turn), "question"))
		selection := mustView(t, r.view(len(r.rows), parley.Policy{Kind: parley.PolicyAll}, anchor, budget))
		if selection.Tokens > budget.Tokens || selection.Excess != 0 {
			t.Fatalf("turn %d shows %d tokens of %d", turn, selection.Tokens, budget.Tokens)
		}
		if selection.Anchor != anchor {
			if selection.Anchor < anchor {
				t.Fatalf("the window moved back from %d to %d", anchor, selection.Anchor)
			}
			if jumps++; selection.Tokens > 2100 || selection.Tokens < 1700 {
				t.Errorf("the window was cut to %d tokens, want about 2000", selection.Tokens)
			}
		}
		anchor = selection.Anchor
		m := r.add(assistant(turnID(turn), 1, parley.AssistantContent{Text: "answer"}))
		m.TokenEstimate = 80
	}
	// Each turn takes about 90 tokens and each jump makes room for 1000.
	if jumps < 14 || jumps > 22 {
		t.Errorf("the window moved %d times in 200 turns, want about 17", jumps)
	}
	again := mustView(
		t,
		r.view(len(r.rows), parley.Policy{Kind: parley.PolicyAll}, anchor, prompt.Budget{Tokens: 3_000_000}),
	)
	if again.Anchor != 0 || len(again.Messages) != len(r.rows) {
		t.Errorf("with a budget a thousand times larger the window still begins at %d", again.Anchor)
	}
}

// The running turn is shown whole, even if it alone is too long: then the selection says by how much.
func TestBudgetOfALongTurn(t *testing.T) {
	t.Parallel()
	r := plain(5)
	r.add(user(turnID(6), "now")).TokenEstimate = 500
	v := r.view(
		len(r.rows),
		parley.Policy{Kind: parley.PolicySummary},
		0,
		prompt.Budget{Tokens: 400, Most: 450, Ratio: 1},
	)
	selection := mustView(t, v)
	if len(selection.Messages) != 2 || selection.Excess != 98 {
		t.Errorf(
			"%d messages, %d tokens too many; want the first task and the running turn's, 98 too many",
			len(selection.Messages),
			selection.Excess,
		)
	}
	v.Budget.Most = 600
	if selection = mustView(t, v); selection.Excess != 0 {
		t.Errorf("within the room for what must be shown it is %d too many", selection.Excess)
	}
}

// Failure 53: only as much of a long session is read as the budget can hold.
func TestBudgetReadsOnlyTheTail(t *testing.T) {
	t.Parallel()
	r := plain(50_000)
	for i := range r.rows {
		r.rows[i].TokenEstimate = 46
	}
	r.add(user(turnID(50_001), "now"))
	for _, policy := range []parley.Policy{{Kind: parley.PolicyAll}, {Kind: parley.PolicySummary}} {
		r.reads = 0
		v := r.view(len(r.rows), policy, 0, prompt.Budget{Tokens: 8000})
		v.Head = nil
		selection := mustView(t, v)
		if first := r.reads; first > 64+prompt.TailPage {
			t.Errorf("%s read %d rows for %d", policy, first, len(selection.Messages))
		}
		r.reads = 0
		v.Session.Context.Anchor, v.Session.Context.Dropped = selection.Anchor, selection.Dropped
		mustView(t, v)
		if r.reads > len(selection.Messages)+40 {
			t.Errorf("%s read %d rows for a known window of %d", policy, r.reads, len(selection.Messages))
		}
	}
}

// The manifest of a cut window says why.
func TestManifestExplainsTheCut(t *testing.T) {
	t.Parallel()
	r := plain(100)
	r.add(user(turnID(101), "now"))
	selection := mustView(t, r.view(len(r.rows), parley.Policy{Kind: parley.PolicyAll}, 0, prompt.Budget{Tokens: 300}))
	dropped := selection.Manifest.Dropped
	if dropped == nil || !strings.Contains(dropped.Reason, "no more fits") ||
		dropped.To != selection.Manifest.Ranges[1].From-1 || dropped.From != 2 {
		t.Errorf("dropped: %+v beside %+v", dropped, selection.Manifest.Ranges)
	}
}
