package sqlite

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// errorCount counts errors in the store's log: each is a bug of the store.
type errorCount struct {
	slog.Handler
	n *atomic.Int64
}

func (e errorCount) Enabled(context.Context, slog.Level) bool { return true }

func (e errorCount) Handle(_ context.Context, record slog.Record) error {
	if record.Level >= slog.LevelError {
		e.n.Add(1)
	}
	return nil
}

// TestWalk takes random legal and illegal steps. Every refusal is a *parley.Error that wrote nothing, and the
// invariants hold after each step.
func TestWalk(t *testing.T) {
	var faults atomic.Int64
	w := newWorld(t, Options{Log: slog.New(errorCount{n: &faults})})
	rapid.Check(t, func(rt *rapid.T) {
		steps := &walk{world: w, ctx: context.Background(), rt: rt, session: w.session(nil).ID}
		rt.Repeat(map[string]func(*rapid.T){
			"":        func(rt *rapid.T) { steps.check(&faults) },
			"post":    steps.post,
			"alone":   steps.alone,
			"claim":   steps.claim,
			"begin":   steps.begin,
			"block":   steps.block,
			"ask":     steps.ask,
			"flush":   steps.flush,
			"settle":  steps.settle,
			"tool":    steps.tool,
			"park":    steps.park,
			"answer":  steps.answer,
			"finish":  steps.finish,
			"recover": steps.recover,
			"release": steps.release,
			"cancel":  steps.cancel,
			"take":    steps.take,
			"edit":    steps.edit,
			"remove":  steps.remove,
			"send":    steps.send,
			"move":    steps.move,
			"retry":   steps.retry,
			"loop":    steps.loop,
			"stop":    steps.stop,
			"orphan":  steps.orphan,
			"forget":  steps.forget,
		})
	})
}

// walk is the random life of one session, and its workers' view of it.
type walk struct {
	*world
	ctx     context.Context
	rt      *rapid.T
	session parley.ID
	loops   []parley.ID
	fences  []store.Fence // newest claim last
	open    []store.BlockOpen
	call    store.StepBegin
	flushed int
	calls   []string
	posted  []parley.ID
}

// refused accepts only refusals with one of the codes.
func (w *walk) refused(err error, codes ...parley.Code) {
	if err != nil && !slices.Contains(codes, parley.ErrorCode(err)) {
		w.rt.Fatalf("got %q: %v", parley.ErrorCode(err), err)
	}
}

func (w *walk) check(faults *atomic.Int64) {
	if n := faults.Load(); n > 0 {
		w.rt.Fatalf("the store logged %d errors", n)
	}
	var problem error
	if err := w.store.read(w.ctx, func(c *conn) error {
		var h *transition.Head
		if _, err := c.one("SELECT "+headColumns+sessionTables+"WHERE s.id = ?", func(r *row) (err error) {
			h, err = scanHead(r)
			return err
		}, w.session); err != nil {
			return err
		}
		problem = checkSession(c, h)
		return nil
	}); err != nil {
		w.rt.Fatal(err)
	}
	if problem != nil {
		w.rt.Fatal(problem)
	}
}

// fence returns usually the newest claim, sometimes an old one.
func (w *walk) fence() (store.Fence, bool) {
	if len(w.fences) == 0 {
		return store.Fence{}, false
	}
	if rapid.IntRange(0, 9).Draw(w.rt, "old") == 0 {
		return rapid.SampledFrom(w.fences).Draw(w.rt, "fence"), true
	}
	return w.fences[len(w.fences)-1], true
}

func (w *walk) took(claim *store.Claim) {
	if claim != nil {
		w.fences, w.open = append(w.fences, claim.Fence), nil
		if claim.Turn.Attempt > 1 {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			w.refused(err)
		}
	}
}

func (w *walk) post(rt *rapid.T) {
	w.rt = rt
	made := w.said("words")
	made.During = rapid.SampledFrom([]parley.During{"", parley.DuringQueue, parley.DuringSteer, parley.DuringInterrupt,
		parley.DuringReject}).
		Draw(rt, "during")
	by := rapid.SampledFrom([]parley.ID{{}, w.process}).Draw(rt, "by")
	posted, err := w.store.PostMessage(w.ctx, w.scope, w.session, made, by)
	w.refused(err, parley.CodeBusy)
	if err == nil {
		w.posted = append(w.posted, made.ID)
		w.took(posted.Claim)
	}
}

func (w *walk) alone(rt *rapid.T) {
	w.rt = rt
	made := w.said("for the record")
	made.TurnID, made.Internal = parley.ID{}, rapid.Bool().Draw(rt, "internal")
	_, err := w.store.PostMessage(w.ctx, w.scope, w.session, made, parley.ID{})
	w.refused(err)
	w.posted = append(w.posted, made.ID)
}

func (w *walk) claim(rt *rapid.T) {
	w.rt = rt
	claims, err := w.store.Claim(w.ctx, w.process, 3, store.Occupancy{Slots: 10})
	w.refused(err)
	for i := range claims {
		if claims[i].Fence.SessionID == w.session {
			w.took(&claims[i])
		}
	}
}

func (w *walk) begin(rt *rapid.T) {
	w.rt = rt
	fence, ok := w.fence()
	if !ok {
		return
	}
	turn, err := w.store.Turn(w.ctx, w.scope, fence.TurnID)
	w.refused(err)
	begin := stepBegin(turn.Step + 1)
	steers, err := w.store.PendingSteers(w.ctx, fence)
	w.refused(err, parley.CodeFenced)
	for _, m := range steers {
		begin.Steers = append(begin.Steers, store.Steered{MessageID: m.ID, Revision: m.Revision})
	}
	if _, err = w.store.BeginStep(w.ctx, fence, begin); err == nil {
		w.call, w.flushed = begin, 0
		w.open = []store.BlockOpen{{MessageID: begin.Call.MessageID, Step: begin.Call.Step, Role: parley.RoleAssistant}}
	}
	w.refused(err, parley.CodeFenced, parley.CodeConflict)
}

func (w *walk) block(rt *rapid.T) {
	w.rt = rt
	fence, ok := w.fence()
	if !ok || len(w.open) == 0 {
		return
	}
	open := store.BlockOpen{
		MessageID:  parley.NewID(),
		Step:       w.call.Call.Step,
		Role:       parley.RoleToolCall,
		ToolCallID: parley.NewID().String(),
		ToolName:   "current_time",
	}
	_, err := w.store.OpenBlock(w.ctx, fence, open)
	if err == nil {
		w.open = append(w.open, open)
	}
	w.refused(err, parley.CodeFenced, parley.CodeConflict)
}

func (w *walk) flush(rt *rapid.T) {
	w.rt = rt
	fence, ok := w.fence()
	if !ok || len(w.open) == 0 {
		return
	}
	w.flushed++
	_, err := w.store.AppendVersions(w.ctx, []store.FencedVersion{{Fence: fence, Version: parley.Version{
		MessageID: w.open[0].MessageID,
		N:         w.flushed,
		Kind:      parley.KindText,
		Offset:    (w.flushed - 1) * 4,
		End:       w.flushed * 4,
		Text:      "word",
	}}})
	w.refused(err)
}

func (w *walk) settle(rt *rapid.T) {
	w.rt = rt
	fence, ok := w.fence()
	if !ok || len(w.open) == 0 {
		return
	}
	settle := stepSettle(w.call, "the answer", nil)
	status := rapid.SampledFrom([]parley.MessageStatus{parley.MessageCompleted, parley.MessageCompleted,
		parley.MessageFailed, parley.MessageCancelled}).
		Draw(rt, "status")
	settle.Blocks[0].Status = status
	var calls []string
	for _, open := range w.open[1:] {
		content, err := parley.EncodeContent(
			parley.ToolCallContent{ID: open.ToolCallID, Name: open.ToolName, Arguments: []byte("{}")},
		)
		w.refused(err)
		settle.Blocks = append(
			settle.Blocks,
			store.BlockSettled{MessageID: open.MessageID, Status: status, Content: content},
		)
		if status == parley.MessageCompleted {
			calls = append(calls, open.ToolCallID)
		}
	}
	settle.ToolsStarted = calls
	if rapid.Bool().Draw(rt, "end") {
		settle.End = &store.TurnEnd{
			Status: rapid.SampledFrom([]parley.TurnStatus{parley.TurnCompleted, parley.TurnFailed,
				parley.TurnCancelled}).
				Draw(rt, "as"),
		}
	}
	_, err := w.store.SettleStep(w.ctx, fence, settle)
	if err == nil {
		w.open, w.calls = nil, append(w.calls, calls...)
	}
	w.refused(err, parley.CodeFenced, parley.CodeConflict)
}

// ask runs a whole step that asks for a tool, so that walks reach parked turns.
func (w *walk) ask(rt *rapid.T) {
	w.begin(rt)
	w.block(rt)
	if fence, ok := w.fence(); ok && len(w.open) > 1 {
		settle := stepSettle(w.call, "let me see", nil)
		var calls []string
		for _, open := range w.open[1:] {
			content, err := parley.EncodeContent(
				parley.ToolCallContent{ID: open.ToolCallID, Name: open.ToolName, Arguments: []byte("{}")},
			)
			w.refused(err)
			settle.Blocks = append(
				settle.Blocks,
				store.BlockSettled{MessageID: open.MessageID, Status: parley.MessageCompleted, Content: content},
			)
			calls = append(calls, open.ToolCallID)
		}
		_, err := w.store.SettleStep(w.ctx, fence, settle)
		if err == nil {
			w.open, w.calls = nil, append(w.calls, calls...)
		}
		w.refused(err, parley.CodeFenced, parley.CodeConflict)
	}
	w.park(rt)
}

func (w *walk) result() []byte {
	content, err := parley.EncodeContent(parley.ToolResultContent{Result: []byte("1"), Success: true})
	w.refused(err)
	return content
}

func (w *walk) tool(rt *rapid.T) {
	w.rt = rt
	fence, ok := w.fence()
	if !ok || len(w.calls) == 0 || len(w.open) > 0 { // a worker runs tools between steps
		return
	}
	_, err := w.store.SettleTool(w.ctx, fence, store.ToolSettle{MessageID: parley.NewID(), Step: w.call.Call.Step,
		ToolCallID: rapid.SampledFrom(w.calls).Draw(rt, "call"), Content: w.result()})
	w.refused(err, parley.CodeFenced, parley.CodeConflict)
}

func (w *walk) answer(rt *rapid.T) {
	w.rt = rt
	if len(w.calls) == 0 {
		return
	}
	posted, err := w.store.PostMessage(
		w.ctx,
		w.scope,
		w.session,
		store.NewMessage{
			ID:     parley.NewID(),
			Role:   parley.RoleToolResult,
			Author: w.owner,
			ToolCallID: rapid.SampledFrom(w.calls).
				Draw(rt, "call"),
			Content: w.result(),
		},
		rapid.SampledFrom([]parley.ID{{}, w.process}).Draw(rt, "by"),
	)
	w.refused(err, parley.CodeConflict)
	if err == nil {
		w.took(posted.Claim)
	}
}

func (w *walk) park(rt *rapid.T) {
	w.rt = rt
	if fence, ok := w.fence(); ok {
		_, err := w.store.ParkTurn(w.ctx, fence, parley.WaitToolResult)
		w.refused(err, parley.CodeFenced, parley.CodeConflict, parley.CodeMore)
	}
}

func (w *walk) finish(rt *rapid.T) {
	w.rt = rt
	if fence, ok := w.fence(); ok {
		_, err := w.store.FinishTurn(
			w.ctx,
			fence,
			store.TurnEnd{
				Status: rapid.SampledFrom([]parley.TurnStatus{parley.TurnCompleted, parley.TurnFailed}).Draw(rt, "as"),
			},
		)
		w.refused(err, parley.CodeFenced, parley.CodeConflict)
	}
}

func (w *walk) recover(rt *rapid.T) {
	w.rt = rt
	if fence, ok := w.fence(); ok {
		state, err := w.store.RecoverTurn(w.ctx, fence)
		w.refused(err, parley.CodeFenced)
		if err == nil {
			w.open = nil
			for _, m := range state.Messages {
				if !m.Status.Settled() {
					rt.Fatalf("recovered message %d is %s", m.Sequence, m.Status)
				}
			}
		}
	}
}

func (w *walk) release(rt *rapid.T) {
	w.rt = rt
	if fence, ok := w.fence(); ok {
		w.refused(w.store.ReleaseTurn(w.ctx, fence), parley.CodeFenced)
	}
}

func (w *walk) cancel(rt *rapid.T) {
	w.rt = rt
	_, err := w.store.RequestCancel(w.ctx, w.scope, w.session, parley.ID{}, rapid.Bool().Draw(rt, "queued"))
	w.refused(err, parley.CodeNothingToCancel, parley.CodeConflict)
}

func (w *walk) take(rt *rapid.T) {
	w.rt = rt
	if fence, ok := w.fence(); ok {
		_, err := w.store.TakeCancel(w.ctx, w.scope, w.session, fence.TurnID)
		w.refused(err, parley.CodeConflict)
	}
}

func (w *walk) edit(rt *rapid.T) {
	w.rt = rt
	if len(w.posted) > 0 {
		_, err := w.store.EditQueued(
			w.ctx,
			w.scope,
			w.owner.ID,
			rapid.SampledFrom(w.posted).Draw(rt, "message"),
			w.said("edited").Content,
		)
		w.refused(err, parley.CodeConflict)
	}
}

func (w *walk) remove(rt *rapid.T) {
	w.rt = rt
	if len(w.posted) > 0 {
		_, err := w.store.RemoveQueued(w.ctx, w.scope, rapid.SampledFrom(w.posted).Draw(rt, "message"))
		w.refused(err, parley.CodeConflict)
	}
}

func (w *walk) send(rt *rapid.T) {
	w.rt = rt
	if len(w.posted) > 0 {
		how := rapid.SampledFrom([]parley.During{parley.DuringSteer, parley.DuringInterrupt}).Draw(rt, "how")
		by := rapid.SampledFrom([]parley.ID{{}, w.process}).Draw(rt, "by")
		sent, err := w.store.SendQueued(w.ctx, w.scope, rapid.SampledFrom(w.posted).Draw(rt, "message"), how, by)
		w.refused(err, parley.CodeConflict)
		if err == nil {
			w.took(sent.Claim)
		}
	}
}

func (w *walk) move(rt *rapid.T) {
	w.rt = rt
	if len(w.posted) > 0 {
		pick := rapid.SampledFrom(append([]parley.ID{{}}, w.posted...))
		_, err := w.store.MoveQueued(
			w.ctx,
			w.scope,
			rapid.SampledFrom(w.posted).Draw(rt, "message"),
			pick.Draw(rt, "before"),
		)
		w.refused(err, parley.CodeConflict, parley.CodeNotFound)
	}
}

func (w *walk) loop(rt *rapid.T) {
	w.rt = rt
	first := w.said("again")
	loop := store.NewLoop{
		Loop: parley.Loop{
			ID:     parley.NewID(),
			Prompt: "again",
			Max:    rapid.IntRange(1, 3).Draw(rt, "max"),
			Author: first.Author,
		},
		First:   first,
		Content: first.Content,
	}
	started, err := w.store.StartLoop(
		w.ctx,
		w.scope,
		w.session,
		loop,
		rapid.SampledFrom([]parley.ID{{}, w.process}).Draw(rt, "by"),
	)
	w.refused(err, parley.CodeConflict)
	if err == nil {
		w.loops = append(w.loops, loop.Loop.ID)
		w.took(started.Claim)
	}
}

func (w *walk) stop(rt *rapid.T) {
	w.rt = rt
	if len(w.loops) > 0 {
		_, err := w.store.StopLoop(w.ctx, w.scope, w.session, rapid.SampledFrom(w.loops).Draw(rt, "loop"))
		w.refused(err, parley.CodeConflict)
	}
}

func (w *walk) retry(rt *rapid.T) {
	w.rt = rt
	if len(w.fences) == 0 {
		return
	}
	again := store.TurnAgain{TurnID: parley.NewID()}
	resume := w.store.RetryTurn
	if rapid.Bool().Draw(rt, "continue") {
		resume = w.store.ContinueTurn
	}
	by := rapid.SampledFrom([]parley.ID{{}, w.process}).Draw(rt, "by")
	resumed, err := resume(w.ctx, w.scope, w.session, rapid.SampledFrom(w.fences).Draw(rt, "turn").TurnID, again, by)
	w.refused(err, parley.CodeConflict)
	if err == nil {
		w.took(resumed.Claim)
	}
}

// orphan lets the process's lease expire and sweeps.
func (w *walk) orphan(rt *rapid.T) {
	w.rt = rt
	w.refused(w.store.ReleaseProcess(w.ctx, w.process))
	_, err := w.store.Sweep(w.ctx)
	w.refused(err)
	w.register()
}

// forget makes the next transition read from rows instead of the cache.
func (w *walk) forget(rt *rapid.T) {
	if err := w.store.write(w.ctx, func(tx *txn) error {
		tx.drop(w.session)
		return nil
	}); err != nil {
		rt.Fatal(err)
	}
}
