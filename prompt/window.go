package prompt

import (
	"slices"

	"parley"
)

// TailPage is how many rows a Tail is asked for at once, at most.
const TailPage = 256

// tailSlack is read beyond the rows that a policy counts, for the rounding out
// to whole turns.
const tailSlack = 32

// Tail reads the record newest first: settled and not internal, before a
// sequence (0: from the end), at most limit rows, nothing older than the latest
// context edge. Fewer rows than limit mean that there are no older ones.
type Tail func(before int64, limit int) ([]parley.Message, error)

// Selection is what a policy chose of the record.
type Selection struct {
	Messages []parley.Message // ascending; only what the model is to see
	Manifest parley.Manifest
}

// Window chooses the messages of a call. session is any snapshot of the
// session: its LastSequence and Statistics.UserFacing belong together. turn is
// the running one (zero for a preview without one). Only the tail that the
// policy needs is read. Turns are never cut, and the running one is whole; a
// context edge alone may stand inside a turn.
//
// Of recent(n) the window's start moves in blocks of n/2 messages and never
// during a turn, so that calls between two moves share their prefix.
func Window(policy parley.Policy, session parley.Session, turn parley.Turn, tail Tail) (Selection, error) {
	if policy.Kind != parley.PolicyIterations { // which no setting names
		if err := policy.Validate(); err != nil {
			return Selection{}, err
		}
	}
	read := reader{tail: tail, page: TailPage}
	var cut func(rows []parley.Message) (int, bool)
	switch policy.Kind {
	case parley.PolicyRecent:
		read.page = min(TailPage, policy.Limit+block(policy.Limit)+tailSlack)
		cut = func(rows []parley.Message) (int, bool) { return recentCut(rows, policy.Limit, session, turn) }
	case parley.PolicyIterations:
		cut = func(rows []parley.Message) (int, bool) { return iterationsCut(rows, policy.Limit, turn) }
	case parley.PolicySingle:
		read.page = tailSlack
		cut = func(rows []parley.Message) (int, bool) {
			n := running(rows, turn)
			return n, n < len(rows)
		}
	default: // all
		cut = func(rows []parley.Message) (int, bool) { return len(rows), false }
	}
	rows, err := read.until(cut)
	if err != nil {
		return Selection{}, err
	}
	slices.Reverse(rows)
	return choose(policy, turn, rows), nil
}

// iterationsCut finds the start of the window of an iteration of a loop among
// rows, newest first: n iterations before it, not back into an earlier loop.
func iterationsCut(rows []parley.Message, n int, turn parley.Turn) (int, bool) {
	own := running(rows, turn)
	first := max(1, turn.Iteration-n)
	last, cut := turn.Iteration, own
	for i := own; i < len(rows); i++ {
		switch at := rows[i].Iteration; {
		case at == 0: // said between
		case at < first || at > last:
			return cut, true
		default:
			last, cut = at, i+1
		}
	}
	return cut, false
}

// reader reads a tail page by page.
type reader struct {
	tail Tail
	page int
}

// until reads, newest first, as far as cut needs: cut gets all rows read so far
// and answers how many belong to the window, false when it takes older rows to
// be sure.
func (r reader) until(cut func(rows []parley.Message) (int, bool)) ([]parley.Message, error) {
	var rows []parley.Message
	var before int64
	for {
		page, err := r.tail(before, r.page)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page...)
		n, sure := cut(rows)
		if sure || len(page) < r.page {
			return rows[:n], nil
		}
		before = rows[len(rows)-1].Sequence
		r.page = TailPage
	}
}

// running counts the rows of the running turn, which are the newest. Those of a
// turn that it takes up again are its own, back to the message that both answer.
func running(rows []parley.Message, turn parley.Turn) int {
	if turn.ID.IsZero() {
		return 0
	}
	if !turn.ContinuesID.IsZero() {
		at := slices.IndexFunc(rows, func(m parley.Message) bool { return m.ID == turn.TriggerMessageID })
		if at < 0 {
			return len(rows)
		}
		return at + 1
	}
	n := 0
	for n < len(rows) && rows[n].TurnID == turn.ID {
		n++
	}
	return n
}

// block is by how many messages the window of recent(n) moves.
func block(n int) int { return max(1, n/2) }

// recentCut finds the start of the window of recent(n) among rows, newest first.
//
// Each user-facing message has an ordinal in its session. The window reaches
// back from the running turn's trigger, with ordinal a, over at least n and less
// than n + block messages, to an ordinal that is one more than a multiple of
// block; from there to the start of that turn.
func recentCut(rows []parley.Message, n int, session parley.Session, turn parley.Turn) (int, bool) {
	if len(rows) == 0 {
		return 0, false
	}
	later := 0 // rows written after the snapshot
	for later < len(rows) && rows[later].Sequence > session.LastSequence {
		later++
	}
	sure := later < len(rows)                              // else more of them may follow
	newest := session.Statistics.UserFacing + int64(later) // ordinal of rows[0]
	own := running(rows, turn)
	if own == len(rows) {
		return own, false
	}
	anchor := newest
	if own > 0 {
		anchor -= int64(own) - 1
	}
	size := int64(block(n))
	first := floorDiv(anchor-int64(n), size)*size + 1
	at := int(newest - first) // index of the row with ordinal first
	if at >= len(rows) {
		return len(rows), false
	}
	for ; at+1 < len(rows); at++ {
		if startsTurn(&rows[at], &rows[at+1]) {
			return at + 1, sure
		}
	}
	return len(rows), false
}

// startsTurn reports whether a window may begin at m, given the row before it.
// Rows without a turn (imports, messages recorded alone) group behind the user's.
func startsTurn(m, before *parley.Message) bool {
	switch {
	case m.Role == parley.RoleToolResult:
		return false
	case m.TurnID != before.TurnID:
		return true
	case !m.TurnID.IsZero():
		return false
	}
	return m.Role == parley.RoleUser || m.Role == parley.RoleSummary || m.Role == parley.RoleSystem
}

// floorDiv divides, rounding down also below zero.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
