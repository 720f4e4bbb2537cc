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
	leave := rows[kept:]
	if policy.Kind == parley.PolicyAuto {
		if results := stubsNext(budget, selection, rows, turn); len(results) > 0 {
			o.Fate, leave = string(FateStubbed), results
		}
	}
	o.Leaving = leaving(selection, leave)
	return &o
}

// stubsNext returns the results that become stubs where a summary would be due, newest first; none if the summary is
// written instead.
func stubsNext(budget Budget, selection *Selection, rows []parley.Message, turn parley.Turn) []parley.Message {
	kept, _ := Kept(rows, turn, Keeps(parley.Policy{Kind: parley.PolicyAuto}, parley.CompactTokens, budget), true)
	due := budget.Due()
	if kept == len(rows) || due <= 0 {
		return nil
	}
	is := stubbing{&selection.Cut, stubsOf(selection.Stubbed, selection.pinned)}
	will := stubbing{older: stubsOf(rows[kept].Sequence, selection.pinned)}
	var results []parley.Message
	saves := 0
	for i := kept; i < len(rows); i++ {
		if m := &rows[i]; will.has(m) && !is.has(m) {
			saves += contentTokens(m) - stubTokens
			results = append(results, *m)
		}
	}
	saves = budget.Scaled(saves)
	if saves*100 < due*stubLeast || max(due, budget.Scaled(selection.Tokens))-saves > budget.Half() {
		return nil
	}
	return results
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
