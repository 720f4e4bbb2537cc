package prompt

import (
	"fmt"
	"slices"
	"strings"

	"example.org/parley"
)

// LeftOut is a run of messages of the record that a call was not shown.
type LeftOut struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"`
	Count  int64  `json:"count"`
	Reason string `json:"reason"`
	Tokens *int   `json:"tokens" doc:"An estimate; null if the messages were not read for this answer."`
}

// Reasons in addition to a manifest's own.
const (
	reasonOutside  = "outside the window"
	reasonCovered  = "covered by the summary in message %d"
	reasonEdge     = "before the context edge at message %d"
	reasonNoLonger = "shown by no range of the manifest"
)

// Omitted says which messages up to a sequence a call was not shown, and why. It needs the messages between the first
// and the last of each range of the manifest, ascending; of others it says only that the window does not reach them.
func Omitted(manifest parley.Manifest, messages []parley.Message, upTo int64) []LeftOut {
	o := omissions{manifest: manifest, rows: messages, out: []LeftOut{}}
	o.why = o.outside()
	next := int64(1)
	for i := range messages {
		m := &messages[i]
		if m.Sequence == 0 || m.Sequence > upTo {
			continue
		}
		o.unread(next, m.Sequence-1)
		next = m.Sequence + 1
		if reason := o.reason(m); reason != "" {
			tokens := m.TokenEstimate
			if tokens == 0 {
				tokens = EstimateTokens(string(m.Content))
			}
			o.add(m.Sequence, m.Sequence, reason, &tokens)
		}
	}
	o.unread(next, upTo)
	return o.out
}

type omissions struct {
	manifest parley.Manifest
	rows     []parley.Message
	why      func(sequence int64) string
	out      []LeftOut
}

// reason says why a message that was read is not shown, "" if it is.
func (o *omissions) reason(m *parley.Message) string {
	out := reasonOut(m)
	switch included := Includes(o.manifest, m.Sequence); {
	case out != "":
		return out
	case included:
		return ""
	case m.Marks.SetAside:
		return reasonSetAside
	case m.Status == parley.MessageCancelled && o.excepted(m.Sequence):
		return reasonAgain
	case o.excepted(m.Sequence):
		return reasonSetAside + " at the time"
	}
	return o.why(m.Sequence)
}

// excepted reports whether a range names a sequence as an exception.
func (o *omissions) excepted(sequence int64) bool {
	for _, r := range o.manifest.Ranges {
		if _, found := slices.BinarySearch(r.Except, sequence); found {
			return true
		}
	}
	return false
}

// outside says why the window does not reach a message.
func (o *omissions) outside() func(int64) string {
	var summary, covers, edge int64
	first := int64(0) // start of the window; messages carried before it do not count
	for _, r := range o.manifest.Ranges {
		reason, _, _ := strings.Cut(r.Reason, ";")
		carried := reason == reasonSummary || reason == reasonFirst || reason == reasonPinned
		if !carried && (first == 0 || r.From < first) {
			first = r.From
		}
	}
	for i := range o.rows {
		m := &o.rows[i]
		if !Includes(o.manifest, m.Sequence) {
			continue
		}
		if m.Role == parley.RoleSummary && m.CoversThrough != nil {
			summary, covers = m.Sequence, *m.CoversThrough
		}
		if m.Marks.ContextEdge && m.Sequence == first {
			edge = first
		}
	}
	return func(sequence int64) string {
		switch {
		case o.manifest.Turn != nil && sequence >= o.manifest.Turn.From && sequence <= o.manifest.Turn.Dropped:
			return reasonDropped
		case sequence <= covers:
			return fmt.Sprintf(reasonCovered, summary)
		case sequence < edge:
			return fmt.Sprintf(reasonEdge, edge)
		case len(o.manifest.Ranges) == 0:
			return reasonNoLonger
		}
		return reasonOutside + " (" + o.manifest.Policy + ")"
	}
}

// unread adds messages that were not read.
func (o *omissions) unread(from, to int64) {
	for from <= to {
		reason, end := o.why(from), to
		for end > from && o.why(end) != reason { // reasons change at few sequences
			end = from + (end-from)/2
		}
		o.add(from, end, reason, nil)
		from = end + 1
	}
}

func (o *omissions) add(from, to int64, reason string, tokens *int) {
	if last := len(o.out) - 1; last >= 0 {
		l := &o.out[last]
		if l.Reason == reason && l.To == from-1 && (l.Tokens == nil) == (tokens == nil) {
			l.To, l.Count = to, l.Count+to-from+1
			if tokens != nil {
				sum := *l.Tokens + *tokens
				l.Tokens = &sum
			}
			return
		}
	}
	o.out = append(o.out, LeftOut{From: from, To: to, Count: to - from + 1, Reason: reason, Tokens: tokens})
}
