package prompt

import (
	"cmp"
	"slices"
	"sort"

	"example.org/parley"
)

// carried is a message that precedes a window, and why.
type carried struct {
	message *parley.Message
	reason  string
}

// before returns the messages that precede the rows of a window, ascending: the summary, then in their order the first
// task, pinned messages, and what was said in the running turn, unless the rows contain them.
func before(head parley.ContextHead, said, rows []parley.Message) []carried {
	var out []carried
	held := func(m *parley.Message) bool {
		_, found := slices.BinarySearchFunc(
			rows,
			m.Sequence,
			func(row parley.Message, sequence int64) int { return cmp.Compare(row.Sequence, sequence) },
		)
		return found || slices.ContainsFunc(out, func(c carried) bool { return c.message.Sequence == m.Sequence })
	}
	for i := range head.Pinned {
		if m := &head.Pinned[i]; !held(m) && !standsFor(m) && reasonOut(m) == "" {
			out = append(out, carried{m, reasonPinned})
		}
	}
	if head.First != nil && !held(head.First) {
		out = append(out, carried{head.First, reasonFirst})
	}
	for i := range said {
		if m := &said[i]; !held(m) && reasonOut(m) == "" && !m.Marks.SetAside && m.Sequence >= head.Edge {
			out = append(out, carried{m, reasonSaid})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].message.Sequence < out[j].message.Sequence })
	if head.Summary != nil {
		out = slices.Insert(out, 0, carried{head.Summary, reasonSummary})
	}
	return out
}

// tokensOfHead returns the most that a head takes, the first task aside: mostly it is one of the rows.
func tokensOfHead(head parley.ContextHead) int {
	sum := tokensOf(head.Pinned) + len(head.Pinned)*noticeRoom
	if head.Summary != nil {
		sum += TokensOf(head.Summary)
	}
	return sum
}

// standsFor reports whether a message is a summary of others: it is shown in their place, by a range of its own, or not
// at all.
func standsFor(m *parley.Message) bool {
	return m.Role == parley.RoleSummary && m.CoversThrough != nil
}
