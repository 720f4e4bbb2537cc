package prompt

import (
	"slices"

	"example.org/parley"
)

// mostLeavers bounds Leaving.First.
const mostLeavers = 8

// Foresee tells when the window of a selection will be shortened; nil if its policy has it never grow.
func Foresee(policy parley.Policy, budget Budget, selection *Selection, turn parley.Turn) *parley.Outlook {
	o := parley.Outlook{Tokens: budget.Scaled(selection.Tokens), Assumed: budget.Assumed}
	rows := leavable(selection)
	most, limit := budget.Tokens, int64(0)
	switch {
	case policy.Summarises():
		o.Fate = string(FateCovered)
		o.Messages, _ = Uncovered(*selection, turn)
		if d := selection.Manifest.Dropped; d != nil { // the summary will cover them
			o.Messages += d.Count
		}
		most, limit = budget.Due(), int64(policy.SummaryLimit())
	case policy.Kind == parley.PolicyRecent:
		o.Fate = string(FateRule)
		o.Messages = int64(seen(rows, running(rows, turn)))
		limit = 2 * int64(policy.Limit)
	case policy.Kind == parley.PolicyAll:
		o.Fate = string(FateDropped)
		o.Messages = int64(len(rows))
	default:
		return nil
	}
	if most > 0 {
		o.TokensMost, o.Share = &most, min(1, float64(o.Tokens)/float64(most))
	}
	if limit > 0 {
		o.MessagesMost, o.Share = &limit, max(o.Share, min(1, float64(o.Messages)/float64(limit)))
	}
	kept, _ := Kept(rows, turn, Keep{Turns: KeepTurns, Most: budget.stored(budget.whole())}, true)
	o.Leaving = leaving(selection, rows[kept:])
	return &o
}

// leavable returns the rows of a window that no summary covers, newest first.
func leavable(selection *Selection) []parley.Message {
	start, _ := windowOf(selection.Manifest)
	var covered int64
	var rows []parley.Message
	for i := range selection.Messages {
		m := &selection.Messages[i]
		switch {
		case standsFor(m):
			covered = *m.CoversThrough
		case m.Sequence >= start && m.Sequence > covered:
			rows = append(rows, *m)
		}
	}
	slices.Reverse(rows)
	return rows
}

// leaving sums up the messages that leave, given newest first. Those that every window shows do not.
func leaving(selection *Selection, rows []parley.Message) parley.Leaving {
	task := slices.IndexFunc(selection.Messages, func(m parley.Message) bool { return m.Role == parley.RoleUser })
	l := parley.Leaving{First: []parley.Leaver{}}
	for i := len(rows) - 1; i >= 0; i-- {
		m := &rows[i]
		if m.Marks.Pinned || task >= 0 && m.ID == selection.Messages[task].ID {
			continue
		}
		tokens := TokensOf(m)
		l.Count, l.Tokens = l.Count+1, l.Tokens+tokens
		if len(l.First) < mostLeavers {
			l.First = append(l.First, parley.Leaver{MessageID: m.ID, Sequence: m.Sequence, Tokens: tokens})
		}
	}
	return l
}
