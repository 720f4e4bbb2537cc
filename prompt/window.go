package prompt

import (
	"slices"

	"example.org/parley"
)

// TailPage is how many rows a Tail is asked for at once, at most.
const TailPage = 256

const (
	tailSlack = 32 // rows read beyond those that a policy counts, for the rounding out to whole turns
	firstPage = 64 // rows read first where tokens are counted
)

// Tail reads the record newest first: settled and not internal, before a
// sequence (0: from the end), at most limit rows, nothing older than the latest
// context edge. more says that there may be older ones; then there is at least one row.
type Tail func(before int64, limit int) (rows []parley.Message, more bool, err error)

// View is what a window is made of.
type View struct {
	Policy  parley.Policy
	Session parley.Session // any snapshot; its Context.Anchor is that of the latest window
	Turn    parley.Turn    // the running one; zero for a preview without one
	Budget  Budget         // zero: no bound
	Tail    Tail
	// Head reads what may stand before the window. It is asked when Context.Held
	// says so; nil has none.
	Head func() (parley.ContextHead, error)
}

// Selection is what a policy chose of the record.
type Selection struct {
	Messages []parley.Message // as the request shows them; only what the model is to see
	Manifest parley.Manifest
	Tokens   int   // of the messages, estimated as they are stored
	Anchor   int64 // where the window was cut; 0: nowhere. The session keeps it for the next one
	Excess   int   // tokens by which what may not be left out is too much for the budget; 0: it fits
}

// Window chooses the messages of a call. Only the tail that the policy needs is
// read. Turns are never cut, and the running one is whole; a context edge or a
// summary alone may stand inside a turn.
//
// The window's start stays where it is from call to call, so that they share
// their prefix. Only when what it holds has grown to one and a half times of what
// recent(n) asks for, or to the whole budget, it jumps: to the n messages, or to
// two thirds of the budget. The session keeps the place (Selection.Anchor).
// Of recent(n) it never moves during a turn.
//
// Before the window stand the active summary (of policy summary), the first task
// that it covers, and the pinned messages that the window does not reach.
func Window(v View) (Selection, error) {
	if v.Policy.Kind != parley.PolicyIterations { // which no setting names
		if err := v.Policy.Validate(); err != nil {
			return Selection{}, err
		}
	}
	if v.Session.Context.Cleared && v.Turn.ID.IsZero() { // the next message will be the first
		return Selection{Manifest: parley.Manifest{Policy: v.Policy.String(), Ranges: []parley.ManifestRange{}}}, nil
	}
	var head parley.ContextHead
	if v.Session.Context.Held && v.Head != nil {
		var err error
		if head, err = v.Head(); err != nil {
			return Selection{}, err
		}
	}
	if v.Policy.Kind != parley.PolicySummary {
		head.Summary, head.First = nil, nil
	}
	c := newCut(v, head)
	rows, err := c.read(v.Tail)
	if err != nil {
		return Selection{}, err
	}
	slices.Reverse(rows)
	selection := choose(window{policy: v.Policy, turn: v.Turn, head: head, rule: c.why(rows)}, rows)
	selection.Anchor = c.anchor
	for i := range selection.Messages {
		selection.Tokens += TokensOf(&selection.Messages[i])
	}
	selection.Excess = v.Budget.excess(selection.Tokens)
	return selection, nil
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
