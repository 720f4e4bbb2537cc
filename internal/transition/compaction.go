package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// MaxCompactionClaims bounds the compactions that one look considers.
const MaxCompactionClaims = 128

// RequestCompaction implements the transition of store.Compactions.
func (t *Tx) RequestCompaction(
	scope store.Scope,
	sessionID parley.ID,
	wanted store.NewCompaction,
) (parley.Compaction, error) {
	reason := wanted.Reason
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return parley.Compaction{}, err
	}
	if reason == parley.CompactAsked && h.ArchivedAt != 0 {
		return parley.Compaction{}, parley.Errorf(
			parley.CodeArchived,
			"this session is archived; reopen it with PATCH {\"archived\": false}, then compact it",
		)
	}
	last, err := t.rows.Compaction(h)
	if err != nil {
		return parley.Compaction{}, err
	}
	c := &parley.Compaction{
		ID:           wanted.ID,
		WorkspaceID:  h.WorkspaceID,
		SessionID:    h.ID,
		State:        parley.CompactionPending,
		Reason:       reason,
		Through:      wanted.Through,
		Instructions: wanted.Instructions,
		From:         wanted.From,
		Awaited:      wanted.Awaited,
		CreatedAt:    t.now,
		UpdatedAt:    t.now,
	}
	if last != nil {
		if !last.State.Finished() {
			if reason == parley.CompactAsked {
				return parley.Compaction{}, parley.Conflict(
					last.State,
					"this session already has a compaction, which is %s",
					last.State,
				)
			}
			if wanted.Awaited && !last.Awaited {
				last.Awaited = true
				h.saveCompaction(last)
				h.hint.Compaction = true
			}
			return *last, nil
		}
		if rests, err := t.compactionRests(h, last, reason); err != nil || rests {
			return *last, err
		}
		c.Epoch = last.Epoch
	}
	h.saveCompaction(c)
	h.hint.Compaction = true
	return *c, nil
}

// compactionRests reports whether the outcome of the last compaction delays another one; last says until when.
// CodeConflict while its summary is queued.
func (t *Tx) compactionRests(h *Head, last *parley.Compaction, reason parley.CompactionReason) (bool, error) {
	if last.State == parley.CompactionFailed {
		return reason.ByItself() && h.LastSequence < last.RestsUntil, nil
	}
	summary, err := t.rows.Message(h.WorkspaceID, last.MessageID)
	if err != nil || summary == nil {
		return false, err
	}
	if summary.Status == parley.MessageQueued {
		return false, parley.Conflict(
			summary.Status,
			"the last compaction's summary waits for the running turn to end; compact again when it is in the record",
		)
	}
	if reason.ByItself() && summary.Marks.SetAside && h.LastSequence < summary.Sequence+parley.CompactionRest {
		last.RestsUntil = summary.Sequence + parley.CompactionRest
		return true, nil
	}
	return false, nil
}

// saveCompaction has the compaction written in its final state.
func (h *Head) saveCompaction(c *parley.Compaction) {
	h.Changes.Compaction, h.Changes.Head = c, true
}

// holdsCompaction locks the session of a claimed compaction, or is CodeFenced.
func (t *Tx) holdsCompaction(fence store.CompactionFence) (*Head, *parley.Compaction, error) {
	fenced := func() error {
		return parley.Errorf(parley.CodeFenced, "the claim of this compaction has passed to someone else")
	}
	h, err := t.load(fence.SessionID)
	if err != nil {
		return nil, nil, err
	}
	if h == nil || h.DeletedAt != 0 || h.WorkspaceID != fence.WorkspaceID {
		return nil, nil, fenced()
	}
	c, err := t.rows.Compaction(h)
	if err != nil {
		return nil, nil, err
	}
	if c == nil || c.ID != fence.CompactionID || c.Epoch != fence.Epoch || c.State != parley.CompactionRunning {
		return nil, nil, fenced()
	}
	c.UpdatedAt = t.now
	return h, c, nil
}

// ClaimCompaction makes a process the holder of a session's compaction, as in store.Compactions; nil if nobody may take
// it.
func (t *Tx) ClaimCompaction(
	processID, sessionID parley.ID,
	runs func(parley.ID) bool,
) (*store.CompactionClaim, error) {
	allowed, err := t.mayClaim(processID)
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, parley.Errorf(parley.CodeFenced, "this process has no lease")
	}
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 {
		return nil, err
	}
	c, err := t.rows.Compaction(h)
	if err != nil || c == nil {
		return nil, err
	}
	switch c.State {
	case parley.CompactionPending:
		if c.NotBefore > t.now {
			return nil, nil
		}
	case parley.CompactionRunning:
		abandoned := c.Holder == processID && !runs(c.ID)
		if c.Holder != processID {
			alive, err := t.rows.Alive(c.Holder)
			if err != nil {
				return nil, err
			}
			abandoned = !alive
		}
		if !abandoned {
			return nil, nil
		}
		if err := t.interruptAttempt(h, c); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	c.UpdatedAt = t.now
	h.saveCompaction(c)
	if c.Attempt >= parley.MaxCompactionAttempts {
		return nil, t.compactionFailed(h, c, interrupted(), 0)
	}
	c.State, c.Holder = parley.CompactionRunning, processID
	c.Epoch++
	c.Attempt++
	version, _, err := t.rows.Agent(h.WorkspaceID, h.AgentID)
	if err != nil {
		return nil, err
	}
	agent, err := t.rows.AgentVersion(h.WorkspaceID, h.AgentID, version)
	if err != nil {
		return nil, err
	}
	if agent == nil {
		return nil, NotFound("agent")
	}
	return &store.CompactionClaim{
		Fence: store.CompactionFence{
			WorkspaceID:  h.WorkspaceID,
			SessionID:    h.ID,
			CompactionID: c.ID,
			Epoch:        c.Epoch,
		},
		Compaction: *c,
		Session:    h.Session,
		Agent:      *agent,
	}, nil
}

func interrupted() *parley.Failure {
	return &parley.Failure{Class: parley.ClassInterrupted, Sentence: parley.ClassInterrupted.Sentence()}
}

// interruptAttempt settles what an attempt of a dead process left open.
func (t *Tx) interruptAttempt(h *Head, c *parley.Compaction) error {
	open, err := t.rows.OpenCall(h, c.CallID)
	if err != nil || open == nil {
		return err
	}
	h.settleWithoutTurn(
		*open,
		store.CallSettled{CallID: open.ID, Outcome: parley.CallInterrupted, Error: interrupted()},
	)
	return nil
}

// settleWithoutTurn ends the record of a call without a turn and adds its usage to the session.
func (h *Head) settleWithoutTurn(open OpenCall, call store.CallSettled) {
	h.spend(open, &call)
	h.Changes.Calls = append(h.Changes.Calls, call)
	h.Statistics.Add(call.Usage)
	h.Statistics.AddCache(call.Usage, call.Saved)
	h.Changes.Head = true
	if call.Cost == nil {
		h.Statistics.Unpriced++
		return
	}
	h.Statistics.Cost += *call.Cost
}

// BeginCompaction implements the transition of store.Compactions.
func (t *Tx) BeginCompaction(fence store.CompactionFence, begin store.CompactionBegin) error {
	h, c, err := t.holdsCompaction(fence)
	if err != nil {
		return err
	}
	if open, err := t.rows.OpenCall(h, c.CallID); err != nil {
		return err
	} else if open != nil {
		return parley.Errorf(parley.CodeConflict, "the call of this attempt is already open")
	}
	step := store.StepBegin{
		Call:        begin.Call,
		System:      begin.System,
		Tools:       begin.Tools,
		Middleware:  begin.Middleware,
		Instruction: begin.Instruction,
		Reservation: begin.Reservation,
	}
	if _, err := t.reserve(h, &step); err != nil {
		return err
	}
	c.CallID, c.CoversFrom, c.CoversThrough, c.AbsorbsID = begin.Call.ID, begin.CoversFrom, begin.CoversThrough,
		begin.AbsorbsID
	t.event(h, parley.ID{}, compactionStarted(c, &begin))
	step.Call.Ordinal = h.LastEvent
	h.Changes.NewCalls = append(h.Changes.NewCalls, NewCall{StepBegin: step})
	h.saveCompaction(c)
	return nil
}

// SettleCompaction implements the transition of store.Compactions.
func (t *Tx) SettleCompaction(fence store.CompactionFence, settle store.CompactionSettle) (parley.Compaction, error) {
	h, c, err := t.holdsCompaction(fence)
	if err != nil {
		return parley.Compaction{}, err
	}
	if settle.Call != nil {
		open, err := t.rows.OpenCall(h, settle.Call.CallID)
		if err != nil {
			return parley.Compaction{}, err
		}
		if open == nil {
			return parley.Compaction{}, parley.Errorf(parley.CodeConflict, "the call of this attempt is not open")
		}
		h.settleWithoutTurn(*open, *settle.Call)
	}
	h.saveCompaction(c)
	if settle.Summary == nil && settle.Failure == nil { // another part follows
		return *c, nil
	}
	if settle.Summary == nil {
		err := t.compactionFailed(h, c, settle.Failure, parley.Time(settle.Again.Milliseconds()))
		return *c, err
	}
	if settle.Call == nil || c.CoversThrough == 0 {
		return parley.Compaction{}, parley.Errorf(parley.CodeConflict, "a summary needs a call that has begun")
	}
	if err := t.enterSummary(h, c, settle); err != nil {
		return parley.Compaction{}, err
	}
	c.State, c.Holder, c.Error, c.FinishedAt = parley.CompactionCompleted, parley.ID{}, nil, t.now
	c.MessageID = settle.Summary.MessageID
	t.event(h, parley.ID{}, compactionCompleted(c, !h.TurnID.IsZero()))
	return *c, nil
}

// enterSummary enters a summary into the record, or puts it at the front of the queue until the turn ends.
func (t *Tx) enterSummary(h *Head, c *parley.Compaction, settle store.CompactionSettle) error {
	origin, err := json.Marshal(
		parley.SummaryOrigin{AbsorbsID: c.AbsorbsID, CallID: c.CallID, CompactionID: c.ID, CoversFrom: c.CoversFrom},
	)
	if err != nil {
		return err
	}
	m, err := t.summaryOf(h, settle.Summary, c.CoversThrough, origin)
	if err != nil {
		return err
	}
	if !settle.Call.Usage.IsZero() {
		m.Usage = &settle.Call.Usage
	}
	if h.TurnID.IsZero() {
		return t.record(h, m, store.Idempotency{})
	}
	t.enqueue(h, m, h.takeFront(), store.Idempotency{})
	return nil
}

// summaryOf returns a summary's message.
func (t *Tx) summaryOf(h *Head, summary *store.NewSummary, covers int64, origin []byte) (*parley.Message, error) {
	metadata, err := parley.CanonicalJSON(origin)
	if err != nil {
		return nil, err
	}
	return &parley.Message{
		ID:            summary.MessageID,
		WorkspaceID:   h.WorkspaceID,
		SessionID:     h.ID,
		LogID:         h.LogID,
		Role:          parley.RoleSummary,
		Status:        parley.MessageCompleted,
		Author:        summary.Author,
		Content:       summary.Content,
		CoversThrough: &covers,
		Metadata:      metadata,
		TokenEstimate: summary.TokenEstimate,
		CreatedAt:     t.now,
		UpdatedAt:     t.now,
	}, nil
}

// ReviseSummary implements the transition of store.Summaries.
func (t *Tx) ReviseSummary(
	scope store.Scope,
	sessionID parley.ID,
	revision store.SummaryRevision,
) (parley.Message, error) {
	h, err := t.lock(scope, sessionID)
	if err != nil {
		return parley.Message{}, err
	}
	of, err := t.rows.Message(h.WorkspaceID, revision.OfID)
	if err != nil {
		return parley.Message{}, err
	}
	parts, err := t.parts(h)
	if err != nil {
		return parley.Message{}, err
	}
	if of == nil || !holds(parts, of) {
		return parley.Message{}, NotFound("message")
	}
	c, err := t.rows.Compaction(h)
	if err != nil {
		return parley.Message{}, err
	}
	switch {
	case h.ArchivedAt != 0:
		err = parley.Errorf(
			parley.CodeArchived,
			"this session is archived; reopen it with PATCH {\"archived\": false}, then revise its summary",
		)
	case of.Role != parley.RoleSummary || of.CoversThrough == nil:
		err = parley.Conflict(of.Role, "only a summary can be revised; this message is of role %s", of.Role)
	case !h.TurnID.IsZero():
		err = parley.Conflict(h.Status, "a turn is unfinished; revise the summary when it has ended, or cancel it")
	case c != nil && !c.State.Finished():
		err = parley.Conflict(c.State, "another summary is being written; revise that one")
	case c != nil && c.MessageID != revision.Latest:
		err = parley.Conflict(c.State, "another summary has been written meanwhile; revise that one")
	}
	if err != nil {
		return parley.Message{}, err
	}
	from := parley.OriginOf(of.Metadata)
	from.RevisesID = of.ID
	origin, err := json.Marshal(from)
	if err != nil {
		return parley.Message{}, err
	}
	m, err := t.summaryOf(h, &revision.Summary, *of.CoversThrough, origin)
	if err != nil {
		return parley.Message{}, err
	}
	if err := t.record(h, m, store.Idempotency{}); err != nil {
		return parley.Message{}, err
	}
	if c != nil {
		c.MessageID, c.UpdatedAt = m.ID, t.now
		h.saveCompaction(c)
	}
	return *m, nil
}

// compactionFailed records why an attempt gave no summary: another attempt follows after a pause, or the compaction is
// nilIfZero up.
func (t *Tx) compactionFailed(h *Head, c *parley.Compaction, failure *parley.Failure, again parley.Time) error {
	c.Holder, c.Error = parley.ID{}, failure
	more := again > 0 && c.Attempt < parley.MaxCompactionAttempts
	if more {
		c.State, c.NotBefore = parley.CompactionPending, t.now+again
	} else {
		c.State, c.FinishedAt, c.RestsUntil = parley.CompactionFailed, t.now, h.LastSequence+parley.CompactionRest
	}
	failed, err := compactionFailed(c, more)
	if err != nil {
		return err
	}
	t.event(h, parley.ID{}, failed)
	return nil
}

// ReleaseCompaction implements the transition of store.Compactions.
func (t *Tx) ReleaseCompaction(fence store.CompactionFence) error {
	h, c, err := t.holdsCompaction(fence)
	if err != nil {
		return err
	}
	if err := t.interruptAttempt(h, c); err != nil {
		return err
	}
	c.State, c.Holder, c.NotBefore = parley.CompactionPending, parley.ID{}, 0
	c.Attempt--
	h.saveCompaction(c)
	h.hint.Compaction = true
	return nil
}

// EnterSummary implements the transition of store.Compactions.
func (t *Tx) EnterSummary(fence store.Fence) (*parley.Message, error) {
	h, turn, err := t.lockTurn(fence)
	if err != nil {
		return nil, err
	}
	if open, err := t.openOf(h, turn); err != nil {
		return nil, err
	} else if len(open.Rows) > 0 {
		return nil, parley.Errorf(parley.CodeConflict, "a step is open; settle it first")
	}
	if calls, err := t.rows.OpenToolCalls(h); err != nil {
		return nil, err
	} else if len(calls) > 0 {
		return nil, parley.Errorf(parley.CodeConflict, "a tool call has no result yet")
	}
	c, err := t.rows.Compaction(h)
	if err != nil || c == nil || c.State != parley.CompactionCompleted {
		return nil, err
	}
	if _, err := t.queueOf(h, true); err != nil {
		return nil, err
	}
	waiting, err := t.rows.Queued(h, []parley.ID{c.MessageID})
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	if err := t.enterRecord(h, &waiting[0]); err != nil {
		return nil, err
	}
	entered := waiting[0]
	return &entered, nil
}
