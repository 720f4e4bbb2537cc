package prompt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The list of what a summary no longer holds.
const (
	droppedHeading = "No longer in the summary:"
	maxDropped     = 32   // points that it names
	droppedBytes   = 200  // of each
	widestCitation = 1000 // messages from the first to the last of a range
	// mostCited bounds the numbers between the ends of ranges that are counted while two summaries are compared:
	// summaries of megabytes may consist of ranges.
	mostCited = 1 << 20
)

// citation finds the numbers of messages: [12], [12, 15], [12-15].
var citation = regexp.MustCompile(`\[(\d{1,15}(?: ?[,–-] ?\d{1,15})*)\]`)

// cited adds the sequences that a text cites to a set. Of ranges it adds the numbers between the ends while there is
// room for them.
func cited(text string, sequences map[int64]bool, room *int) {
	for _, match := range citation.FindAllStringSubmatch(text, -1) {
		for _, piece := range strings.Split(match[1], ",") {
			from, to, ranged := strings.Cut(strings.ReplaceAll(piece, "–", "-"), "-")
			first, _ := strconv.ParseInt(strings.TrimSpace(from), 10, 64) // digits alone
			last := first
			if ranged {
				last, _ = strconv.ParseInt(strings.TrimSpace(to), 10, 64)
			}
			sequences[first], sequences[last] = true, true
			for n := first + 1; n < last && last-first <= widestCitation && *room > 0; n++ {
				sequences[n] = true
				*room--
			}
		}
	}
}

// standing returns a summary without the list of what it no longer holds.
func standing(summary string) string {
	before, _, _ := strings.Cut(summary, "\n"+droppedHeading)
	return before
}

// NameDropped appends to a summary the points of the earlier one that it drops: those with a source that it does not
// cite. A point without sources is not checked, and what the earlier summary itself dropped is not named again. edges
// are those of the call's layers: later requests show the points.
func (s *Source) NameDropped(summary string, edges *Edges) string {
	holds, room := map[int64]bool{}, mostCited
	cited(standing(summary), holds, &room)
	var dropped []string
	for _, line := range strings.Split(standing(s.earlier()), "\n") {
		sources, lost := map[int64]bool{}, false
		cited(line, sources, &room)
		for n := range sources {
			lost = lost || !holds[n]
		}
		if lost {
			dropped = append(dropped, edges.Clip(strings.TrimLeft(line, "-*• "), droppedBytes))
		}
	}
	if len(dropped) == 0 {
		return summary
	}
	rest := len(dropped) - maxDropped
	if rest > 0 {
		dropped = dropped[:maxDropped]
	}
	summary += "\n\n" + droppedHeading + "\n- " + strings.Join(dropped, "\n- ")
	if rest > 0 {
		summary += fmt.Sprintf("\n- and %d more", rest)
	}
	return summary
}
