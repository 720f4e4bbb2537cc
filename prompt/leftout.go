package prompt

import (
	"fmt"
	"slices"
	"strings"

	"example.org/parley"
)

// Fate is what became of a message of the record in a call's request. Each message has exactly one.
type Fate string

// The fates.
const (
	FateShown   Fate = "shown"
	FateStubbed Fate = "stubbed" // a result of which only the size is shown
	FateCovered Fate = "covered" // a summary that is shown stands for it
	FateRule    Fate = "rule"    // somebody's setting or mark leaves it out, or it is internal or failed
	FateDropped Fate = "dropped" // no more fits; the request says so in its place
)

// LeftOut is a run of messages of the record that a call was not shown.
type LeftOut struct {
	Fate   Fate   `json:"fate" enum:"covered,rule,dropped" doc:"Whether a summary covers them, a rule leaves them out, or no more fitted."`
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
	reasonWithin   = "set aside at the time, internal, failed, or a summary"
	reasonStands   = "a summary that another one replaces, or that the policy does not show"
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
		if v := o.judge(m); v.fate != FateShown && v.fate != FateStubbed {
			tokens := m.TokenEstimate
			if tokens == 0 {
				tokens = EstimateTokens(string(m.Content))
			}
			o.add(m.Sequence, m.Sequence, v, &tokens)
		}
	}
	o.unread(next, upTo)
	return o.out
}

type omissions struct {
	manifest parley.Manifest
	rows     []parley.Message
	why      func(sequence int64) verdict
	out      []LeftOut
}

// verdict is the fate of a message, and why.
type verdict struct {
	fate   Fate
	reason string
}

// FateOf returns what says of a message what became of it in a call's request, with the reason unless it is shown. It
// needs the same messages as Omitted.
func FateOf(manifest parley.Manifest, messages []parley.Message) func(m *parley.Message) (Fate, string) {
	o := omissions{manifest: manifest, rows: messages}
	o.why = o.outside()
	return func(m *parley.Message) (Fate, string) {
		v := o.judge(m)
		return v.fate, v.reason
	}
}

// judge decides about a message that was read.
func (o *omissions) judge(m *parley.Message) verdict {
	out := reasonOut(m)
	switch included := Includes(o.manifest, m.Sequence); {
	case out != "":
		return verdict{FateRule, out}
	case included && (stubbing{o.manifest.Turn, o.manifest.Stubs}).has(m):
		return verdict{fate: FateStubbed}
	case included:
		return verdict{fate: FateShown}
	case m.Marks.SetAside:
		return verdict{FateRule, reasonSetAside}
	case drops(o.manifest.Turn, m) && standsFor(m):
		return verdict{FateRule, reasonStands}
	case drops(o.manifest.Turn, m):
		return verdict{FateDropped, reasonDropped}
	case m.Status == parley.MessageCancelled && o.excepted(m.Sequence):
		return verdict{FateRule, reasonAgain}
	case o.excepted(m.Sequence) && standsFor(m):
		return verdict{FateRule, reasonStands}
	case o.excepted(m.Sequence):
		return verdict{FateRule, reasonSetAside + " at the time"}
	}
	v := o.why(m.Sequence)
	if v.fate == FateRule && standsFor(m) {
		v.reason = reasonStands
	}
	return v
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

// outside decides about messages that no range contains.
func (o *omissions) outside() func(int64) verdict {
	var summary, covers, edge int64
	first, last := windowOf(o.manifest)
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
	dropped, turn := o.manifest.Dropped, o.manifest.Turn
	return func(sequence int64) verdict {
		switch {
		case turn != nil && sequence >= turn.From && sequence <= turn.Dropped:
			return verdict{FateDropped, reasonDropped}
		case sequence <= covers:
			return verdict{FateCovered, fmt.Sprintf(reasonCovered, summary)}
		case dropped != nil && sequence >= dropped.From && sequence <= dropped.To:
			return verdict{FateDropped, dropped.Reason}
		case sequence < edge:
			return verdict{FateRule, fmt.Sprintf(reasonEdge, edge)}
		case len(o.manifest.Ranges) == 0:
			return verdict{FateRule, reasonNoLonger}
		case sequence > first && sequence < last:
			return verdict{FateRule, reasonWithin}
		}
		return verdict{FateRule, reasonOutside + " (" + o.manifest.Policy + ")"}
	}
}

// windowOf returns the first and the last sequence of a request's window. Messages carried before it do not count.
func windowOf(manifest parley.Manifest) (first, last int64) {
	for _, r := range manifest.Ranges {
		reason, _, _ := strings.Cut(r.Reason, ";")
		if reason == reasonSummary || reason == reasonFirst || reason == reasonPinned || reason == reasonSaid {
			continue
		}
		if first == 0 || r.From < first {
			first = r.From
		}
		last = max(last, r.To)
	}
	return first, last
}

// unread adds messages that were not read.
func (o *omissions) unread(from, to int64) {
	for from <= to {
		v, end := o.why(from), to
		for end > from && o.why(end) != v { // verdicts change at few sequences
			end = from + (end-from)/2
		}
		o.add(from, end, v, nil)
		from = end + 1
	}
}

func (o *omissions) add(from, to int64, v verdict, tokens *int) {
	if last := len(o.out) - 1; last >= 0 {
		l := &o.out[last]
		if l.Fate == v.fate && l.Reason == v.reason && l.To == from-1 && (l.Tokens == nil) == (tokens == nil) {
			l.To, l.Count = to, l.Count+to-from+1
			if tokens != nil {
				sum := *l.Tokens + *tokens
				l.Tokens = &sum
			}
			return
		}
	}
	o.out = append(
		o.out,
		LeftOut{Fate: v.fate, From: from, To: to, Count: to - from + 1, Reason: v.reason, Tokens: tokens},
	)
}
