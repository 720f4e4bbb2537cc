package editor

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
	"example.org/parley/internal/acpwire"
)

// turn is a turn that the editor is told of. One goroutine follows it.
type turn struct {
	x    *session
	v    *view
	at   parley.ID       // the session of Parley's
	ctx  context.Context //nolint:containedctx // of what is done for the turn here
	stop func()          // ends that; the turn goes on

	id        parley.ID     // set before posted is closed
	posted    chan struct{} // closed when it has an id, or never will
	cancelled chan struct{} // closed when the editor cancels it; the session's mutex guards its closing

	after int64                // the last event that was seen
	asks  map[parley.ID]func() // open requests for permission: withdraws each
	due   chan struct{}        // holds one if calls of the editor's tools may wait

	late bool            // it ran when the editor opened the session; of the goroutine that runs the tools
	ran  map[string]bool // calls that it ran
}

// follow notes that a turn is followed, from an event on. id is zero while its message is being posted.
func (x *session) follow(v *view, id parley.ID, after int64) *turn {
	ctx, stop := context.WithCancel(x.server.listens)
	t := &turn{
		x:      x,
		v:      v,
		ctx:    ctx,
		stop:   stop,
		id:     id,
		after:  after,
		posted: make(chan struct{}),
		cancelled: make(
			chan struct{},
		),
		asks: map[parley.ID]func(){},
		due:  make(chan struct{}, 1),
		ran:  map[string]bool{},
	}
	if !id.IsZero() {
		close(t.posted)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	t.at = x.at
	x.turns[t] = true
	return t
}

// cancel cancels the turn at the server, once.
func (t *turn) cancel() {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	select {
	case <-t.cancelled:
		return
	default:
	}
	close(t.cancelled)
	s := t.x.server
	s.work.Go(func() { // ends with its request, which is bounded
		<-t.posted
		if t.id.IsZero() {
			return
		}
		err := s.patiently(s.life, func() error {
			_, err := s.api.CancelTurn(s.life, t.at, client.CancelInput{TurnID: t.id})
			return err
		})
		if err != nil && parley.ErrorCode(err) != parley.CodeConflict { // it has not ended meanwhile
			t.stop()
		}
	})
}

// isCancelled reports whether the editor has cancelled the turn.
func (t *turn) isCancelled() bool {
	select {
	case <-t.cancelled:
		return true
	default:
		return false
	}
}

// prompt posts a prompt and follows its turn.
func (s *server) prompt(ctx context.Context, params json.RawMessage) (any, error) {
	var given struct {
		ID     string          `json:"sessionId"`
		Prompt []acpwire.Block `json:"prompt"`
	}
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	x, err := s.opened(given.ID)
	if err != nil {
		return nil, err
	}
	t := x.follow(newView(x), parley.ID{}, 0)
	withdrawn := context.AfterFunc(ctx, t.cancel) // the editor withdraws the request
	defer withdrawn()
	over, err := t.begin(t.ctx, given.Prompt)
	close(t.posted)
	reason := acpwire.StopTurn
	if err != nil || over {
		t.forget()
	} else {
		reason, err = t.run(t.ctx)
	}
	switch {
	case t.isCancelled():
		return stopped(acpwire.StopCancelled), nil
	case s.listens.Err() != nil:
		return nil, errGone
	case err != nil:
		return nil, err
	}
	return stopped(reason), nil
}

// stopped answers a prompt.
func stopped(reason string) any {
	return struct {
		Reason string `json:"stopReason"`
	}{reason}
}

// begin posts the message of a prompt, or answers the question that the session's turn waits for. over reports that the
// prompt has ended: the turn waits for the answer to another question.
func (t *turn) begin(ctx context.Context, prompt []acpwire.Block) (over bool, err error) {
	s := t.x.server
	parts, err := s.partsOf(ctx, prompt)
	if err != nil {
		return false, err
	}
	var of parley.Session
	if err := s.patiently(ctx, func() (err error) {
		if err = t.x.claim(ctx); err == nil {
			of, err = s.api.Session(ctx, t.at)
		}
		return err
	}); err != nil {
		return false, err
	}
	if of.Status == parley.SessionWaiting && of.WaitReason == parley.WaitInput {
		t.id, t.after = of.TurnID, of.LastEvent
		if asked, err := t.questions(ctx); err != nil {
			return false, err
		} else if len(asked) > 0 {
			t.post(ctx, asked[0].call, textOf(parts), nil)
			if len(asked) > 1 {
				t.v.says(asked[1].text())
			}
			return len(asked) > 1, nil
		}
		t.id = parley.ID{}
	}
	content, err := parley.EncodeContent(parley.UserContent{Parts: parts})
	if err != nil {
		return false, err
	}
	input := client.MessageInput{Role: parley.RoleUser, Content: content}
	if mine, err := s.mine(ctx, &of); err != nil {
		return false, err
	} else if mine {
		input.Settings = t.x.settings(&of)
	}
	key := client.IdempotencyKey(parley.NewID().String())
	return false, s.patiently(ctx, func() error {
		posted, err := s.api.Post(ctx, t.at, input, key)
		if err != nil {
			return err
		}
		if t.id, t.after = posted.Message.TurnID, posted.EventSequence; t.id.IsZero() {
			return parley.Errorf(
				parley.CodeConflict,
				"the message steers the turn that runs, and has no answer of its own",
			)
		}
		return nil
	})
}

// forget ends what the turn's follower began.
func (t *turn) forget() {
	t.stop()
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	delete(t.x.turns, t)
}

// run tells the editor of the turn until it ends, and returns why. The stream is taken up again when the server was
// away.
func (t *turn) run(ctx context.Context) (reason string, err error) {
	defer t.forget()
	t.x.server.work.Go(func() { // ends with ctx
		for {
			select {
			case <-t.due:
				t.answerTools(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	ended, err := t.takeUp(ctx)
	for err == nil && ended == nil {
		err = t.x.server.patiently(ctx, func() (err error) {
			ended, err = t.watch(ctx)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	return ended.reason, ended.err
}

// watch follows the turn's stream until the turn ends, or the stream breaks. What breaks after it has told something is
// not an error: it is taken up again, with all the time that this may take.
func (t *turn) watch(ctx context.Context) (*end, error) {
	heard := false
	for frame, err := range t.x.server.api.WatchSession(ctx, t.at, client.WatchSessionQuery{After: t.after}) {
		switch {
		case err != nil && heard && parley.ErrorCode(err) == parley.CodeUnavailable:
			return nil, nil
		case err != nil:
			return nil, err
		}
		heard, t.after = true, max(t.after, frame.ID)
		if ended := t.happened(ctx, &frame); ended != nil {
			return ended, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, parley.Errorf(parley.CodeUnavailable, "the stream ended before the turn, which goes on")
}

// end is how a prompt ends.
type end struct {
	reason string
	err    error
}

// takeUp asks for what a turn waits for already: no event says it again.
func (t *turn) takeUp(ctx context.Context) (*end, error) {
	if !t.late {
		return nil, nil
	}
	of, err := t.x.server.api.Session(ctx, t.at)
	if err != nil || of.TurnID != t.id || of.Status != parley.SessionWaiting {
		return nil, err
	}
	page, err := t.x.server.api.SessionApprovals(ctx, t.at, client.SessionApprovalsQuery{
		Status: []parley.ApprovalState{parley.ApprovalPending},
	})
	if err != nil {
		return nil, err
	}
	for i := range page.Data {
		t.askLeave(ctx, page.Data[i].ID)
	}
	return t.waits(ctx, &event.SessionWaiting{TurnID: t.id, Reason: of.WaitReason}), nil
}

// happened tells the editor of an event, and returns how the turn ends with it; nil if it goes on.
func (t *turn) happened(ctx context.Context, frame *client.Frame) *end {
	switch told := frame.Event.(type) {
	case *event.StepStarted:
		if told.TurnID == t.id {
			t.v.grows(told.MessageID)
		}
	case *event.MessageCreated:
		if told.TurnID != nil && *told.TurnID == t.id {
			t.v.grows(told.MessageID)
		}
	case *event.StepGenerating:
		t.v.delta(told)
	case *event.StepGenerated:
		if told.TurnID == t.id {
			t.v.settled(ctx, &told.Settled)
		}
	case *event.StepError:
		if told.TurnID == t.id {
			t.v.settled(ctx, &told.Settled)
		}
	case *event.ToolStarted:
		if told.TurnID == t.id {
			t.v.status(told.ToolCallID, acpwire.StatusRuns)
		}
	case *event.ToolProgress:
		if told.TurnID == t.id {
			t.v.progress(told)
		}
	case *event.ToolCompleted:
		if told.TurnID == t.id {
			t.v.completed(ctx, told)
		}
	case *event.ApprovalCreated:
		if told.TurnID == t.id || told.SessionID != t.at {
			t.askLeave(ctx, told.ApprovalID)
		}
	case *event.ApprovalResolved:
		t.withdraw(told.ApprovalID)
	case *event.SessionWaiting:
		if told.TurnID == t.id {
			return t.waits(ctx, told)
		}
	case *event.SessionCompleted:
		if told.TurnID == t.id {
			return t.ended(ctx, &told.Turn)
		}
	case *event.SessionFailed:
		if told.TurnID == t.id {
			return t.ended(ctx, &told.Turn)
		}
	case *event.SessionCancelled:
		if told.TurnID == t.id {
			return t.ended(ctx, &told.Turn)
		}
	}
	return nil
}

// waits does what a waiting turn waits for, if the editor can.
func (t *turn) waits(ctx context.Context, told *event.SessionWaiting) *end {
	switch told.Reason {
	case parley.WaitToolResult:
		select {
		case t.due <- struct{}{}:
		default:
		}
	case parley.WaitInput:
		return t.askQuestions(ctx)
	case parley.WaitBudget:
		said := "The turn waits: a limit was reached. Raise it in Parley, and the turn goes on."
		if told.Refused != nil {
			said = told.Sentence
		}
		return &end{err: &acpwire.Fault{
			Code: acpwire.CodeInternal, Message: said, Data: map[string]string{
				"session_id": t.at.String(), "turn_id": t.id.String(), "waits_for": string(told.Reason),
			},
		}}
	}
	return nil
}

// ended returns how the prompt of a turn ends.
func (t *turn) ended(ctx context.Context, turn *parley.Turn) *end {
	t.stop() // nothing is asked any more
	t.named(context.WithoutCancel(ctx))
	switch turn.Status {
	case parley.TurnCancelled:
		return &end{reason: acpwire.StopCancelled}
	case parley.TurnFailed:
		if turn.Error != nil && turn.Error.Class == parley.ClassContentFilter {
			t.v.says(turn.Error.Sentence) // as with a refusal, what was said is not shown to the model again
			return &end{reason: acpwire.StopRefusal}
		}
		fault := &acpwire.Fault{Code: acpwire.CodeInternal, Message: "The turn failed."}
		data := map[string]string{"session_id": t.at.String(), "turn_id": t.id.String()}
		if turn.Error != nil {
			fault.Message, data["class"] = turn.Error.Sentence, string(turn.Error.Class)
		}
		fault.Data = data
		return &end{err: fault}
	}
	return &end{reason: t.reason(context.WithoutCancel(ctx))}
}

// reason says why a completed turn stopped, by its last answer.
func (t *turn) reason(ctx context.Context) string {
	var rows client.Page[parley.Message]
	err := t.x.server.patiently(ctx, func() (err error) {
		rows, err = t.x.server.api.Messages(ctx, t.at, client.MessagesQuery{
			Limit: 1, Order: "desc", Turn: []parley.ID{t.id}, Role: []parley.Role{parley.RoleAssistant},
		})
		return err
	})
	if err != nil || len(rows.Data) == 0 {
		return acpwire.StopTurn
	}
	var about struct {
		Finish parley.FinishReason `json:"finish"`
	}
	var content parley.AssistantContent
	_ = json.Unmarshal(rows.Data[0].Metadata, &about)  // always an object
	_ = json.Unmarshal(rows.Data[0].Content, &content) // as above
	switch {
	case content.Refusal != "" || about.Finish == parley.FinishRefusal:
		return acpwire.StopRefusal
	case about.Finish == parley.FinishLength:
		return acpwire.StopTokens
	}
	return acpwire.StopTurn
}

// named tells the editor the session's title when it has changed: the first message gives it one.
func (t *turn) named(ctx context.Context) {
	of, err := t.x.server.api.Session(ctx, t.at)
	if err != nil {
		return // it is told after the next turn
	}
	t.x.mu.Lock()
	changed := of.Title != t.x.title
	t.x.title = of.Title
	t.x.mu.Unlock()
	if changed {
		t.x.update(struct {
			Kind      string      `json:"sessionUpdate"`
			Title     string      `json:"title"`
			UpdatedAt parley.Time `json:"updatedAt"`
		}{acpwire.UpdateSession, of.Title, of.UpdatedAt})
	}
}
