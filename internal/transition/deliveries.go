package transition

import (
	"slices"

	"example.org/parley"
)

// Delivery names what one session sends another, by a key of the sender's choice: the
// receiver takes it once, however often the errand that brings it is done.
type Delivery struct {
	Kind string
	Key  parley.ID
}

// deliver notes under a session's lock that something has arrived there; false when it had
// before, and there is nothing to do.
func (t *Tx) deliver(h *Head, what Delivery) (first bool, err error) {
	if slices.Contains(h.Changes.Delivered, what) {
		return false, nil
	}
	before, err := t.rows.Delivered(h, what)
	if err != nil || before {
		return false, err
	}
	h.Changes.Delivered = append(h.Changes.Delivered, what)
	return true, nil
}

// DeliveryRow is a delivery as its row holds it.
type DeliveryRow struct {
	Delivery
	SessionID   parley.ID
	WorkspaceID parley.ID
	DeliveredAt parley.Time
}

// Row is the row of a delivery to a session.
func (d Delivery) Row(h *Head) DeliveryRow {
	return DeliveryRow{Delivery: d, SessionID: h.ID, WorkspaceID: h.WorkspaceID, DeliveredAt: h.Changes.At}
}
