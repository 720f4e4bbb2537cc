package prompt

import (
	"fmt"
	"slices"

	"example.org/parley"
)

// A running turn that fills its window is shortened between two steps. First the results of its older steps become
// stubs, oldest first. If that is not enough, its oldest steps are left out, and the request says so in their place.
//
// Both happen in blocks, so that the requests in between share their beginnings. A block begins when the request
// reaches Budget.Due and the turn's own steps are more than ownShare percent of it. It ends at Budget.Half; if stubs
// alone bring the request down to stubShare percent, nothing is left out. Before steps are dropped, a summary of them
// is requested. Without one, a limit that only the policy sets drops nothing.

// The sentences in requests. They never change: requests must rebuild to the same bytes.
const (
	droppedSteps = "[Older steps of this turn, messages %d to %d, are left out: they no longer fit.%s]"
	droppedRead  = " read_result reads one of them by its number."
)

// drops reports whether a request leaves a row out. What people said stays.
func drops(cut *parley.TurnCut, m *parley.Message) bool {
	return cut != nil && m.Sequence >= cut.From && m.Sequence <= cut.Dropped && m.Role != parley.RoleUser
}

// shortenTurn returns how the running turn of a selection is to be shown so that the window has room again; the view's
// cut if it has room, or if nothing helps.
func (v *View) shortenTurn(selection *Selection) parley.TurnCut {
	if !v.turnIsLong(selection) {
		return v.Cut
	}
	steps := v.stepsOf(selection.Messages)
	if !v.Cut.IsZero() && steps[0].Sequence < v.Cut.From { // a summary of them was undone
		cut := v.Cut
		cut.From = steps[0].Sequence
		return cut
	}
	sizes := sizesOf(v.Bounds, stubbing{turn: &v.Cut}, steps)
	total := v.Budget.Scaled(selection.Tokens)
	last := len(steps) - 1 // the newest step stays, and what people said since
	for last > 0 && steps[last].Role == parley.RoleUser {
		last--
	}
	for last > 0 && steps[last-1].Step == steps[last].Step && steps[last-1].TurnID == steps[last].TurnID {
		last--
	}
	cut := v.Cut
	if cut.From == 0 {
		cut.From = steps[0].Sequence
	}
	saved := 0
	within := func(line int) bool { return total-v.Budget.Scaled(saved) <= line }
	for i := 0; i < last && !within(v.Budget.Half()); i++ {
		m := &steps[i]
		if m.Sequence <= cut.Stubbed || m.Role != parley.RoleToolResult {
			continue
		}
		cut.Stubbed = m.Sequence
		if (stubbing{turn: &cut}).has(m) {
			saved += max(0, sizes[i]-stubTokens-overheadTokens)
			sizes[i] = min(sizes[i], stubTokens+overheadTokens)
		}
	}
	lines := v.Budget
	if v.NoSummary {
		if lines = lines.unasked(); within(lines.Due()) {
			return cut
		}
	}
	for i := 0; i < last && !within(lines.ofDue(stubShare)); {
		for i < last { // until half of the window is full, whole steps
			if i > 0 && within(lines.Half()) &&
				(steps[i].Step != steps[i-1].Step || steps[i].TurnID != steps[i-1].TurnID) {
				break
			}
			cut.Dropped = max(cut.Dropped, steps[i].Sequence) // what people said stays, also behind it
			if drops(&cut, &steps[i]) {
				saved += sizes[i]
			}
			i++
		}
	}
	return cut
}

// DroppedSteps describes the steps of the running turn that a selection leaves out; nil if it leaves out none.
func DroppedSteps(selection *Selection) *parley.Dropped {
	cut := selection.Cut
	if cut.Dropped == 0 {
		return nil
	}
	d := &parley.Dropped{From: cut.From, To: cut.Dropped, Count: cut.Dropped - cut.From + 1, Reason: reasonDropped}
	for i := range selection.Messages {
		if at := selection.Messages[i].Sequence; at >= d.From && at <= d.To {
			d.Count--
		}
	}
	return d
}

// uncovered returns a cut of what a summary that covers the record up to a sequence leaves of a turn.
func uncovered(cut parley.TurnCut, floor int64) parley.TurnCut {
	switch {
	case cut.IsZero() || floor < cut.From:
		return cut
	case cut.Dropped <= floor && cut.Stubbed <= floor:
		return parley.TurnCut{}
	case cut.Dropped <= floor:
		cut.Dropped = 0
	case cut.Stubbed <= floor:
		cut.Stubbed = 0
	}
	cut.From = floor + 1
	return cut
}

// turnIsLong reports whether a window is so full with its running turn that the turn is to be shortened.
func (v *View) turnIsLong(selection *Selection) bool {
	due := v.Budget.Due()
	if due <= 0 || v.Turn.ID.IsZero() || v.Budget.Scaled(selection.Tokens) <= due {
		return false
	}
	own := 0
	for _, tokens := range sizesOf(v.Bounds, stubbing{turn: &v.Cut}, v.stepsOf(selection.Messages)) {
		own += tokens
	}
	return v.Budget.Scaled(own) > v.Budget.ofDue(ownShare)
}

// stepsOf returns the messages of the running turn behind the one that began it, without those that a summary covers.
func (v *View) stepsOf(messages []parley.Message) []parley.Message {
	at := slices.IndexFunc(messages, func(m parley.Message) bool {
		return !v.Turn.TriggerMessageID.IsZero() && m.ID == v.Turn.TriggerMessageID
	})
	if at < 0 {
		at = slices.IndexFunc(messages, func(m parley.Message) bool { return m.TurnID == v.Turn.ID })
	}
	if at < 0 {
		return nil
	}
	at++
	if first := messages[0]; standsFor(&first) {
		for at < len(messages) && messages[at].Sequence <= *first.CoversThrough {
			at++
		}
	}
	return messages[at:]
}

// sizesOf returns the sizes of messages in a request, in stored estimates.
func sizesOf(bounds parley.TextBounds, stubs stubbing, rows []parley.Message) []int {
	short := excerpts(bounds, rows, unshown)
	sizes := make([]int, len(rows))
	for i := range rows {
		m := &rows[i]
		tokens := TokensOf(m)
		switch excerpt, isExcerpt := short[m.Sequence]; {
		case tokens == 0:
		case stubs.has(m):
			tokens += stubTokens - contentTokens(m)
		case isExcerpt:
			tokens += excerpt + excerptBorder - contentTokens(m)
		}
		sizes[i] = tokens
	}
	return sizes
}

// Known remembers what stubs say of results, by sequence: a turn of many steps has many, and each of its requests would
// read them all.
type Known map[int64]knownResult

// knownResult is what a stub says of a result.
type knownResult struct {
	bytes  int // of its text
	failed bool
}

// result returns what the stub of a result says.
func (k Known) result(m *parley.Message, files Attachments) knownResult {
	if known, found := k[m.Sequence]; found {
		return known
	}
	content := decode[parley.ToolResultContent](m)
	text, _ := shownResult(content, files)
	known := knownResult{bytes: len(text), failed: !content.Success}
	if k != nil {
		k[m.Sequence] = known
	}
	return known
}

// stub returns what stands for a result's text of so many bytes.
func (e excerpting) stub(m *parley.Message, bytes int) string {
	if e.readable {
		return fmt.Sprintf(stubRead, bytes, m.Sequence)
	}
	return fmt.Sprintf(stubText, bytes)
}

// gap returns the sentence in the place of the steps that a request leaves out.
func (e excerpting) gap() string {
	read := ""
	if e.readable {
		read = droppedRead
	}
	return fmt.Sprintf(droppedSteps, e.stubs.turn.From, e.stubs.turn.Dropped, read)
}
