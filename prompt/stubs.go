package prompt

import (
	"slices"

	"example.org/parley"
)

const (
	// stubTokens is the size of a stub; a result that is not larger stays.
	stubTokens = 32
	// stubLeast is the least that a block of stubs must save, as a percentage of the size at which a summary is due:
	// each block breaks the requests' common beginning.
	stubLeast = 10
)

// The sentences in requests. They never change: requests must rebuild to the same bytes.
const (
	stubBegins = "[This result, of "

	stubText = stubBegins + "%d bytes, is left out.]"
	stubRead = stubBegins + "%d bytes, is left out; read_result with \"id\": %d reads it.]"
)

// stubbing says which results a request shows as stubs: older ones of its running turn, and those of older turns.
type stubbing struct {
	turn  *parley.TurnCut
	older *parley.Stubs
}

// stubsOf returns stubs of older turns up to a sequence, but for pinned results; nil for none.
func stubsOf(through int64, pinned []int64) *parley.Stubs {
	if through <= 0 {
		return nil
	}
	at, _ := slices.BinarySearch(pinned, through+1)
	return &parley.Stubs{Through: through, Whole: append([]int64{}, pinned[:at]...)}
}

// none reports whether every result is shown.
func (s stubbing) none() bool { return s.turn == nil && s.older == nil }

// has reports whether a request shows a row as a stub.
func (s stubbing) has(m *parley.Message) bool {
	if m.Role != parley.RoleToolResult || contentTokens(m) <= stubTokens {
		return false
	}
	if cut := s.turn; cut != nil && m.Sequence >= cut.From && m.Sequence <= cut.Stubbed {
		return true
	}
	return s.older != nil && m.Sequence <= s.older.Through && !slices.Contains(s.older.Whole, m.Sequence)
}

// stubOlder returns how far the results of older turns are to be stubs in the window of a selection. Under auto they
// become stubs where a summary would be due, if that brings the window down to half; before a request waits,
// drops messages or shortens its own turn; and from half of the window on if the provider's cache has lapsed. The turns
// that a summary would leave in full stay whole. A block of stubs is large, so that requests share their beginnings
// from one to the next.
func (v *View) stubOlder(s *Selection) int64 {
	due, before := v.Budget.Due(), v.Session.Context.Stubbed
	if v.Policy.Kind != parley.PolicyAuto || due <= 0 {
		return before
	}
	drops := s.Dropped > 0 && (s.Anchor != v.Session.Context.Anchor || s.Dropped != v.Session.Context.Dropped)
	total := v.Budget.Scaled(s.Tokens)
	if total <= v.Budget.Half() && !drops {
		if before > 0 && total+v.Budget.Scaled(v.savedBy(before, 0, s)) <= v.Budget.Rest() {
			return 0
		}
		return before
	}
	s.Lapsed = v.lapsed(s.Messages)
	if next := v.stubsThrough(s.Messages, parley.Turn{}); next > before {
		s.Stubbable = v.savedBy(next, before, s)
	}
	through := v.stubsThrough(s.Messages, v.Turn)
	if through <= before {
		return before
	}
	saves := v.Budget.Scaled(v.savedBy(through, before, s))
	switch {
	case drops && saves > 0:
		return through
	case saves*100 < due*stubLeast:
		return before
	case s.Lapsed, total > v.Budget.Wait(), total > due && total-saves <= v.Budget.Half(), v.turnIsLong(s):
		return through
	}
	return before
}

// stubsThrough returns the newest message of the turns whose results may be stubs: of all but those that a summary
// would leave in full while a turn is unfinished. 0 means that there are none.
func (v *View) stubsThrough(messages []parley.Message, unfinished parley.Turn) (through int64) {
	slices.Reverse(messages)
	defer slices.Reverse(messages)
	kept, _ := Kept(messages, unfinished, Keeps(v.Policy, parley.CompactTokens, v.Budget), true)
	if kept < len(messages) {
		through = messages[kept].Sequence
	}
	return through
}

// savedBy returns by how much a window is smaller if results of older turns are stubs up to a sequence rather than up
// to an earlier one, in stored estimates.
func (v *View) savedBy(through, than int64, s *Selection) int {
	size := func(through int64) (sum int) {
		for _, tokens := range sizesOf(v.Bounds, stubbing{&v.Cut, stubsOf(through, s.pinned)}, s.Messages) {
			sum += tokens
		}
		return sum
	}
	return size(than) - size(through)
}

// lapsed reports whether the provider's cache no longer has the session's latest request. All times are the database's.
func (v *View) lapsed(messages []parley.Message) bool {
	now := v.Turn.StartedAt
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role == parley.RoleAssistant { // its row was opened with its request
			return m.CreatedAt > 0 && now-m.CreatedAt > parley.Time(v.CacheTTL.Duration().Milliseconds())
		}
		now = max(now, m.CreatedAt) // the result of a call that took long
	}
	return false
}
