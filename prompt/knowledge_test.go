package prompt_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/prompt"
)

func known(text string, changes ...func(*parley.KnowledgeItem)) parley.KnowledgeItem {
	item := parley.KnowledgeItem{
		ID: parley.NewID(), Kind: parley.KnowledgeFact, Text: text, Status: parley.KnowledgeActive,
		Author: parley.Author{Kind: parley.AuthorAgent},
	}
	for _, change := range changes {
		change(&item)
	}
	return item
}

// TestKnowledgeIsChosenInOrder: pinned items come first, then those of the subject, then the latest; what does not fit
// is left out, and smaller items behind it are not.
func TestKnowledgeIsChosenInOrder(t *testing.T) {
	t.Parallel()
	pin := func(k *parley.KnowledgeItem) { k.Pinned = true }
	items := []parley.KnowledgeItem{
		known("pinned", pin), known("the latest"), known("a long one: " + strings.Repeat("word ", 400)),
		known("about the harbour and its cranes"), known("about the harbour"), known("the oldest"),
	}
	texts := func(subject string, tokens int) string {
		var got []string
		for _, k := range prompt.ChooseKnowledge(items, subject, tokens) {
			got = append(got, strings.SplitN(k.Text, ":", 2)[0])
		}
		return strings.Join(got, ", ")
	}
	for _, c := range []struct {
		subject string
		tokens  int
		want    string
	}{
		{"", 10_000, "pinned, the latest, a long one, about the harbour and its cranes, about the harbour, the oldest"},
		{
			"Cranes of the harbour", 300,
			"pinned, about the harbour and its cranes, about the harbour, the latest, the oldest",
		},
		{"", 0, ""},
	} {
		if got := texts(c.subject, c.tokens); got != c.want {
			t.Errorf("of %q within %d tokens: %q, want %q", c.subject, c.tokens, got, c.want)
		}
	}
	chosen := prompt.ChooseKnowledge(items, "", 300)
	if got := parley.EstimateTokens(parley.KnowledgeText(chosen)); got > 300 {
		t.Errorf("the block has %d tokens of 300", got)
	}
}
