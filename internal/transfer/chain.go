package transfer

import (
	"example.org/parley"
)

// Head is what a session's head states about its record.
type Head struct {
	SessionID    parley.ID
	LogID        parley.ID
	LastSequence int64 // of the record's last message; 0: empty
	LastHash     parley.Hash
}

// Link is a message of a record, as the hash chain sees it.
type Link struct {
	Sequence    int64
	Input       parley.ChainInput
	ContentHash parley.Hash // zero while the message streams
}

// Records checks records against their hashes. Feed it the records one after another: Begin with the head, Add each
// message in order, and End after the last record. The zero value is ready for use; it holds one hash, however long a
// record is.
type Records struct {
	Sessions, Messages int64 // checked so far

	head     Head
	open     bool
	sequence int64
	last     parley.Hash
	streams  bool // after a streaming message, none may be settled
}

// Begin starts a record, and ends the previous one.
func (r *Records) Begin(head Head) error {
	if err := r.End(); err != nil {
		return err
	}
	*r = Records{Sessions: r.Sessions + 1, Messages: r.Messages, head: head, open: true}
	return nil
}

// Add adds the record's next message.
func (r *Records) Add(link Link) error {
	r.Messages++
	r.sequence++
	switch {
	case link.Sequence != r.sequence:
		return r.broken("has message %d at position %d", link.Sequence, r.sequence)
	case link.Input.Status == parley.MessageStreaming:
		if r.streams = true; !link.ContentHash.IsZero() {
			return r.broken("has a hash for message %d, which still streams", link.Sequence)
		}
		return nil
	case r.streams:
		return r.broken("has settled message %d after one that still streams", link.Sequence)
	}
	want, err := parley.ChainHash(r.last, link.Input)
	if err != nil || want != link.ContentHash {
		return r.broken("does not match the hash of message %d", link.Sequence)
	}
	r.last = want
	return nil
}

// End ends the last record.
func (r *Records) End() error {
	if !r.open {
		return nil
	}
	r.open = false
	if r.sequence != r.head.LastSequence || r.last != r.head.LastHash {
		return r.broken("ends at message %d, but its head says %d or a different hash", r.sequence, r.head.LastSequence)
	}
	return nil
}

func (r *Records) broken(format string, args ...any) error {
	return parley.Errorf(
		parley.CodeUnavailable,
		"the record of session %s "+format,
		append([]any{r.head.SessionID}, args...)...)
}
