package transition

import (
	"math"

	"example.org/parley"
)

// Part is a stretch of a session's record: the rows of a log up to a sequence. A session reads its parts in order; each
// begins where the previous one ends, as the log's first row says.
type Part struct {
	LogID   parley.ID
	Writer  parley.ID // session that writes the log; possibly deleted
	Through int64     // math.MaxInt64 for the session's own
}

// Own returns the last part of a session's record: its own log.
func Own(sessionID, logID parley.ID) Part {
	return Part{LogID: logID, Writer: sessionID, Through: math.MaxInt64}
}

// holds reports whether a message is in one of the parts of a record.
func holds(parts []Part, m *parley.Message) bool {
	for _, p := range parts {
		if p.LogID == m.LogID {
			return m.Sequence <= p.Through
		}
	}
	return false
}

// upTo cuts the parts of a record at a sequence.
func upTo(parts []Part, through int64) (cut []Part) {
	from := int64(0)
	for _, p := range parts {
		if from >= through {
			break
		}
		from, p.Through = p.Through, min(p.Through, through)
		cut = append(cut, p)
	}
	return cut
}

// parts returns the parts that a locked session reads, its own log last.
func (t *Tx) parts(h *Head) ([]Part, error) {
	own := Own(h.ID, h.LogID)
	if h.ForkedThrough == nil || *h.ForkedThrough == 0 {
		return []Part{own}, nil
	}
	shared, err := t.rows.Shared(h)
	return append(shared, own), err
}

// Begins returns the sequence of the first message that the session itself writes.
func (h *Head) Begins() int64 {
	if h.ForkedThrough == nil {
		return 1
	}
	return *h.ForkedThrough + 1
}
