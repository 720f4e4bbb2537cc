package prompt_test

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/prompt"
)

// What a later summary drops of an earlier one is told by the numbers that each cites.
func TestNameDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ earlier, later, names string }{
		"all come back":        {"- a [1]\n- b [2, 3]", "- b and a [1-3]", ""},
		"one is gone":          {"- a [1]\n- b [2]", "- b [2]", "- a [1]"},
		"a source is gone":     {"- a [1, 4]", "- a [1]", "- a [1, 4]"},
		"in a range":           {"- a [5]", "- all [4–6]", ""},
		"without sources":      {"- a\n- b", "- c [9]", ""},
		"an index is no fact":  {"- a [x] [1a]", "", ""},
		"dropped before":       {"- a [1]\n\nNo longer in the summary:\n- z [7]", "- a [1]", ""},
		"listed by itself":     {"- a [1]", "- b [2]\n\nNo longer in the summary:\n- a [1]", "- a [1]"},
		"an endless range":     {"- a [500]", "- b [1-999999999999999]", "- a [500]"},
		"a number beyond size": {"- a [99999999999999999999]", "- b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := prompt.Source{Absorbs: parley.NewID(), Messages: []parley.Message{{
				Role: parley.RoleSummary, Content: content(parley.TextContent{Text: c.earlier}),
			}}}
			got := source.NameDropped(c.later, nil)
			_, added, _ := strings.Cut(strings.TrimPrefix(got, c.later), "No longer in the summary:\n")
			if added != c.names {
				t.Errorf("%q, named as dropped: %q; want %q", got, added, c.names)
			}
		})
	}
	many := prompt.Source{Absorbs: parley.NewID(), Messages: []parley.Message{{
		Role:    parley.RoleSummary,
		Content: content(parley.TextContent{Text: strings.Repeat("- "+strings.Repeat("long ", 100)+"[1]\n", 1000)}),
	}}}
	card := prompt.Source{Draft: "- " + strings.Repeat("x", 190) + " 4929717717732941 [1]"}
	edges := mustLayers(t, redacting(parley.RedactPattern{Name: "card", Pattern: `[0-9]{16}`})).Edges(t.Context())
	if got := card.NameDropped("short", edges); strings.Contains(got, "492") || !strings.HasSuffix(got, "xx …") {
		t.Errorf("of a line that is cut within a hidden value, what is dropped is %q", got)
	}
	if got := many.NameDropped("short", nil); len(got) > 8000 || !strings.HasSuffix(got, "\n- and 968 more") {
		t.Errorf("a long list has %d bytes and ends with %.40q", len(got), got[len(got)-40:])
	}
}
