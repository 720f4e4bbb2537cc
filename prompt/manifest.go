package prompt

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"example.org/parley"
)

const (
	// splitRun is the length from which a run of left-out sequences ends a range; shorter runs are listed as
	// exceptions.
	splitRun = 8
	// steerRoom is kept free in a window's manifest for a step's steers, the names of middleware, a cache key, and the
	// tools that are offered, the block of knowledge, and why an answer was rejected.
	steerRoom = 512 + 448 + 160 + 64 + rejectedRoom
	// smallManifest is a size in bytes below which exact counting is not worthwhile.
	smallManifest = 1 << 10

	reasonRunning  = "running turn"
	reasonSummary  = "summary"
	reasonFirst    = "first task"
	reasonPinned   = "pinned"
	reasonSaid     = "said in the running turn"
	reasonSummed   = "summaries"
	reasonSteered  = "steered"
	reasonSetAside = "set aside"
	reasonInternal = "internal"
	reasonDropped  = "left out because the running turn no longer fits"
	reasonAgain    = "asked for again"
	reasonTooLong  = "dropped: no more fits into the model's context"
	reasonNarrow   = "dropped: more is set aside than a manifest can name"
	nothingAside   = ", whole because more is set aside than a manifest can name"
	shownAsStub    = "; only its size is shown because the running turn is long"
	shownAsOldStub = "; only its size is shown because the conversation is long"
	shownInPart    = "; shown in part because it is long"
	unlisted       = "; failed and internal messages within are left out"
)

// Spans returns the sequences that a manifest covers, ascending and disjoint: what must be read to rebuild its request.
func Spans(manifest parley.Manifest) [][2]int64 {
	spans := make([][2]int64, 0, len(manifest.Ranges))
	for _, r := range manifest.Ranges {
		spans = append(spans, [2]int64{r.From, r.To})
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i][0] < spans[j][0] })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s[0] <= out[n-1][1]+1 {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}

// Includes reports whether a manifest names a sequence.
func Includes(manifest parley.Manifest, sequence int64) bool {
	for _, r := range manifest.Ranges {
		if sequence >= r.From && sequence <= r.To {
			_, left := slices.BinarySearch(r.Except, sequence)
			return !left
		}
	}
	return false
}

// reasonOut says why a row is never shown, "" if it may be. It uses only immutable fields: Rebuild must reach the same
// decision later.
func reasonOut(m *parley.Message) string {
	switch {
	case m.Internal:
		return reasonInternal
	case m.Status == parley.MessageCompleted || m.Status == parley.MessageCancelled:
		return ""
	}
	return string(m.Status)
}

// choose leaves out what the model must not see and writes the manifest of the rest. rows are ascending and begin with
// a turn; choose owns them.
func choose(w window, rows []parley.Message) Selection {
	slices.Reverse(rows)
	at := len(rows) - running(rows, w.turn)
	slices.Reverse(rows)
	w.again = givenAgain(rows, w.turn)
	w.reason = reasonTooLong
	for _, detail := range []listing{listAll, listSetAside} {
		if m, fits := w.describe(rows, at, detail, ""); fits {
			return Selection{Messages: w.shown(rows), Manifest: m}
		}
	}
	if w.missing == 0 && len(rows) > 0 {
		w.missing = rows[0].Sequence
	}
	w.reason = reasonNarrow
	// More messages are set aside individually than a manifest can name: drop the oldest turns, as few as possible, and
	// say so in the manifest.
	starts := []int{at}
	for i := at - 1; i > 0; i-- {
		if beginsTurn(rows, i, ascending) {
			starts = append(starts, i)
		}
	}
	slices.Reverse(starts)
	first := sort.Search(len(starts), func(i int) bool {
		_, fits := w.describe(rows[starts[i]:], at-starts[i], listSetAside, "")
		return fits
	})
	if first < len(starts) {
		rows, at = rows[starts[first]:], at-starts[first]
		m, _ := w.describe(rows, at, listSetAside, "")
		return Selection{Messages: w.shown(rows), Manifest: m}
	}
	// Even the running turn alone is too much: showing it whole takes precedence.
	rows = rows[at:]
	for i := range rows {
		rows[i].Marks.SetAside = false
	}
	m, _ := w.describe(rows, 0, listSetAside, nothingAside)
	return Selection{Messages: w.shown(rows), Manifest: m}
}

// window holds the inputs of a window's manifest.
type window struct {
	policy parley.Policy
	head   parley.ContextHead
	said   []parley.Message // in the running turn, before the rows
	again  map[int64]bool   // interrupted answers that were repeated
	turn   parley.Turn
	cut    *parley.TurnCut
	stubs  *parley.Stubs // of older turns; nil: none
	// missing is the first of the messages that are dropped for a reason, up to the rows; 0: none are.
	missing int64
	start   int64 // where the window was cut; 0: nowhere
	reason  string
}

// shown returns what the model sees: the messages before the rows, and the rows that are not left out.
func (w window) shown(rows []parley.Message) []parley.Message {
	carried := before(w.head, w.said, rows)
	out := make([]parley.Message, 0, len(carried)+len(rows))
	for _, c := range carried {
		out = append(out, *c.message)
	}
	for i := range rows {
		if reasonOut(&rows[i]) == "" && !rows[i].Marks.SetAside && !standsFor(&rows[i]) && !w.again[rows[i].Sequence] {
			out = append(out, rows[i])
		}
	}
	return out
}

// listing says how much of what is left out a manifest names.
type listing int

const (
	listAll      listing = iota // every sequence
	listSetAside                // only marks, which may change; reasons in the row itself go unnamed
)

// describe writes the manifest of a window whose running turn begins at index at, and reports whether it is small
// enough.
func (w window) describe(rows []parley.Message, at int, detail listing, suffix string) (parley.Manifest, bool) {
	carried := before(w.head, w.said, rows)
	m := parley.Manifest{Policy: w.policy.String(), Ranges: carriedRanges(carried, w.head.Edge)}
	m.Dropped = w.droppedBefore(rows, carried)
	m.Stubs = w.stubs
	m.Ranges = appendRanges(m.Ranges, rows[:at], w.policy.String(), detail, w)
	if detail == listSetAside && len(m.Ranges)*40 > parley.MaxManifestBytes {
		return m, false
	}
	reason := reasonRunning
	if at == 0 {
		reason += suffix
	}
	m.Ranges = appendRanges(m.Ranges, rows[at:], reason, detail, w)
	return m, encodedSize(m) <= parley.MaxManifestBytes-steerRoom
}

// droppedBefore returns what is dropped between the first missing message and the rows; nil if nothing is.
func (w window) droppedBefore(rows []parley.Message, carried []carried) *parley.Dropped {
	start := w.start
	if len(rows) > 0 {
		start = rows[0].Sequence
	}
	if w.missing == 0 || w.missing >= start {
		return nil
	}
	d := &parley.Dropped{From: w.missing, To: start - 1, Reason: w.reason}
	shown := int64(0)
	for _, c := range carried { // ascending
		switch at := c.message.Sequence; {
		case standsFor(c.message):
		case at == d.From:
			d.From++
		case at > d.From && at <= d.To:
			shown++
		}
	}
	if d.From > d.To {
		return nil
	}
	d.Count = d.To - d.From + 1 - shown
	return d
}

// carriedRanges returns the ranges of the messages that precede a window. Before a pinned one that does not continue
// what is shown the request notes the gap: it would read as the answer to another question.
func carriedRanges(all []carried, edge int64) []parley.ManifestRange {
	ranges := make([]parley.ManifestRange, 0, len(all)+2)
	shown := int64(0) // up to here nothing is missing
	for _, c := range all {
		sequence := c.message.Sequence
		if standsFor(c.message) {
			ranges = append(ranges, parley.ManifestRange{From: sequence, To: sequence, Reason: c.reason})
			continue
		}
		if sequence >= edge {
			shown = max(shown, edge-1)
		}
		last := len(ranges) - 1
		continues := sequence <= shown+1
		shown = sequence
		if continues && last >= 0 && ranges[last].Reason == c.reason && ranges[last].To+1 == sequence {
			ranges[last].To = sequence
			continue
		}
		ranges = append(ranges, parley.ManifestRange{
			From: sequence, To: sequence, Reason: c.reason,
			Gap: c.reason == reasonPinned && !continues && c.message.Role != parley.RoleToolResult,
		})
	}
	return ranges
}

// hides says why the reading of the record left out a sequence.
func (w window) hides(sequence int64) string {
	if w.cut != nil && sequence >= w.cut.From && sequence <= w.cut.Dropped {
		return reasonDropped
	}
	return reasonInternal
}

// rangeWriter collects the ranges of one run of rows.
type rangeWriter struct {
	reason string
	out    []parley.ManifestRange
	open   *parley.ManifestRange
	gap    []int64 // left out since the open range's end
	why    []string
	gapWhy []string
}

func appendRanges(
	to []parley.ManifestRange,
	rows []parley.Message,
	reason string,
	detail listing,
	of window,
) []parley.ManifestRange {
	if detail == listSetAside {
		reason += unlisted
	}
	w := rangeWriter{reason: reason, out: to}
	for i := range rows {
		m := &rows[i]
		for hidden := rows[max(0, i-1)].Sequence + 1; hidden < m.Sequence; hidden++ { // tails leave them out
			if why := of.hides(hidden); detail == listAll || why == reasonDropped {
				w.leaveOut(hidden, why)
			}
		}
		switch why := reasonOut(m); {
		case of.again[m.Sequence]:
			w.leaveOut(m.Sequence, reasonAgain)
		case m.Marks.SetAside && why == "":
			w.leaveOut(m.Sequence, reasonSetAside)
		case why == "" && standsFor(m):
			if detail == listAll {
				w.leaveOut(m.Sequence, reasonSummed)
			}
		case why == "":
			w.show(m.Sequence)
		case detail == listAll:
			w.leaveOut(m.Sequence, why)
		}
	}
	w.end()
	return w.out
}

func (w *rangeWriter) leaveOut(sequence int64, why string) {
	w.gap = append(w.gap, sequence)
	if !slices.Contains(w.gapWhy, why) {
		w.gapWhy = append(w.gapWhy, why)
	}
}

func (w *rangeWriter) show(sequence int64) {
	if w.open != nil && len(w.gap) >= splitRun {
		w.end()
	}
	if w.open == nil {
		w.open = &parley.ManifestRange{From: sequence}
	} else {
		w.open.Except = append(w.open.Except, w.gap...)
		for _, why := range w.gapWhy {
			if !slices.Contains(w.why, why) {
				w.why = append(w.why, why)
			}
		}
	}
	w.open.To = sequence
	w.gap, w.gapWhy = w.gap[:0], nil
}

// end closes the open range; left-out rows after it need no exception.
func (w *rangeWriter) end() {
	if w.open != nil {
		w.open.Reason = w.reason
		if len(w.why) > 0 {
			slices.Sort(w.why)
			w.open.Reason += "; left out: " + strings.Join(w.why, ", ")
		}
		w.out = append(w.out, *w.open)
	}
	w.open, w.why, w.gap, w.gapWhy = nil, nil, w.gap[:0], nil
}

// withSteers adds the messages that a step delivers.
func withSteers(manifest parley.Manifest, steers []parley.Message) (parley.Manifest, error) {
	ranges := slices.Clone(manifest.Ranges)
	for i := range steers {
		last := len(ranges) - 1
		if i > 0 && ranges[last].To+1 == steers[i].Sequence {
			ranges[last].To++
			continue
		}
		ranges = append(
			ranges,
			parley.ManifestRange{From: steers[i].Sequence, To: steers[i].Sequence, Reason: reasonSteered},
		)
	}
	manifest.Ranges = ranges
	if encodedSize(manifest) > parley.MaxManifestBytes {
		return manifest, parley.Errorf(parley.CodeTooLarge, "the manifest of this call has no room for its steers")
	}
	return manifest, nil
}

// encodedSize returns the length of a manifest's JSON; for a small one, an upper bound.
func encodedSize(manifest parley.Manifest) int {
	// Most manifests are far too small to need counting: at most six bytes per byte of text, twenty per number, and the
	// names.
	bound := 128 + 6*len(manifest.Policy)
	for _, r := range manifest.Ranges {
		bound += 112 + 6*len(r.Reason) + 21*len(r.Except)
	}
	if manifest.Dropped != nil {
		bound += 160 + 6*len(manifest.Dropped.Reason)
	}
	if manifest.Stubs != nil {
		bound += 64 + 21*len(manifest.Stubs.Whole)
	}
	if bound <= smallManifest {
		return bound
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		return parley.MaxManifestBytes + 1
	}
	return len(raw)
}
