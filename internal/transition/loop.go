package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// StartLoop implements the transition of store.Loops.
func (t *Tx) StartLoop(
	scope store.Scope,
	sessionID parley.ID,
	starting store.NewLoop,
	claimBy parley.ID,
) (store.LoopStarted, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return store.LoopStarted{}, err
	}
	if earlier, err := t.startedBefore(h, starting.Idempotency); err != nil || earlier != nil {
		if earlier == nil {
			return store.LoopStarted{}, err
		}
		return *earlier, err
	}
	if h.ArchivedAt != 0 {
		return store.LoopStarted{}, parley.Errorf(
			parley.CodeArchived,
			"this session is archived; reopen it with PATCH {\"archived\": false}, then start the loop again",
		)
	}
	running, err := t.rows.RunningLoop(h)
	if err != nil {
		return store.LoopStarted{}, err
	}
	if running != nil {
		return store.LoopStarted{}, parley.Conflict(
			running.State,
			"this session already runs a loop (iteration %d of %d); stop it first",
			running.Iteration,
			running.Max,
		)
	}
	started := store.LoopStarted{EventSequence: h.LastEvent}
	loop := starting.Loop
	loop.WorkspaceID, loop.SessionID, loop.State, loop.Iteration, loop.CreatedAt = h.WorkspaceID, h.ID,
		parley.LoopRunning, 1, t.now
	loop.TurnID = starting.First.TurnID
	t.progress(h, &loop)
	loop.Ordinal = h.LastEvent
	h.Changes.NewLoops = append(
		h.Changes.NewLoops,
		NewLoop{
			Loop:        &loop,
			Content:     starting.Content,
			PostedEvent: started.EventSequence,
			Idempotency: starting.Idempotency,
		},
	)
	first := starting.First
	first.LoopID, first.Iteration, first.During = loop.ID, 1, parley.DuringQueue
	posted, err := t.post(h, first, claimBy)
	if err != nil {
		return store.LoopStarted{}, err
	}
	started.Loop, started.Claim = loop, posted.Claim
	t.about.TargetID = loop.ID
	return started, nil
}

// startedBefore rebuilds the first result under an idempotency key; nil if the key is new.
func (t *Tx) startedBefore(h *Head, idempotency store.Idempotency) (*store.LoopStarted, error) {
	if idempotency.Key == "" {
		return nil, nil
	}
	earlier, err := t.rows.StartedLoop(h, idempotency.Key)
	if err != nil || earlier.ID.IsZero() {
		return nil, err
	}
	if earlier.Fingerprint != idempotency.Fingerprint {
		return nil, KeyReused()
	}
	loop, err := t.loopOf(h, earlier.ID)
	if err != nil {
		return nil, err
	}
	return &store.LoopStarted{Loop: *loop.Loop, EventSequence: earlier.PostedEvent, Replayed: true}, nil
}

// StopLoop implements the transition of store.Loops.
func (t *Tx) StopLoop(scope store.Scope, sessionID, loopID parley.ID) (parley.Loop, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return parley.Loop{}, err
	}
	loop, err := t.loopOf(h, loopID)
	if err != nil {
		return parley.Loop{}, err
	}
	switch loop.State {
	case parley.LoopRunning:
	case parley.LoopStopped:
		return *loop.Loop, nil
	default:
		return parley.Loop{}, parley.Conflict(loop.State, "this loop has already ended: it is %s", loop.State)
	}
	var turn *parley.Turn
	if loop.TurnID == h.TurnID {
		turn, err = t.currentTurn(h)
	} else {
		turn, err = t.readTurn(h, loop.TurnID)
	}
	if err != nil {
		return parley.Loop{}, err
	}
	if err := t.queueToEnd(h); err != nil { // before the first change
		return parley.Loop{}, err
	}
	t.endLoop(h, loop.Loop, parley.LoopStopped, parley.LoopReasonStopped)
	switch {
	case turn.Status != parley.TurnQueued || turn.Attempt > 0: // it has begun
	case turn.ID == h.TurnID:
		_, err = t.settleCancelled(h, parley.ByCanceller)
	default:
		err = t.cancelWaiting(h, turn, parley.ID{})
	}
	return *loop.Loop, err
}

// loopOf returns the current state of a session's loop; CodeNotFound if there is no such loop.
func (t *Tx) loopOf(h *Head, id parley.ID) (*NewLoop, error) {
	for i := range h.Changes.NewLoops {
		if made := &h.Changes.NewLoops[i]; made.ID == id {
			return made, nil
		}
	}
	for i := range h.Changes.Loops {
		if changed := &h.Changes.Loops[i]; changed.ID == id {
			return changed, nil
		}
	}
	loop, err := t.rows.Loop(h, id)
	if err == nil && loop == nil {
		err = NotFound("loop")
	}
	return loop, err
}

// saveLoop has changes of a loop written, in their final state.
func (h *Head) saveLoop(loop *NewLoop) {
	for _, saved := range [][]NewLoop{h.Changes.NewLoops, h.Changes.Loops} {
		for i := range saved {
			if saved[i].ID == loop.ID {
				return // same loop
			}
		}
	}
	h.Changes.Loops = append(h.Changes.Loops, *loop)
}

// endLoop ends a running loop.
func (t *Tx) endLoop(h *Head, loop *parley.Loop, state parley.LoopState, reason string) {
	loop.State, loop.Reason, loop.FinishedAt = state, reason, t.now
	h.saveLoop(&NewLoop{Loop: loop})
	t.progress(h, loop)
}

// iterate continues the loop of a turn that has ended: with the next iteration, or the loop's end. It reports whether
// to archive the session. The queue has been read.
func (t *Tx) iterate(h *Head, turn *parley.Turn, end store.TurnEnd) (archive bool, err error) {
	if turn.LoopID.IsZero() {
		return false, nil
	}
	loop, err := t.loopOf(h, turn.LoopID)
	if err != nil || loop.State != parley.LoopRunning || loop.TurnID != turn.ID {
		return false, err
	}
	switch {
	case end.Status == parley.TurnCancelled:
		t.endLoop(h, loop.Loop, parley.LoopStopped, parley.LoopReasonCancelled)
	case end.Status == parley.TurnFailed:
		reason := string(parley.ClassInternal)
		if end.Failure != nil {
			reason = string(end.Failure.Class)
		}
		t.endLoop(h, loop.Loop, parley.LoopFailed, reason)
	case end.Met && loop.Until != nil:
		t.endLoop(h, loop.Loop, parley.LoopCompleted, loop.Until.Kind())
		return loop.ArchiveDone, nil
	case loop.Iteration >= loop.Max:
		t.endLoop(h, loop.Loop, parley.LoopExhausted, parley.LoopReasonMax)
		return loop.ArchiveDone, nil
	default:
		return false, t.next(h, loop)
	}
	return false, nil
}

// next adds the next iteration: a message at the end of the queue, and its turn.
func (t *Tx) next(h *Head, loop *NewLoop) error {
	note, err := t.contextNote(h, loop.Author, "")
	if err != nil {
		return err
	}
	loop.Iteration++
	turn := &parley.Turn{
		ID:               parley.NewID(),
		WorkspaceID:      h.WorkspaceID,
		SessionID:        h.ID,
		TriggerMessageID: parley.NewID(),
		Status:           parley.TurnQueued,
		LoopID:           loop.ID,
		Iteration:        loop.Iteration,
		CreatedAt:        t.now,
	}
	loop.TurnID = turn.ID
	h.saveLoop(loop)
	t.progress(h, loop.Loop)
	h.addTurn(turn)
	t.enqueue(h, &parley.Message{
		ID:          turn.TriggerMessageID,
		WorkspaceID: h.WorkspaceID,
		SessionID:   h.ID,
		LogID:       h.LogID,
		TurnID:      turn.ID,
		Role:        parley.RoleUser,
		Author:      loop.Author,
		Content:     loop.Content,
		ContextNote: note,
		Iteration:   loop.Iteration,
		Metadata:    metadata(nil),
		CreatedAt:   t.now,
		UpdatedAt:   t.now,
	}, h.takeBack(), store.Idempotency{})
	return nil
}

// resumeLoop restarts the loop of a turn that another turn resumes.
func (t *Tx) resumeLoop(h *Head, ended, turn *parley.Turn) error {
	if ended.LoopID.IsZero() {
		return nil
	}
	turn.LoopID = ended.LoopID // the loop sets its context, even after its end
	loop, err := t.loopOf(h, ended.LoopID)
	if err != nil || loop.TurnID != ended.ID ||
		loop.State != parley.LoopFailed &&
			(loop.State != parley.LoopStopped || loop.Reason != parley.LoopReasonCancelled) {
		return err
	}
	if other, err := t.rows.RunningLoop(h); err != nil || other != nil {
		return err
	}
	loop.State, loop.Reason, loop.FinishedAt, loop.TurnID = parley.LoopRunning, "", 0, turn.ID
	h.saveLoop(loop)
	t.progress(h, loop.Loop)
	return nil
}

// archiveDone archives a session whose loop asked for it, if nothing else waits.
func (t *Tx) archiveDone(h *Head) {
	if !h.TurnID.IsZero() {
		return
	}
	h.ArchivedAt = t.now
	h.Changes.Setting = &Setting{TagsBefore: h.Tags}
	t.updatedFeed(h)
}

// progress reports a loop's progress.
func (t *Tx) progress(h *Head, loop *parley.Loop) {
	t.event(h, loop.TurnID, loopProgress(loop))
}
