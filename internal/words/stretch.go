package words

import (
	"example.org/parley"
	"example.org/parley/store"
)

// Stretch is a part of a log being indexed.
type Stretch struct {
	Log
	Shared bool  // its session is deleted: index it as far as forks share it
	To     int64 // prepared up to this sequence
	Rows   []Row
}

// News reports whether there is anything to write.
func (s *Stretch) News() bool {
	return s.To > s.Through || !s.Known || s.Title != s.Titled || s.Moved()
}

// Budget is what one transaction may still write.
type Budget struct{ messages, bytes int }

// NewBudget returns the budget of a whole transaction.
func NewBudget() Budget {
	return Budget{messages: store.SearchBatch, bytes: store.SearchBatchBytes}
}

// Spent reports whether nothing more fits.
func (b *Budget) Spent() bool { return b.messages <= 0 || b.bytes <= 0 }

// Begin begins a stretch with its title, if that differs from the indexed one.
func (b *Budget) Begin(s *Stretch) {
	s.To = s.Through
	if !s.Known {
		s.PlacedIn, s.PlacedOpen = s.ProjectID, s.Visible
	}
	if !s.Shared && (s.Title != s.Titled || !s.Known) {
		row, found := s.TitleRow()
		b.add(s, row, found)
	}
}

// Clear spends the budget on removing the entries of a moved log.
func (b *Budget) Clear(s *Stretch) { s.To, b.messages = s.Through, 0 }

// Take adds the next message of a stretch; false for an unsettled message, which ends the stretch for now, or when
// nothing more fits.
func (b *Budget) Take(s *Stretch, m *parley.Message) bool {
	if b.Spent() || !m.Status.Settled() {
		return false
	}
	row, found := s.MessageRow(m)
	b.add(s, row, found)
	s.To = m.Sequence
	return true
}

func (b *Budget) add(s *Stretch, row Row, found bool) {
	b.messages--
	if found {
		s.Rows = append(s.Rows, row)
		b.bytes -= row.Entry.Size
	}
}
