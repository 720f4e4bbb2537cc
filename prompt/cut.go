package prompt

import (
	"slices"

	"example.org/parley"
)

// cut finds where a window begins. Rows are newest first here.
type cut struct {
	view   View
	floor  int64 // the summary stands for the rows up to here
	count  int   // messages that recent asks for; 0: any
	bound  int   // tokens, as they are stored, that the window's rows may take; 0: any
	page   int
	anchor int64 // where the window was cut, once it is
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
	case start > 0 && start <= last: // what the last window held, and what came since
		c.page = int(min(int64(TailPage), last-start+1+tailSlack))
	}
	c.page = min(c.page, TailPage)
	return c
}

// most is from how many messages on a window of recent is cut.
func (c *cut) most() int { return c.count + c.count/2 }

// target is to how many tokens a window is cut.
func (c *cut) target() int { return c.bound * 2 / 3 }

// read reads, newest first, as far as the window needs, and gives its rows.
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

// at is how many of the rows belong to the window; false when it takes older rows
// to be sure. ended says that there are none.
func (c *cut) at(rows []parley.Message, ended bool) (int, bool) {
	own := running(rows, c.view.Turn)
	if own == len(rows) && !ended {
		return 0, false
	}
	scope, whole := c.scope(rows, own, ended)
	own = min(own, scope) // a summary may stand for the running turn's beginning
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
	c.anchor = 0 // it was cut for a narrower view
	return c.at(rows, ended)
}

// why says for the manifest what the policy's name does not: that the window of
// these rows, ascending, was cut to fit the budget.
func (c *cut) why(rows []parley.Message) string {
	if c.bound > 0 && c.anchor > 0 && c.count == 0 && len(rows) > 0 && rows[0].Sequence == c.anchor {
		return overBudget
	}
	return ""
}

// rowsFrom is the sequence of the oldest of some rows, 0 of none.
func rowsFrom(rows []parley.Message) int64 {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Sequence
}

// scope is how many of the rows the window may reach at all, apart from its size:
// all behind the summary, the running turn alone, or so many iterations.
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

// iterationsCut finds the start of the window of an iteration of a loop: n
// iterations before it, not back into an earlier loop.
func iterationsCut(rows []parley.Message, n int, turn parley.Turn, own int) (int, bool) {
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

// over reports that a window of these rows has grown so far that it is cut. Of
// recent the running turn counts as its trigger alone: the window does not move
// while it runs.
func (c *cut) over(rows []parley.Message, own int) bool {
	return c.count > 0 && counted(len(rows), own) > c.most() || c.bound > 0 && tokensOf(rows) > c.bound
}

// under reports that nothing of the view asks for a window as short as these rows.
func (c *cut) under(rows []parley.Message, own int) bool {
	return (c.count == 0 || counted(len(rows), own) < c.count) && (c.bound == 0 || tokensOf(rows) < c.target()/2)
}

// counted is how many messages so many rows are for recent.
func counted(rows, own int) int { return rows - max(0, own-1) }

// fresh cuts a window that is over: to the count, and to two thirds of the bound,
// at the start of a turn; false when it takes older rows to find one.
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

// affordable is how many of the rows, in whole turns, two thirds of the bound are
// enough for; the running turn's stay.
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
