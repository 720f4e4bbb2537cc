package prompt

import (
	"slices"

	"example.org/parley"
)

// cut finds where a window begins. Its rows are newest first.
type cut struct {
	view   View
	floor  int64 // the summary covers the rows up to here
	count  int   // messages requested by recent; 0: any
	bound  int   // stored tokens that the window's rows may take; 0: any
	page   int
	anchor int64 // where the window was cut, once it has been
}

func newCut(v View, head parley.ContextHead) *cut {
	c := &cut{view: v, anchor: v.Session.Context.Anchor, page: TailPage}
	if head.Summary != nil && head.Summary.CoversThrough != nil {
		c.floor = *head.Summary.CoversThrough
	}
	if v.Policy.Kind == parley.PolicyRecent {
		c.count = v.Policy.Limit
		c.page = c.most() + tailSlack
	}
	if c.bound = v.Budget.stored(); c.bound > 0 {
		c.bound = max(1, c.bound-tokensOfHead(head))
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
	return c
}

// most returns the number of messages above which a window of recent is cut.
func (c *cut) most() int { return c.count + c.count/2 }

// target returns the number of tokens to which a window is cut.
func (c *cut) target() int { return c.bound * 2 / 3 }

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
		if n, sure := c.at(rows, !more); sure {
			return rows[:n], nil
		}
		before = rows[len(rows)-1].Sequence
		c.page = TailPage
	}
}

// at returns how many of the rows belong to the window; false if older rows are needed to be sure. ended says that
// there are none.
func (c *cut) at(rows []parley.Message, ended bool) (int, bool) {
	own := running(rows, c.view.Turn)
	if own == len(rows) && !ended {
		return 0, false
	}
	scope, whole := c.scope(rows, own, ended)
	own = min(own, scope) // a summary may cover the running turn's beginning
	if c.view.Policy.Kind == parley.PolicySingle {
		return scope, whole
	}
	kept, known := scope, whole
	if c.anchor > 0 {
		if i := slices.IndexFunc(rows[:scope], func(m parley.Message) bool { return m.Sequence < c.anchor }); i >= 0 {
			kept, known = i, true
		}
	}
	switch {
	case c.over(rows[:kept], own):
		return c.fresh(rows, scope, own, whole)
	case !known:
		return 0, false
	case kept == scope || !c.under(rows[:kept], own):
		return kept, true
	}
	c.anchor = 0 // the cut was for a narrower view
	return c.at(rows, ended)
}

// why adds to the policy's name in the manifest that the window of these rows, ascending, was cut to fit the budget.
func (c *cut) why(rows []parley.Message) string {
	if c.bound > 0 && c.anchor > 0 && c.count == 0 && len(rows) > 0 && rows[0].Sequence == c.anchor {
		return overBudget
	}
	return ""
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
	return c.count > 0 && counted(len(rows), own) > c.most() || c.bound > 0 && tokensOf(rows) > c.bound
}

// under reports whether nothing requires a window as short as these rows.
func (c *cut) under(rows []parley.Message, own int) bool {
	return (c.count == 0 || counted(len(rows), own) < c.count) && (c.bound == 0 || tokensOf(rows) < c.target()/2)
}

// counted returns how many messages the rows count as for recent.
func counted(rows, own int) int { return rows - max(0, own-1) }

// fresh cuts a window that is too large: to the count, and to two thirds of the bound, at the start of a turn; false if
// older rows are needed to find one.
func (c *cut) fresh(rows []parley.Message, scope, own int, whole bool) (int, bool) {
	n := scope
	if c.count > 0 {
		n = min(n, c.count+max(0, own-1))
		for n < scope && !startsTurn(&rows[n-1], &rows[n]) {
			n++
		}
		if n == scope && !whole {
			return 0, false
		}
	}
	if c.bound > 0 && tokensOf(rows[:n]) > c.bound {
		n = c.affordable(rows[:n], own)
	}
	if c.anchor = 0; n < scope {
		c.anchor = rowsFrom(rows[:n])
	}
	return n, true
}

// affordable returns how many of the rows, in whole turns, fit into two thirds of the bound; the running turn's rows
// always stay.
func (c *cut) affordable(rows []parley.Message, own int) int {
	n, sum := own, tokensOf(rows[:own])
	for i := own; i < len(rows); i++ {
		if sum += TokensOf(&rows[i]); sum > c.target() {
			break
		}
		if i+1 == len(rows) || startsTurn(&rows[i], &rows[i+1]) {
			n = i + 1
		}
	}
	return n
}

func tokensOf(rows []parley.Message) (sum int) {
	for i := range rows {
		sum += TokensOf(&rows[i])
	}
	return sum
}
