package postgres

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestReservedErrands: nobody else takes an errand that a process has reserved, until its time is over. What it then
// finds done or ended by others it leaves as it is.
func TestReservedErrands(t *testing.T) {
	t.Parallel()
	for want, meanwhile := range map[parley.DelegationStatus]func(*testing.T, string, *talker, parley.ID){
		parley.DelegationCancelled: func(t *testing.T, _ string, other *talker, id parley.ID) {
			t.Helper()
			_, err := other.store.CancelDelegation(t.Context(), other.scope, id)
			other.must(err)
		},
		parley.DelegationDelivered: func(t *testing.T, url string, other *talker, _ parley.ID) {
			t.Helper()
			run(t, connected(t, url), "SET ROLE "+systemRole, "UPDATE parley.outbox SET due_at = 0 WHERE due_at < "+
				"parley.now_ms() + 60000") // the time is over
			other.apply(parley.ID{})
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			db, url := opened(t)
			talks := newTalker(t, db, 0)
			other := *talks
			other.store = openedAt(t, url, Options{})
			lead := talks.agent("lead", parley.ID{})
			scout := talks.agent("scout", lead.ID)
			at, below := talks.background(lead.ID), talks.background(scout.ID)
			talks.apply(parley.ID{}) // a process that applies the outbox reserves errands
			talks.asks(at, &parley.Sending{Kind: parley.DelegationTask, To: scout.ID, Text: "Look."})
			sent, err := db.Delegations(t.Context(), talks.scope, store.DelegationQuery{SessionID: at, Limit: 1})
			talks.must(err)
			other.apply(parley.ID{})
			talks.stands(sent[0].ID, parley.DelegationSent)
			meanwhile(t, url, &other, sent[0].ID)
			before, turns := talks.stands(sent[0].ID, want), talks.turnsOf(below)
			for more := true; more; {
				_, more, err = db.ApplyOutbox(t.Context(), parley.ID{})
				talks.must(err)
			}
			after := talks.stands(sent[0].ID, want)
			if after.MessageID != before.MessageID || talks.turnsOf(below) != turns {
				t.Errorf("delivered again: %+v", after)
			}
		})
	}
}

// stands checks the state of a delegation.
func (t *talker) stands(id parley.ID, want parley.DelegationStatus) parley.Delegation {
	t.tb.Helper()
	d, err := t.store.Delegation(t.tb.Context(), t.scope, id)
	t.must(err)
	if d.Status != want {
		t.tb.Fatalf("the task %q is %s; want %s", d.Text, d.Status, want)
	}
	return d
}

// turnsOf counts the turns of a session.
func (t *talker) turnsOf(sessionID parley.ID) int64 {
	session, err := t.store.Session(t.tb.Context(), t.scope, sessionID)
	t.must(err)
	return session.Statistics.Turns
}
