package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// A turn that ran when its process died is suspected of having killed it. The
// rule is in docs/turn-states.md, with the proof that it finds every turn that
// kills, and no other: a process claims at most MaxSuspects suspected turns, and
// one that was caught twice only while it holds no other suspect. Should that one
// die too, it is its process's sole suspect, and accused: those that ran beside it,
// unsuspected until then, say by what becomes of them whether it is guilty.

// Suspects are the suspected turns that bear on a claim.
type Suspects struct {
	Waiting bool // some may be ready; false: Held and Twice are not read
	Held    int  // those that the process holds
	Twice   bool // one of them was caught twice
}

// ranks are the ranks of sessions that a claim looks at, in order: who ran before
// goes first, and who was caught once before who was caught twice.
func (s Suspects) ranks() []Rank {
	ranks := make([]Rank, 0, 6)
	if s.Waiting {
		ranks = append(
			ranks,
			RankOf(parley.ModeForeground, parley.Suspected),
			RankOf(parley.ModeBackground, parley.Suspected),
			RankOf(parley.ModeForeground, parley.CaughtTwice),
			RankOf(parley.ModeBackground, parley.CaughtTwice),
		)
	}
	return append(
		ranks,
		RankOf(parley.ModeForeground, parley.Unsuspected),
		RankOf(parley.ModeBackground, parley.Unsuspected),
	)
}

// Room is how many more turns of a suspicion the process may claim, of n.
func (s Suspects) Room(suspicion parley.Suspicion, n int) int {
	switch {
	case suspicion == parley.Unsuspected:
		return n
	case suspicion == parley.Suspected && !s.Twice:
		return max(0, min(n, parley.MaxSuspects-s.Held))
	case suspicion == parley.CaughtTwice && s.Held == 0:
		return min(n, 1)
	}
	return 0
}

func (s *Suspects) took(suspicion parley.Suspicion) {
	if suspicion != parley.Unsuspected {
		s.Held++
		s.Twice = s.Twice || suspicion == parley.CaughtTwice
	}
}

// clears ends the suspicion of a turn that has settled a step.
func (h *Head) clears(turn *parley.Turn) {
	turn.Takeovers = 0
	if !turn.CaughtBy.IsZero() || !turn.AccusedBy.IsZero() {
		turn.CaughtBy, turn.AccusedBy, h.Changes.Suspect = parley.ID{}, parley.ID{}, turn
	}
}

// TakeOver takes a session's turn from a process that is dead: a turn that was
// to be cancelled is, the others are ready again and suspected. The old claim is
// void. It reports false, and does nothing, when that process does not hold the
// session any more.
func (t *Tx) TakeOver(sessionID, holder parley.ID) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.Holder != holder || h.DeletedAt != 0 {
		return false, err
	}
	if h.Cancel == h.TurnID && !h.Cancel.IsZero() {
		_, err := t.settleCancelled(h)
		return true, err
	}
	turn, err := t.currentTurn(h)
	if err != nil {
		return false, err
	}
	turn.Takeovers++
	if turn.CaughtBy.IsZero() {
		turn.CaughtBy = holder
	}
	if turn.Takeovers >= parley.CrashLoopLimit { // claimed as the sole suspect
		turn.AccusedBy = holder
	}
	h.Changes.Suspect = turn
	return true, t.release(h, turn)
}

// Beside is what became of the turns that ran beside an accused one and that no
// earlier death had caught.
type Beside struct {
	Open    bool // one may run again and has not settled a step since, or was not taken over yet
	Guilty  bool // one was found guilty: the death may have been its work
	Unknown bool // one ended or waits without having settled a step
	Others  bool // since the accused was first caught processes died in which it did not run
	Lives   bool // the process was not dead: it stood still and has come back
}

// How the accused are judged.
const (
	DeathsKept = 1000 // dead processes that are remembered
	doubts     = 2    // accusations that may be dropped for doubt alone
)

// Judge decides over an accused turn. While one of those that ran beside it may
// still turn out to kill, it goes on being held back. If one did, the accused runs
// again as before. If none did it is guilty: nothing else that its process ran
// kills. Something unknown, or something else that kills processes, is in its
// favour, a bounded number of times.
func (t *Tx) Judge(sessionID, accusedBy parley.ID, beside Beside) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.TurnID.IsZero() || h.TurnStatus != parley.TurnQueued || h.DeletedAt != 0 ||
		beside.Open && !beside.Lives {
		return false, err
	}
	turn, err := t.currentTurn(h)
	if err != nil || turn.AccusedBy != accusedBy {
		return false, err
	}
	doubt := (beside.Unknown || beside.Others) && turn.Takeovers < parley.CrashLoopLimit+doubts
	if beside.Lives || beside.Guilty || doubt {
		turn.AccusedBy, h.Changes.Suspect = parley.ID{}, turn
		h.Changes.Unready, h.Changes.Ready = true, true
		return true, nil
	}
	return true, t.convict(h, turn)
}

// convict fails a turn that kills its processes.
func (t *Tx) convict(h *Head, turn *parley.Turn) error {
	h.Epoch++
	interrupted := &parley.Failure{Class: parley.ClassInterrupted, Sentence: parley.ClassInterrupted.Sentence()}
	if _, err := t.settleOpen(h, turn, parley.MessageFailed, parley.CallInterrupted, interrupted); err != nil {
		return err
	}
	if _, err := t.settleTools(h, turn); err != nil {
		return err
	}
	return t.end(h, turn, store.TurnEnd{
		Status: parley.TurnFailed,
		Failure: &parley.Failure{
			Class:    parley.ClassCrashLoop,
			Sentence: parley.ClassCrashLoop.Sentence(),
			Attempts: turn.Attempt,
		},
	})
}
