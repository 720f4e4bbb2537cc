package dryrun

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// changes implements transition.Writer for a dry run: it keeps changes in memory.
type changes struct{ *Memory }

var _ transition.Writer = changes{}

// AppendEvents implements transition.Writer.
func (w changes) AppendEvents(_ *transition.Head, events []transition.Event) error {
	for i := range events {
		w.events = append(w.events, events[i].Event)
	}
	return nil
}

// InsertMessages implements transition.Writer.
func (w changes) InsertMessages(_ *transition.Head, messages []transition.NewMessage) error {
	for i := range messages {
		w.messages = append(w.messages, *messages[i].Message)
	}
	return nil
}

// SettleMessages implements transition.Writer.
func (w changes) SettleMessages(h *transition.Head, rows []transition.SettledRow) error {
	for i := range rows {
		w.settle(&rows[i], h.Changes.At)
	}
	return nil
}

// InsertTurns implements transition.Writer.
func (w changes) InsertTurns(h *transition.Head, turns []*parley.Turn) error {
	return w.UpdateTurns(h, turns)
}

// UpdateTurns implements transition.Writer.
func (w changes) UpdateTurns(_ *transition.Head, turns []*parley.Turn) error {
	for _, turn := range turns {
		w.turns[turn.ID] = *turn
	}
	return nil
}

// InsertCalls implements transition.Writer.
func (w changes) InsertCalls(h *transition.Head, calls []transition.NewCall) error {
	for i := range calls {
		w.calls = append(w.calls, calls[i].Row(h))
	}
	return nil
}

// SettleCalls implements transition.Writer.
func (w changes) SettleCalls(_ *transition.Head, calls []store.CallSettled) error {
	for i := range calls {
		w.settleCall(&calls[i])
	}
	return nil
}

// InsertApprovals implements transition.Writer.
func (w changes) InsertApprovals(h *transition.Head, approvals []*parley.Approval) error {
	return w.UpdateApprovals(h, approvals)
}

// UpdateApprovals implements transition.Writer.
func (w changes) UpdateApprovals(_ *transition.Head, approvals []*parley.Approval) error {
	for _, a := range approvals {
		w.approvals[a.ID] = *a
	}
	return nil
}

// The one turn of a dry run reads nothing else again: its head keeps its state (Memory.keep), and no other session,
// process or turn ever sees the rest.

func (changes) MoveHead(*transition.Head) error                                      { return nil }
func (changes) Create(*transition.Head, *transition.Creation) error                  { return nil }
func (changes) ClearContext(*transition.Head, int64) error                           { return nil }
func (changes) UpdateListed(*transition.Head) error                                  { return nil }
func (changes) Accept(*transition.Head, *parley.Accepted) error                      { return nil }
func (changes) UpdateSetting(*transition.Head, *transition.Setting) error            { return nil }
func (changes) Bury(*transition.Head) error                                          { return nil }
func (changes) RemoveQueued(*transition.Head, []parley.ID) error                     { return nil }
func (changes) EnterMessages(*transition.Head, []*parley.Message) error              { return nil }
func (changes) Requeue(*transition.Head, []transition.Entry) error                   { return nil }
func (changes) EditQueued(*transition.Head, []*parley.Message) error                 { return nil }
func (changes) Mark(*transition.Head, []transition.Marked) error                     { return nil }
func (changes) InsertLoops(*transition.Head, []transition.NewLoop) error             { return nil }
func (changes) UpdateLoops(*transition.Head, []transition.NewLoop) error             { return nil }
func (changes) InsertSchedules(*transition.Head, []transition.NewSchedule) error     { return nil }
func (changes) MoveSchedules(*transition.Head, []transition.MovedSchedule) error     { return nil }
func (changes) ResumeTurns(*transition.Head, []transition.Resumed) error             { return nil }
func (changes) SuspectTurn(*transition.Head, *parley.Turn) error                     { return nil }
func (changes) RecordReplay(*transition.Head, *store.NewReplay) error                { return nil }
func (changes) OpenOutside(*transition.Head, *transition.Outside) error              { return nil }
func (changes) GrowOutside(*transition.Head, *transition.Grown) error                { return nil }
func (changes) CloseOutside(*transition.Head) error                                  { return nil }
func (changes) NoteDeliveries(*transition.Head, []transition.Delivery) error         { return nil }
func (changes) InsertDelegations(*transition.Head, []*parley.Delegation) error       { return nil }
func (changes) MoveDelegations(*transition.Head, []transition.MovedDelegation) error { return nil }
func (changes) HearDelegations(*transition.Head, []transition.Heard) error           { return nil }
func (changes) InsertKnowledge(*transition.Head, []transition.NewKnowledge) error    { return nil }
func (changes) UpdateKnowledge(*transition.Head, []*parley.KnowledgeItem) error      { return nil }
func (changes) InsertTransform(*transition.Head, *parley.Transform) error            { return nil }
func (changes) MoveTransform(*transition.Head, *transition.MovedTransform) error     { return nil }
func (changes) InsertInbox(*transition.Head, []*parley.InboxItem) error              { return nil }
func (changes) UpdateInbox(*transition.Head, []*parley.InboxItem) error              { return nil }
func (changes) PutCompaction(*transition.Head, *parley.Compaction) error             { return nil }
func (changes) UpdateReady(*transition.Head) error                                   { return nil }
func (changes) ForgetUses(*transition.Head, []parley.ID) error                       { return nil }
func (changes) UseFiles(*transition.Head, []transition.FileUse) error                { return nil }
func (changes) OpenClients(*transition.Head, []transition.ClientOpened) error        { return nil }
func (changes) LeaveErrands(*transition.Head, []transition.Errand) error             { return nil }
func (changes) Spend(*transition.Head, []transition.Spent) error                     { return nil }
func (changes) Reserve(*transition.Head, []transition.NewCall) error                 { return nil }
func (changes) Park(*transition.Head, *transition.Parked) error                      { return nil }
func (changes) Warn(*transition.Head, *transition.Warned) error                      { return nil }
func (changes) CountRequest(*transition.Head, *transition.Rated) error               { return nil }
func (changes) Relimit(*transition.Head) error                                       { return nil }

// InsertKnowledgeBlock and TellKnowledge implement transition.Writer: a dry run keeps its block to itself.
func (changes) InsertKnowledgeBlock(*transition.Head, *parley.KnowledgeBlock) error { return nil }
func (changes) TellKnowledge(*transition.Head, *parley.KnowledgeBlock) error        { return nil }
