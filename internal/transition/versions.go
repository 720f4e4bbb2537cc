package transition

import (
	"encoding/json"
	"unicode/utf8"

	"example.org/parley"
)

// growth is one text of a message that grew while it streamed.
type growth struct {
	kind parley.ContentKind
	text string
}

// growths returns the texts of a settled message, in order.
func growths(m *parley.Message) []growth {
	switch m.Role {
	case parley.RoleToolCall:
		var content parley.ToolCallContent
		if json.Unmarshal(m.Content, &content) != nil {
			return nil
		}
		if content.ArgumentsText != "" || string(content.Arguments) == "null" {
			return []growth{{parley.KindArguments, content.ArgumentsText}}
		}
		return []growth{{parley.KindArguments, string(content.Arguments)}}
	case parley.RoleToolResult:
		return nil
	default:
		var content parley.AssistantContent // the text of other roles has the same name
		if json.Unmarshal(m.Content, &content) != nil {
			return nil
		}
		return []growth{{parley.KindReasoning, content.Reasoning}, {parley.KindText, content.Text}}
	}
}

// SettledVersions fills the texts of versions from the settled message, the only place that has them after the settle.
// It adds the last piece of each text, which came with the settle and has no row. It cuts a piece beyond the end, for
// example of arguments that were longer before they became canonical.
func SettledVersions(m *parley.Message, rows []parley.Version, chunks int) []parley.Version {
	texts := growths(m)
	last := 0
	ends := map[parley.ContentKind]int{}
	for i := range rows {
		v := &rows[i]
		last = v.N
		for _, g := range texts {
			if g.kind == v.Kind {
				v.Offset, v.End = runeStart(g.text, v.Offset), runeStart(g.text, v.End)
				v.Text = g.text[v.Offset:v.End]
				ends[v.Kind] = max(ends[v.Kind], v.End)
			}
		}
	}
	for _, g := range texts {
		if end := ends[g.kind]; end < len(g.text) {
			last++
			rows = append(rows, parley.Version{MessageID: m.ID, N: last, Kind: g.kind, Offset: end, End: len(g.text),
				Chunks: chunks, Text: g.text[end:], CreatedAt: m.UpdatedAt})
		}
	}
	return rows
}

// runeStart returns the index at or before i where a rune of the text begins.
func runeStart(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}
