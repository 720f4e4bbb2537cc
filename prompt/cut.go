package prompt

import (
	"math"
	"slices"

	"example.org/parley"
)

// cut finds where a window begins. Its rows are newest first.
type cut struct {
	view    View
	head    parley.ContextHead
	said    []parley.Message // in the running turn, covered by the summary
	carried bool             // head has been read
	floor   int64            // the summary covers the rows up to here
	count   int              // messages requested by recent; 0: any
	bound   int              // stored tokens that the window's rows and the first task may take; 0: any
	page    int
	anchor  int64 // where the window was cut, once it has been
	dropped int64 // from here up to the anchor messages are left out for length; 0: none are
}

func newCut(v View) (*cut, error) {
	c := &cut{view: v, anchor: v.Session.Context.Anchor, dropped: v.Session.Context.Dropped, page: TailPage}
	if c.dropped == 0 && v.Policy.Kind != parley.PolicyRecent { // another policy cut the window, not its length
		c.anchor = 0
	}
	c.bound = v.Budget.stored(v.Budget.Tokens)
	if v.Session.Context.Held || c.anchor > 0 {
		if err := c.carry(); err != nil {
			return nil, err
		}
	}
	if v.Policy.Kind == parley.PolicyRecent {
		c.count = v.Policy.Limit
		c.page = c.most() + tailSlack
	}
	if c.bound > 0 {
		c.page = min(c.page, firstPage)
	}
	start := max(c.anchor, c.floor)
	switch last := v.Session.LastSequence; {
	case v.Policy.Kind == parley.PolicySingle:
		c.page = tailSlack
	case start > 0 && start <= last: // the last window and newer rows
		c.page = int(min(int64(TailPage), last-start+1+tailSlack))
	}
	c.page = min(c.page, TailPage)
	return c, nil
}

// carry reads what may precede the window, once.
func (c *cut) carry() error {
	if c.carried || c.view.Head == nil {
		return nil
	}
	head, err := c.view.Head()
	if err != nil {
		return err
	}
	if !c.view.Policy.Summarises() {
		head.Summary = nil
	}
	c.head, c.carried = head, true
	if head.Summary != nil && head.Summary.CoversThrough != nil {
		c.floor = *head.Summary.CoversThrough
		if c.view.Said != nil {
			if c.said, err = c.view.Said(c.floor); err != nil {
				return err
			}
		}
	}
	if c.bound > 0 {
		c.bound = max(1, c.bound-tokensOfHead(head)-tokensOf(c.said))
	}
	return nil
}

// first returns the first task if a window that begins at a sequence leaves it out, nil otherwise.
func (c *cut) first(start int64) *parley.Message {
	switch c.view.Policy.Kind {
	case parley.PolicySingle, parley.PolicyIterations:
		return nil
	}
	if first := c.head.First; first != nil && first.Sequence < start {
		return first
	}
	return nil
}

// most returns the number of messages above which a window of recent is cut.
func (c *cut) most() int { return 2 * c.count }

// target returns the number of tokens to which a window is cut.
func (c *cut) target() int { return shareOf(c.bound, cutShare) }

// read reads, newest first, as far as the window needs, and returns the window's rows.
func (c *cut) read(tail Tail) ([]parley.Message, error) {
	var rows []parley.Message
	var before int64
	for {
		page, more, err := tail(before, c.page)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page...)
		n, sure, err := c.at(rows, !more)
		if err != nil {
			return nil, err
		}
		if sure {
			return rows[:n], nil
		}
		before = rows[len(rows)-1].Sequence
		c.page = TailPage
	}
}

// at returns how many of the rows belong to the window; false if older rows are needed to be sure. ended says that
// there are none.
func (c *cut) at(rows []parley.Message, ended bool) (int, bool, error) {
	own := running(rows, c.view.Turn)
	other := own // a summary that entered at a step's border does not end the turn
	for other < len(rows) && standsFor(&rows[other]) {
		other++
	}
	if other == len(rows) && !ended && (other == 0 || rows[other-1].Sequence > c.floor) {
		return 0, false, nil
	}
	scope, whole := c.scope(rows, own, ended)
	own = min(own, scope) // a summary may cover the running turn's beginning
	if c.view.Policy.Kind == parley.PolicySingle {
		return scope, whole, nil
	}
	kept, known := scope, whole
	if c.anchor > 0 {
		if i := slices.IndexFunc(rows[:scope], func(m parley.Message) bool { return m.Sequence < c.anchor }); i >= 0 {
			kept, known = i, true
		}
	}
	switch {
	case c.over(rows[:kept], own):
		if !c.carried && c.view.Head != nil {
			if err := c.carry(); err != nil {
				return 0, false, err
			}
			return c.at(rows, ended)
		}
		n, sure := c.fresh(rows, scope, own, whole)
		return n, sure, nil
	case !known:
		return 0, false, nil
	case kept == scope || !c.under(rows[:kept], own):
		return kept, true, nil
	}
	c.anchor, c.dropped = 0, 0 // the cut was for a narrower view
	return c.at(rows, ended)
}

// missing returns the first of the messages that the window of these rows, ascending, leaves out for length; 0 if it
// leaves out none.
func (c *cut) missing(rows []parley.Message) int64 {
	if c.dropped > 0 && (len(rows) == 0 || rows[0].Sequence == c.anchor) && c.floor < c.anchor {
		switch c.view.Policy.Kind {
		case parley.PolicyRecent, parley.PolicyIterations: // older ones were not asked for
			return max(c.dropped, c.head.Edge)
		}
		return max(1, c.floor+1, c.head.Edge)
	}
	return 0
}

// rowsFrom returns the sequence of the oldest of some rows, 0 for none.
func rowsFrom(rows []parley.Message) int64 {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Sequence
}

// scope returns how many of the rows the window may include at all, apart from its size: all after the summary, only
// the running turn, or a number of iterations.
func (c *cut) scope(rows []parley.Message, own int, ended bool) (n int, whole bool) {
	switch c.view.Policy.Kind {
	case parley.PolicySingle:
		return own, ended || own < len(rows)
	case parley.PolicyIterations:
		n, whole = iterationsCut(rows, c.view.Policy.Limit, c.view.Turn, own)
		return n, whole || ended
	}
	if i := slices.IndexFunc(rows, func(m parley.Message) bool { return m.Sequence <= c.floor }); i >= 0 {
		return i, true
	}
	return len(rows), ended
}

// iterationsCut finds where the window of a loop's iteration begins: n iterations before it, but not in an earlier
// loop.
func iterationsCut(rows []parley.Message, n int, turn parley.Turn, own int) (int, bool) {
	first := max(1, turn.Iteration-n)
	last, cut := turn.Iteration, own
	for i := own; i < len(rows); i++ {
		switch at := rows[i].Iteration; {
		case at == 0: // a message between iterations
		case at < first || at > last:
			return cut, true
		default:
			last, cut = at, i+1
		}
	}
	return cut, false
}

// over reports whether a window of these rows has grown so large that it must be cut. For recent the running turn
// counts only as its trigger: the window does not move while the turn runs.
func (c *cut) over(rows []parley.Message, own int) bool {
	return c.count > 0 && seen(rows, own) > c.most() || c.bound > 0 && c.tokens(rows) > c.bound
}

// under reports whether nothing requires a window as short as these rows.
func (c *cut) under(rows []parley.Message, own int) bool {
	return (c.count == 0 || seen(rows, own) < c.count) && (c.bound == 0 || tokensOf(rows) < c.target()/2)
}

// tokens returns the size of a window of these rows, with the first task and what it says of dropped messages.
func (c *cut) tokens(rows []parley.Message) int {
	sum := tokensOf(rows)
	if c.dropped > 0 && rowsFrom(rows) == c.anchor {
		sum += noticeRoom
	}
	if first := c.first(rowsFrom(rows)); first != nil {
		sum += TokensOf(first)
	}
	return sum
}

// counter counts the messages of rows, newest first, that a person sees: what was asked, and for each stretch of steps
// its answer.
type counter struct {
	n        int
	answered bool // the answer of this stretch has been counted
	turnID   parley.ID
}

func (c *counter) add(m *parley.Message) {
	if m.TurnID != c.turnID {
		c.answered, c.turnID = false, m.TurnID
	}
	switch {
	case reasonOut(m) != "" || m.Marks.SetAside:
	case m.Role == parley.RoleUser:
		c.n, c.answered = c.n+1, false
	case m.Role == parley.RoleAssistant && !c.answered:
		c.n, c.answered = c.n+1, true
	}
}

// seen counts the messages of some rows, newest first, that a person sees. The own newest ones, of the running turn,
// count as one.
func seen(rows []parley.Message, own int) int {
	c := counter{n: min(own, 1)}
	for i := own; i < len(rows); i++ {
		c.add(&rows[i])
	}
	return c.n
}

// fresh cuts a window that is too large: to the count, and to two thirds of the bound, at the start of a turn; false if
// older rows are needed to find one.
func (c *cut) fresh(rows []parley.Message, scope, own int, whole bool) (int, bool) {
	n := scope
	if c.count > 0 {
		if n = c.newest(rows[:scope], own); n == scope && !whole {
			return 0, false
		}
	}
	if c.view.Policy.Kind == parley.PolicyIterations && !whole {
		return 0, false
	}
	asked := n
	if c.bound > 0 && c.tokens(rows[:n]) > c.bound {
		n = c.affordable(rows[:n], own)
	}
	c.anchor, c.dropped = 0, 0
	if n < scope {
		c.anchor = rowsFrom(rows[:n])
	}
	if n == 0 && len(rows) > 0 { // not even the newest turn fits
		c.anchor = rows[0].Sequence + 1
	}
	if n < asked {
		c.dropped = max(1, c.floor+1, c.head.Edge)
		if c.count > 0 || c.view.Policy.Kind == parley.PolicyIterations {
			c.dropped = rowsFrom(rows[:asked])
		}
	}
	return n, true
}

// newest returns how many of the rows hold the messages requested by recent, in whole turns.
func (c *cut) newest(rows []parley.Message, own int) int {
	n, counted := own, counter{n: min(own, 1)}
	for n < len(rows) && counted.n < c.count {
		counted.add(&rows[n])
		n++
	}
	for n > 0 && n < len(rows) && !beginsTurn(rows, n-1, newestFirst) {
		n++
	}
	return n
}

// affordable returns how many of the rows, in whole turns, fit into two thirds of the bound; the running turn's rows
// always stay.
func (c *cut) affordable(rows []parley.Message, own int) int {
	n, sum := own, tokensOf(rows[:own])+noticeRoom
	if first := c.first(math.MaxInt64); first != nil {
		sum += TokensOf(first)
	}
	for i := own; i < len(rows); i++ {
		if sum += tokensOf(rows[i : i+1]); sum > c.target() {
			break
		}
		if i+1 == len(rows) || beginsTurn(rows, i, newestFirst) {
			n = i + 1
		}
	}
	return n
}

// tokensOf returns the size of rows in a window, where summaries do not show.
func tokensOf(rows []parley.Message) (sum int) {
	for i := range rows {
		if !standsFor(&rows[i]) {
			sum += TokensOf(&rows[i])
		}
	}
	return sum
}
