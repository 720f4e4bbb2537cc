package sqlite

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"parley"
)

// Versions lists the durable pieces of a message.
func (s *Store) Versions(ctx context.Context, scope parley.Scope, messageID parley.ID) (versions []parley.Version, err error) {
	err = s.read(ctx, func(c *conn) error {
		message, err := visibleMessage(c, scope, messageID)
		if err != nil {
			return err
		}
		versions = []parley.Version{}
		err = c.each(`SELECT n, kind, "offset", "end", chunks, text, created_at FROM versions WHERE message_id = ? ORDER BY n`, func(r *row) error {
			versions = append(versions, parley.Version{MessageID: messageID, N: r.int(), Kind: parley.ContentKind(r.text()),
				Offset: r.int(), End: r.int(), Chunks: r.int(), Text: r.text(), CreatedAt: r.time()})
			return nil
		}, messageID)
		if err != nil || !message.Status.Settled() {
			return err
		}
		chunks := 0
		if _, err := c.one("SELECT chunks FROM messages WHERE id = ?", func(r *row) error {
			chunks = r.int()
			return nil
		}, messageID); err != nil {
			return err
		}
		versions = settledVersions(&message, versions, chunks)
		return nil
	})
	return versions, err
}

// growth is one text of a message's content that grew while it streamed.
type growth struct {
	kind parley.ContentKind
	text string
}

// growths are the texts of a settled message, in the order in which they come.
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
		var content parley.AssistantContent // the other roles' text has the same name
		if json.Unmarshal(m.Content, &content) != nil {
			return nil
		}
		return []growth{{parley.KindReasoning, content.Reasoning}, {parley.KindText, content.Text}}
	}
}

// settledVersions fills the texts of versions from the settled message, which is
// where they stand from then on, and adds the last piece of each text, which came
// with the settle and has no row. A piece beyond the end, as of arguments that
// were longer before they became canonical, is cut.
func settledVersions(m *parley.Message, rows []parley.Version, chunks int) []parley.Version {
	texts := growths(m)
	last := 0
	ends := map[parley.ContentKind]int{}
	for i := range rows {
		v := &rows[i]
		last = v.N
		for _, g := range texts {
			if g.kind == v.Kind {
				v.Offset, v.End = onRune(g.text, v.Offset), onRune(g.text, v.End)
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

// onRune is the place at or before i where a rune of the text begins.
func onRune(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}
