package prompt

import (
	"fmt"

	"example.org/parley"
)

// The notices that a request holds where messages of the record are missing. They never change: requests must rebuild
// to the same bytes.
const (
	gapNotice     = "[The next message is from earlier in the conversation. What came before it is not shown here.]"
	droppedNotice = "[%s of this conversation, number %d to %d, left out here: no more fits into what you can read. " +
		"What follows continues after them.]"
	rejectedNotice = "[Your answer was not accepted. It must be one JSON object of the schema that you were given, " +
		"and nothing else. What is wrong: %s. Answer again with the whole object.]"
)

// rejectedRoom is the most that a rejection takes in a manifest, in bytes: its reason holds no control characters, so
// that a byte of it takes at most two.
const rejectedRoom = 40 + 2*parley.MaxRejectedBytes

// noticeRoom is the most that a notice takes, in stored estimates.
const noticeRoom = 60

// notices are the texts to place before messages: by sequence those before a range, and what was dropped, before the
// first message that follows it.
type notices struct {
	gaps     map[int64]bool
	dropped  *parley.Dropped
	rejected *parley.Rejected
}

func noticesOf(manifest parley.Manifest) (n notices) {
	n.dropped, n.rejected = manifest.Dropped, manifest.Rejected
	for _, r := range manifest.Ranges {
		if r.Gap {
			if n.gaps == nil {
				n.gaps = map[int64]bool{}
			}
			n.gaps[r.From] = true
		}
	}
	return n
}

// before returns the notice to place before a message, "" for none. Messages are asked for in request order, each once.
func (n *notices) before(m *parley.Message) string {
	if d := n.dropped; d != nil && m.Sequence > d.To && !standsFor(m) {
		n.dropped = nil
		return droppedText(d)
	}
	if n.gaps[m.Sequence] {
		return gapNotice
	}
	return ""
}

func droppedText(d *parley.Dropped) string {
	what := "1 message"
	if d.Count != 1 {
		what = fmt.Sprintf("%d messages", d.Count)
	}
	return fmt.Sprintf(droppedNotice, what, d.From, d.To)
}

// tokensOfNotices returns what a manifest's notices take in a request.
func tokensOfNotices(manifest parley.Manifest) int {
	sum := 0
	for _, r := range manifest.Ranges {
		if r.Gap {
			sum += EstimateTokens(gapNotice) + overheadTokens
		}
	}
	if manifest.Dropped != nil {
		sum += EstimateTokens(droppedText(manifest.Dropped)) + overheadTokens
	}
	return sum
}

// RejectedTokens returns what a rejection takes in a request for a model, in stored estimates.
func RejectedTokens(of parley.ModelID, r *parley.Rejected) int {
	if r == nil {
		return 0
	}
	return Estimate(of, rejectedText(r)) + overheadTokens
}

func rejectedText(r *parley.Rejected) string { return fmt.Sprintf(rejectedNotice, r.Reason) }

// isNotice reports whether a text of a request is one of its notices.
func isNotice(manifest parley.Manifest, text string) bool {
	return text == gapNotice || manifest.Dropped != nil && text == droppedText(manifest.Dropped)
}
