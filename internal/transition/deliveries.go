package transition

import (
	"slices"

	"example.org/parley"
)

// Delivery names what one session sends to another, by a key that the sender chooses. The receiver accepts it once,
// however often the errand repeats.
type Delivery struct {
	Kind string
	Key  parley.ID
}

// deliver records, under the receiver's lock, that a delivery has arrived; false if it arrived before.
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

// DeliveryRow is a delivery as stored in its row.
type DeliveryRow struct {
	Delivery
	SessionID   parley.ID
	WorkspaceID parley.ID
	DeliveredAt parley.Time
}

// Row returns the row of a delivery to a session.
func (d Delivery) Row(h *Head) DeliveryRow {
	return DeliveryRow{Delivery: d, SessionID: h.ID, WorkspaceID: h.WorkspaceID, DeliveredAt: h.Changes.At}
}
