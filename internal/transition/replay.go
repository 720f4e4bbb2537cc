package transition

import (
	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// RecordReplay implements the transition of store.Replays. The call opens and ends at once: its usage is known, so
// nothing is reserved.
func (t *Tx) RecordReplay(scope store.Scope, replay store.NewReplay) error {
	h, err := t.lock(scope, replay.Call.SessionID)
	if err != nil {
		return err
	}
	t.event(h, parley.ID{}, event.CallReplayed{
		CallID: replay.Call.ID, ReplayOf: replay.OfID, Model: replay.Call.Model, Outcome: replay.Settled.Outcome,
	}.Encode())
	call := replay.Call
	call.Purpose, call.Ordinal, call.TurnID, call.MessageID = parley.PurposeReplay, h.LastEvent,
		parley.ID{}, parley.ID{}
	h.Changes.NewCalls = append(
		h.Changes.NewCalls,
		NewCall{
			StepBegin: store.StepBegin{
				Call:        call,
				System:      replay.System,
				Tools:       replay.Tools,
				Middleware:  replay.Layers,
				Instruction: replay.Instruction,
			},
		},
	)
	h.Changes.Replay = &replay
	if len(replay.Charged) > 0 {
		var used parley.Reserved
		used, replay.Settled.Estimated = replay.Settled.Charged(replay.Estimate)
		h.Changes.Spent = append(h.Changes.Spent, Spent{From: replay.Charged, Used: used})
	}
	h.settleWithoutTurn(OpenCall{ID: call.ID}, replay.Settled)
	return nil
}
