package transition

import (
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// childPatience is how long the holder of a tool session's turn may take to stop it.
const childPatience = parley.Time(2000) // milliseconds

// Results of calls whose tool session brings no answer.
const (
	childDeleted   = "The tool session was deleted before it answered."
	childCancelled = "The tool session was cancelled before it answered."
	childCut       = "\n\n[The answer was cut off here.]"
)

// childOf returns the tool session of a call; zero for a call of another tool.
func childOf(call *parley.Message) parley.ID {
	if len(call.Metadata) <= len("{}") {
		return parley.ID{}
	}
	var linked parley.ChildLink
	if json.Unmarshal(call.Metadata, &linked) != nil || linked.SessionID != parley.ChildID(call.ID) {
		return parley.ID{}
	}
	return linked.SessionID
}

// OpenChild implements the transition of store.Children. It locks the child; the parent's claim and open call must hold
// until the commit.
func (t *Tx) OpenChild(fence store.Fence, wanted store.NewSession) (parley.Session, error) {
	parent, err := t.Holds(fence)
	if err != nil {
		return parley.Session{}, err
	}
	session := &wanted.Session
	if session.ID != parley.ChildID(session.ParentMessageID) || wanted.First == nil {
		return parley.Session{}, parley.Errorf(
			parley.CodeConflict,
			"a tool session needs the id that its call gives it, and a first message",
		)
	}
	if opened, err := t.load(session.ID); err != nil {
		return parley.Session{}, err
	} else if opened != nil {
		return opened.Session, nil
	}
	m, err := t.rows.Message(parent.WorkspaceID, session.ParentMessageID)
	if err != nil {
		return parley.Session{}, err
	}
	if m == nil || m.SessionID != parent.ID || m.Role != parley.RoleToolCall || m.TurnID != fence.TurnID {
		return parley.Session{}, parley.Errorf(parley.CodeConflict, "the turn has no such tool call")
	}
	if _, err := t.unanswered(parent, m.ToolCallID); err != nil {
		return parley.Session{}, err
	}
	if err := t.checkAgent(parent.WorkspaceID, session.AgentID); err != nil {
		return parley.Session{}, err
	}
	if err := descend(session, parent); err != nil {
		return parley.Session{}, err
	}
	session.Visibility = parent.Visibility // its current one, whatever the worker read
	if wanted.Quota.Principal, err = t.rows.SessionsAllowed(parent.WorkspaceID, session.OwnerID); err != nil {
		return parley.Session{}, err
	}
	if err := t.checkQuota(session, wanted.Quota); err != nil {
		return parley.Session{}, err
	}
	h := t.createSession(wanted)
	t.openTransform(h, &wanted)
	if _, err := t.post(h, *wanted.First, parley.ID{}); err != nil {
		return parley.Session{}, err
	}
	t.updatedFeed(h)
	return h.Session, nil
}

// descend sets the parent, root and depth of a tool session.
func descend(session *parley.Session, parent *Head) error {
	if parent.Depth >= parley.MaxToolDepth {
		return parley.Errorf(
			parley.CodeConflict,
			"tool sessions are already nested %d deep here, the maximum; do the work without another one",
			parley.MaxToolDepth,
		)
	}
	session.ParentSessionID, session.RootID, session.Depth = parent.ID, parent.RootID, parent.Depth+1
	return nil
}

// leaveChildHome leaves an errand when a session that answers a call has ended.
func (h *Head) leaveChildHome() {
	if h.AnswersCall() {
		h.Changes.Outbox = append(
			h.Changes.Outbox,
			Errand{
				WorkspaceID: h.WorkspaceID,
				Work:        ChildHome{CallID: h.ParentMessageID, SessionID: h.ParentSessionID},
			},
		)
	}
}

// cancelChild leaves an errand that stops the tool session of a call, if it has one, and returns it.
func (h *Head) cancelChild(call *parley.Message) parley.ID {
	child := childOf(call)
	if !child.IsZero() {
		h.Changes.Outbox = append(
			h.Changes.Outbox,
			Errand{WorkspaceID: h.WorkspaceID, Work: CancelChild{SessionID: child}},
		)
	}
	return child
}

// cancelChildren is cancelChild for every call of a turn that ends without results.
func (t *Tx) cancelChildren(h *Head) (children []parley.ID, err error) {
	open, err := t.rows.OpenToolCalls(h)
	for i := range open {
		if child := h.cancelChild(&open[i]); !child.IsZero() {
			children = append(children, child)
		}
	}
	return children, err
}

// RecordChildResult records the result of a call whose tool session has ended, under the parent's lock and in any state
// of its unfinished turn; a turn that waits for nothing else becomes ready. It drops a result that nobody needs,
// because the call has one or its turn has ended.
func (t *Tx) RecordChildResult(workspaceID parley.ID, what ChildHome) error {
	callMessageID, sessionID := what.CallID, what.SessionID
	if sessionID.IsZero() { // the errand is older than its payload
		var err error
		if sessionID, err = t.rows.SessionOf(workspaceID, callMessageID); err != nil || sessionID.IsZero() {
			return err
		}
	}
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() {
		return err
	}
	asked, err := t.rows.Message(workspaceID, callMessageID)
	if err != nil || asked == nil || asked.Role != parley.RoleToolCall || asked.TurnID != h.TurnID {
		return err
	}
	call, err := t.unanswered(h, asked.ToolCallID)
	if parley.ErrorCode(err) == parley.CodeConflict || err == nil && call.ID != asked.ID {
		return nil
	} else if err != nil {
		return err
	}
	m := t.resultOf(h, call, parley.NewID(), call.Author)
	m.Metadata = parley.LinkChild(callMessageID)
	if m.Content, err = t.childResult(parley.ChildID(callMessageID), m); err != nil || m.Content == nil {
		return err
	}
	if first, err := t.deliver(h, Delivery{ChildHome{}.Kind(), callMessageID}); err != nil || !first {
		return err
	}
	if err := t.recordResult(h, m); err != nil {
		return err
	}
	turn, err := t.currentTurn(h)
	if err == nil { // whoever runs it reads the record
		_, err = t.resultArrived(h, turn, call, parley.ID{})
	}
	return err
}

// childResult returns the result of a tool session and sets its author; nil while its first turn is unfinished.
func (t *Tx) childResult(childID parley.ID, m *parley.Message) (json.RawMessage, error) {
	child, err := t.load(childID)
	if err != nil {
		return nil, err
	}
	if child == nil || child.DeletedAt != 0 {
		return failedResult(childDeleted, nil)
	}
	first, err := t.rows.FirstMessage(child)
	if err != nil || first == nil {
		return nil, err
	}
	turn, err := t.readTurn(child, first.TurnID)
	if err != nil || !turn.Status.Finished() {
		return nil, err
	}
	took := new(int64(turn.FinishedAt - turn.CreatedAt))
	switch turn.Status {
	case parley.TurnCancelled:
		return failedResult(childCancelled, took)
	case parley.TurnFailed:
		return failedResult(failureText(turn.Error), took)
	}
	answers, err := t.rows.Answers(child, turn.ID, turn.Step)
	if err != nil {
		return nil, err
	}
	if !turn.TransformID.IsZero() {
		return t.transformResult(turn, answers, took, m)
	}
	return answerResult(answers, took, m)
}

// failedResult returns the content of a result without an answer.
func failedResult(text string, tookMS *int64) (json.RawMessage, error) {
	return parley.EncodeContent(
		parley.ToolResultContent{Result: json.RawMessage("null"), Error: &text, ExecutionTimeMS: tookMS},
	)
}

func failureText(failure *parley.Failure) string {
	switch {
	case failure == nil:
		return parley.ErrorClass("").Sentence()
	case failure.Detail == "":
		return failure.Sentence
	}
	return failure.Sentence + " (" + failure.Detail + ")"
}

// answerResult builds a result from the messages of the last step.
func answerResult(answers []parley.Message, tookMS *int64, m *parley.Message) (json.RawMessage, error) {
	text, refusal, author, err := textOfAnswers(answers)
	if err != nil {
		return nil, err
	}
	if len(answers) > 0 {
		m.Author = author
	}
	if text == "" && refusal != "" {
		return failedResult(refusal, tookMS)
	}
	if len(text) > parley.MaxChildResultBytes {
		text = parley.Clip(text, parley.MaxChildResultBytes) + childCut
	}
	result := append(parley.AppendJSONString([]byte(`{"text":`), text), '}')
	return parley.EncodeContent(parley.ToolResultContent{Result: result, Success: true, ExecutionTimeMS: tookMS})
}

// textOfAnswers joins the texts and the refusals of the messages of a step, and returns the last one's author.
func textOfAnswers(answers []parley.Message) (text, refusal string, author parley.Author, err error) {
	var texts, refusals strings.Builder // an answer may have very many rows
	for i := range answers {
		var content parley.AssistantContent
		if err := json.Unmarshal(answers[i].Content, &content); err != nil {
			return "", "", author, parley.WrapError(parley.CodeInvalid, err, "the answer is not an assistant message")
		}
		texts.WriteString(content.Text)
		refusals.WriteString(content.Refusal)
		author = answers[i].Author
	}
	return texts.String(), refusals.String(), author, nil
}

// StopChild stops every turn of a tool session whose call no longer waits. It reports whether another visit is needed.
func (t *Tx) StopChild(childID parley.ID) (again bool, err error) {
	h, err := t.load(childID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() || !h.AnswersCall() {
		return false, err
	}
	if h.Queued > 0 { // messages that arrived meanwhile
		turn, err := t.currentTurn(h)
		if err != nil {
			return false, err
		}
		if err := t.cancelQueued(h, turn); err != nil {
			return false, err
		}
	}
	return t.stopCurrent(h)
}

// stopCurrent cancels the session's turn. A worker that holds it is told first and loses it at the next visit if it has
// not settled it. stopCurrent reports whether another visit is needed.
func (t *Tx) stopCurrent(h *Head) (again bool, err error) {
	held, err := t.held(h)
	if err != nil {
		return false, err
	}
	if held && h.Cancel != h.TurnID {
		h.Cancel, h.hint.Cancel, h.Changes.Head = h.TurnID, h.TurnID, true
		return true, nil
	}
	_, err = t.settleCancelled(h, parley.ByCanceller)
	return false, err
}
