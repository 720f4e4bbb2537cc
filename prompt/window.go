package prompt

import (
	"slices"

	"example.org/parley"
)

// TailPage is the most rows requested from a Tail at once.
const TailPage = 256

const (
	tailSlack = 32 // extra rows read to complete whole turns
	firstPage = 64 // rows read first where tokens are counted
)

// Tail reads the record newest first: settled and not internal, before a sequence (0: from the end), at most limit
// rows, nothing older than the latest context edge. more says that there may be older rows; then there is at least one
// row.
type Tail func(before int64, limit int) (rows []parley.Message, more bool, err error)

// View holds the inputs of a window.
type View struct {
	Policy  parley.Policy
	Session parley.Session    // any snapshot; its Context.Anchor belongs to the latest window
	Turn    parley.Turn       // the running one; zero for a preview without one
	Budget  Budget            // zero: no bound
	Bounds  parley.TextBounds // zero: texts are shown whole
	Steers  []parley.Message  // that the step delivers
	// CacheTTL is how long the provider was asked to keep what the session's requests begin with.
	CacheTTL parley.CacheTTL
	Cut      parley.TurnCut // of the running turn's latest window; zero: the turn was shown whole
	// NoSummary says that no summary of the running turn's steps is to be had: its steps are dropped only where the
	// model could not read them, whatever the policy's own limit says.
	NoSummary bool
	Known     Known // of the running turn; nil: every request reads all that it shows
	Tail      Tail
	// Head reads what may precede the window. It is called if Context.Held is set or the window is cut; nil has none.
	Head func() (parley.ContextHead, error)
	// Said reads what people said in the running turn up to a sequence, ascending, which begins with its trigger. It is
	// called if a summary covers that much; nil has none.
	Said func(through int64) ([]parley.Message, error)
}

// Selection is what a policy chose from the record.
type Selection struct {
	Messages  []parley.Message // in request order; only what the model is to see
	Manifest  parley.Manifest
	Tokens    int   // of the messages, in stored estimates
	Anchor    int64 // where the window was cut; 0: nowhere. The session keeps it for the next window
	Dropped   int64 // from here up to Anchor messages were dropped for length; 0: none. The session keeps it too
	Bounds    parley.TextBounds
	Cut       parley.TurnCut // how the running turn is shown; the turn's next window begins with it
	Known     Known          // the view's
	Edges     *Edges         // of the call's layers, for Build
	Stubbed   int64          // up to here results of older turns are stubs; 0: none. The session keeps it too
	Stubbable int            // tokens that further stubs would save after the running turn, in stored estimates
	Lapsed    bool           // half of the window is full, and the provider's cache has lapsed
	Shortened bool           // a message or a steer is shown in part
	Excess    int            // tokens by which the obligatory part exceeds the budget; 0: it fits

	pinned []int64 // pinned results, ascending
}

// Hides reports whether the model is not shown all of the conversation: a summary stands for a part of it, a part was
// dropped for length, or results are stubs.
func (s *Selection) Hides() bool {
	return s.Manifest.Dropped != nil || !s.Cut.IsZero() || s.Manifest.Stubs != nil ||
		slices.ContainsFunc(s.Messages, func(m parley.Message) bool { return standsFor(&m) })
}

// Window chooses the messages of a call. It reads only the tail that the policy needs. Turns are never cut, and the
// running one is whole; only a context edge or a summary may lie inside a turn.
//
// The window's start stays the same from call to call, so that calls share their prefix. Only when the window has grown
// to twice what recent(n) asks for, or to the whole budget, does it jump: to the n messages, or to two thirds of the
// budget. The session keeps the position (Selection.Anchor) and what was dropped for length (Selection.Dropped). For
// recent(n) it never moves during a turn.
//
// The window is preceded by the active summary (for policies that show one), the first task if the window does not
// reach it, pinned messages outside the window, and what people said in the running turn if the summary covers it.
func Window(v View) (Selection, error) {
	selection, err := v.window()
	if err != nil {
		return selection, err
	}
	v.Cut = selection.Cut
	if stubbed := v.stubOlder(&selection); stubbed != v.Session.Context.Stubbed {
		lapsed := selection.Lapsed // the same for the window with stubs
		v.Session.Context.Stubbed = stubbed
		if selection, err = v.window(); err != nil {
			return selection, err
		}
		selection.Lapsed = lapsed
	}
	for range mostShortened {
		v.Cut = selection.Cut
		cut := v.shortenTurn(&selection)
		if cut == v.Cut {
			break
		}
		v.Cut = cut
		older := selection
		if selection, err = v.window(); err != nil {
			return selection, err
		}
		selection.Lapsed, selection.Stubbable = older.Lapsed, older.Stubbable
	}
	return selection, nil
}

// mostShortened is how often a window is shortened: a second time where a summary of the turn's steps was undone.
const mostShortened = 2

// window is Window with the running turn shown as the view says.
func (v View) window() (Selection, error) {
	light := lightening{bounds: v.Bounds}
	if !v.Cut.IsZero() {
		light.stubs.turn = &v.Cut
	}
	if v.Policy.Kind == parley.PolicyAuto {
		light.stubs.older = stubsOf(v.Session.Context.Stubbed, nil)
	}
	v.Tail, v.Head, v.Said = light.tail(v.Tail), light.head(v.Head), light.said(v.Said)
	if v.Policy.Kind != parley.PolicyIterations { // not a setting
		if err := v.Policy.Validate(); err != nil {
			return Selection{}, err
		}
	}
	if v.Session.Context.Cleared && v.Turn.ID.IsZero() { // the next message will be the first
		return Selection{Manifest: parley.Manifest{Policy: v.Policy.String(), Ranges: []parley.ManifestRange{}}}, nil
	}
	c, err := newCut(v)
	if err != nil {
		return Selection{}, err
	}
	if v.Cut = uncovered(v.Cut, c.floor); v.Cut.IsZero() { // light holds the view's
		light.stubs.turn = nil
	}
	rows, err := c.read(v.Tail)
	if err != nil {
		return Selection{}, err
	}
	slices.Reverse(rows)
	head := c.head
	if len(rows) == 0 {
		head.First = c.first(c.floor + 1)
	} else {
		head.First = c.first(rows[0].Sequence)
	}
	selection := choose(window{
		policy:  v.Policy,
		turn:    v.Turn,
		head:    head,
		said:    c.said,
		cut:     light.stubs.turn,
		stubs:   light.stubs.older,
		start:   c.anchor,
		missing: c.missing(rows),
	}, rows)
	selection.Anchor = c.anchor
	if d := selection.Manifest.Dropped; d != nil {
		selection.Dropped = d.From
	}
	light.restore(selection.Messages)
	selection.Bounds = v.Bounds
	selection.Shortened = excerpts(v.Bounds, selection.Messages, nil) != nil || excerpts(v.Bounds, v.Steers, nil) != nil
	selection.Cut, selection.Known, selection.pinned = v.Cut, v.Known, light.pinned
	if older := light.stubs.older; older != nil {
		selection.Stubbed = older.Through
		if !slices.ContainsFunc(selection.Messages, func(m parley.Message) bool { return light.stubs.has(&m) }) {
			selection.Manifest.Stubs = nil
		}
	}
	for _, tokens := range sizesOf(v.Bounds, light.stubs, selection.Messages) {
		selection.Tokens += tokens
	}
	selection.Tokens += tokensOfNotices(selection.Manifest)
	selection.Excess = v.Budget.excess(selection.Tokens)
	return selection, nil
}

// running counts the rows of the running turn, which are the newest. Rows of a turn that it resumes count as its own,
// back to the message that both answer.
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
	for i := range rows {
		if rows[i].TurnID == turn.ID {
			n = i + 1
		} else if !standsFor(&rows[i]) { // a summary may have entered at a step's border
			break
		}
	}
	return n
}

// startsTurn reports whether a turn begins at m, given the previous row. Rows without a turn (imports, messages
// recorded without a turn) group with the user message before them.
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

// The directions of rows, for beginsTurn.
const (
	newestFirst = 1
	ascending   = -1
)

// beginsTurn reports whether a turn begins at one of some rows, and not before it. A summary of others belongs to no
// turn: it may have entered the record inside one. It reports false if the row before is not among the rows.
func beginsTurn(rows []parley.Message, at, direction int) bool {
	before := previous(rows, at, direction)
	return before != nil && startsTurn(&rows[at], before)
}

// beginsStep is beginsTurn for steps.
func beginsStep(rows []parley.Message, at, direction int) bool {
	before := previous(rows, at, direction)
	return before != nil && startsStep(&rows[at], before)
}

// previous returns the row before one of some rows, apart from summaries; nil if it is a summary itself, or if the row
// before is not among the rows.
func previous(rows []parley.Message, at, direction int) *parley.Message {
	if standsFor(&rows[at]) {
		return nil
	}
	for i := at + direction; i >= 0 && i < len(rows); i += direction {
		if !standsFor(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}
