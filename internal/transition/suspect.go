package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// A turn that ran when its process died is suspected of having killed it. docs/turn-states.md has the rule, with the
// proof that it finds exactly the turns that kill: a process claims at most MaxSuspects suspected turns, and takes a
// turn that was caught twice only while it holds no other suspect. If that one dies too, it was its process's sole
// suspect and is accused; the fate of the turns that ran beside it, until then unsuspected, decides whether it is
// guilty.

// Suspects counts the suspected turns that matter for a claim.
type Suspects struct {
	Waiting bool // some may be ready; false: Held and Twice are not read
	Held    int  // suspected turns that the process holds
	Twice   bool // one of these was caught twice
}

// ranks returns the ranks that a claim examines, in order: turns that ran before go first, and those caught once before
// those caught twice.
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

// Room returns how many more turns of a suspicion, up to n, the process may claim.
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

// clearSuspicion ends the suspicion of a turn that settled a step.
func (h *Head) clearSuspicion(turn *parley.Turn) {
	turn.Takeovers = 0
	if !turn.CaughtBy.IsZero() || !turn.AccusedBy.IsZero() {
		turn.CaughtBy, turn.AccusedBy, h.Changes.Suspect = parley.ID{}, parley.ID{}, turn
	}
}

// TakeOver takes a session's turn from a dead process: a turn asked to stop is cancelled, any other becomes ready and
// suspected. The old claim becomes void. It returns false, without changes, if that process no longer holds the
// session.
func (t *Tx) TakeOver(sessionID, holder parley.ID) (bool, error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.Holder != holder || h.DeletedAt != 0 {
		return false, err
	}
	if h.Cancel == h.TurnID && !h.Cancel.IsZero() {
		_, err := t.settleCancelled(h, parley.ByCanceller)
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
	if turn.Takeovers >= parley.CrashLoopLimit { // was claimed as the sole suspect
		turn.AccusedBy = holder
	}
	h.Changes.Suspect = turn
	return true, t.release(h, turn)
}

// Beside is the fate of the turns that ran beside an accused one and that no earlier death had caught.
type Beside struct {
	Open    bool // one has not settled a step since but may still run, or was not taken over yet
	Guilty  bool // one was found guilty: the death may have been its work
	Unknown bool // one ended or waits without settling a step
	Others  bool // processes without the accused have died since it was first caught
	Lives   bool // the process was not dead: it was frozen and has come back
}

// Bounds of judging the accused.
const (
	DeathsKept = 1000 // dead processes remembered
	doubts     = 2    // accusations that doubt alone may drop
)

// Judge decides about an accused turn. It stays held back while a turn that ran beside it may still prove to kill. If
// one does, the accused runs again as before. If none does, the accused is guilty, for nothing else that its process
// ran kills. An unknown outcome, or anything else that kills processes, counts in its favour a bounded number of times.
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
