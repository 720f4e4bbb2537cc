package prompt

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
)

// messageChange says how the messages of two requests differ; the first n are equal, unless something before them
// differs.
func messageChange(before, after *Sent, n int) (Change, bool) {
	a, b := before.Request.Messages, after.Request.Messages
	for n < len(a) && n < len(b) && sameMessage(&a[n], &b[n]) {
		n++
	}
	switch {
	case n == len(a) && n == len(b):
		return Change{}, false
	case n == len(a):
		return Change{
			Cause: CauseAppended,
			Says: fmt.Sprintf(
				"The earlier request's messages are all there, unchanged; %d more follow them.",
				len(b)-n,
			),
		}, true
	}
	was, is := sequencesOf(a), sequencesOf(b)
	gone, come := missing(was, is), missing(is, was)
	if covering := summaryOf(after.Shown); covering != 0 && slices.Contains(come, covering) {
		return Change{
			Cause:  CauseSummary,
			Breaks: true,
			Says: fmt.Sprintf(
				"The summary in message %d stands for %s, which were sent one by one before.",
				covering,
				some(gone, "messages"),
			),
		}, true
	}
	if covering := summaryOf(before.Shown); covering != 0 && slices.Contains(gone, covering) {
		return Change{
			Cause:  CauseSummary,
			Breaks: true,
			Says:   fmt.Sprintf("The summary in message %d is no longer used.", covering),
		}, true
	}
	if len(was) > 0 && len(is) > 0 && was[0] != is[0] {
		says := fmt.Sprintf("The window moved: it begins with message %d and began with message %d", is[0], was[0])
		if after.Manifest.Policy != before.Manifest.Policy {
			says += fmt.Sprintf(" (policy %s, before %s)", after.Manifest.Policy, before.Manifest.Policy)
		} else {
			says += fmt.Sprintf(" (policy %s)", after.Manifest.Policy)
		}
		return Change{Cause: CauseWindow, Breaks: true, Says: says + "."}, true
	}
	if len(gone) > 0 {
		return Change{
			Cause:  CauseMarks,
			Breaks: true,
			Says:   fmt.Sprintf("Now left out: %s, which the earlier request had.", some(gone, "messages")),
		}, true
	}
	if among := upTo(come, was); len(among) > 0 {
		return Change{
			Cause:  CauseMarks,
			Breaks: true,
			Says:   fmt.Sprintf("Now shown, among messages that were sent before: %s.", some(among, "messages")),
		}, true
	}
	if says := stubsChanged(before.Manifest.Stubs, after.Manifest.Stubs); says != "" {
		return Change{Cause: CauseWindow, Breaks: true, Says: says}, true
	}
	at := a[n]
	return Change{
		Cause:  CauseMessages,
		Breaks: n < len(a)-1 || n < len(b),
		Says:   fmt.Sprintf("%s now reads differently: %s.", nameOf(&at), otherwise(a, b, n)),
	}, true
}

// stubsChanged says how the results that are shown by their size alone differ; "" if they are the same.
func stubsChanged(was, is *parley.Stubs) string {
	switch {
	case is == nil && was != nil:
		return "Results of older turns are shown in full again."
	case is != nil && (was == nil || is.Through != was.Through):
		return fmt.Sprintf(
			"Results of older turns, up to message %d, are shown by their size alone: the window has filled.",
			is.Through,
		)
	}
	return ""
}

// otherwise guesses why a message is sent in another form than before.
func otherwise(a, b []model.Message, n int) string {
	if n >= len(b) {
		return "it is the last of this request"
	}
	for i := range min(len(a[n].Parts), len(b[n].Parts)) {
		x, y := a[n].Parts[i], b[n].Parts[i]
		switch {
		case x.Text == NoResult && y.Text != NoResult:
			return "a tool call that had no result has one"
		case x.Kind != y.Kind && (x.Kind == model.PartReasoning || y.Kind == model.PartReasoning):
			return "reasoning is sent only to the model that made it"
		case x.Kind != y.Kind && (x.Kind == model.PartImage || y.Kind == model.PartImage):
			return "an image is shown to only one of the models"
		}
	}
	return "its content, its files or its context note changed"
}

func nameOf(m *model.Message) string {
	if len(m.Parts) == 0 || m.Parts[0].Sequence == 0 {
		return "A message of the " + string(m.Role)
	}
	return fmt.Sprintf("Message %d (%s)", m.Parts[0].Sequence, m.Role)
}

// sequencesOf lists the messages of the record in a request, ascending, each once.
func sequencesOf(messages []model.Message) (list []int64) {
	for i := range messages {
		for j := range messages[i].Parts {
			if at := messages[i].Parts[j].Sequence; at != 0 {
				list = append(list, at)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// missing returns the elements of one ascending list that another lacks.
func missing(from, in []int64) (list []int64) {
	for _, at := range from {
		if _, found := slices.BinarySearch(in, at); !found {
			list = append(list, at)
		}
	}
	return list
}

// upTo returns the elements of come that precede the last of was.
func upTo(come, was []int64) []int64 {
	if len(was) == 0 {
		return nil
	}
	n := sort.Search(len(come), func(i int) bool { return come[i] > was[len(was)-1] })
	return come[:n]
}

// summaryOf returns the sequence of the latest summary among messages, 0 without one.
func summaryOf(shown []parley.Message) (at int64) {
	for i := range shown {
		if shown[i].Role == parley.RoleSummary {
			at = max(at, shown[i].Sequence)
		}
	}
	return at
}

// maxNamed is how many messages a sentence names.
const maxNamed = 5

func some(sequences []int64, what string) string {
	if len(sequences) == 0 {
		return "no " + what
	}
	names := make([]string, 0, maxNamed)
	for _, at := range sequences[:min(len(sequences), maxNamed)] {
		names = append(names, fmt.Sprint(at))
	}
	said := what + " " + strings.Join(names, ", ")
	if more := len(sequences) - len(names); more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

// firstByte finds where two encoded requests diverge, and what is there.
func firstByte(before, after *Sent) *FirstByte {
	a, b := before.Encoded, after.Encoded
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	first := &FirstByte{Offset: at, Kind: KindParameters, Was: excerpt(a, at), Is: excerpt(b, at)}
	wire := readBody(b)
	if !slices.ContainsFunc([]string{"messages", "tools", "system"}, func(name string) bool {
		member, there := wire.members[name]
		return there && at >= member.Offset && at < member.end()
	}) {
		return first
	}
	var nearest *Part // the part or frame that contains it
	for i := range after.Parts {
		p := &after.Parts[i]
		// The byte after a text ends it, so a text that became shorter differs there.
		if p.Span != nil && p.Span.end() >= at && (nearest == nil || p.Span.Offset < nearest.Span.Offset) {
			nearest = p
		}
	}
	if nearest != nil {
		first.Kind, first.Name, first.Sequence = nearest.Kind, nearest.Name, nearest.Sequence
	}
	return first
}

// excerpt returns a little of a request around a byte, in whole runes.
func excerpt(encoded []byte, at int) string {
	from := max(0, at-excerptBefore)
	for from > 0 && from < len(encoded) && !utf8.RuneStart(encoded[from]) {
		from--
	}
	return strings.ToValidUTF8(string(encoded[min(from, len(encoded)):min(len(encoded), at+excerptBytes)]), "")
}
