package transition

import (
	"example.org/parley"
	"example.org/parley/event"
)

// TellRefused tells the session of an agent that something for it was not sent, because of a bound of its chain.
type TellRefused struct {
	CallID  parley.ID               `json:"-"`        // the message of the call that wanted to send it
	OwnerID parley.ID               `json:"owner_id"` // the receiver's background session is this principal's
	Refused event.DelegationRefused `json:"refused"`
}

// Kind implements Work.
func (TellRefused) Kind() string { return "tell_refused" }

// Target implements Work.
func (w TellRefused) Target() parley.ID { return w.CallID }

// do only writes the event. A message would start a turn, and the chain that was stopped would go on.
func (w TellRefused) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error {
		h, err := t.keyed(workspaceID, parley.BackgroundKey(w.Refused.ToAgentID, w.OwnerID))
		if err != nil || h == nil || h.ArchivedAt != 0 {
			return err
		}
		if to, err := t.agentNow(workspaceID, h.AgentID); err != nil || !worksIn(h, to) {
			return err
		}
		first, err := t.deliver(h, Delivery{w.Kind(), w.CallID})
		if err != nil || !first {
			return err
		}
		t.event(h, parley.ID{}, w.Refused.Encode())
		return nil
	})
}

// tellRefused tells both sides that a bound of the chain has kept a delegation from being sent.
func (t *Tx) tellRefused(h *Head, call *parley.Message, d *parley.Delegation, reason string) {
	refused := event.DelegationRefused{
		CallMessageID: call.ID, Kind: d.Kind, FromAgentID: d.FromAgentID, FromSessionID: d.FromSessionID,
		ToAgentID: d.ToAgentID, RootID: d.RootID, Hop: d.Hop, Title: parley.TitleFrom(d.Text), Reason: reason,
	}
	t.event(h, call.TurnID, refused.Encode())
	if d.ToPrincipalID.IsZero() { // a person has the alert
		h.leave(TellRefused{CallID: call.ID, OwnerID: h.OwnerID, Refused: refused}, 0)
	}
}
