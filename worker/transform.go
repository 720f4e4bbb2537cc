package worker

import (
	"encoding/json"
	"errors"

	"example.org/parley"
	"example.org/parley/internal/transform"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// transforms prepares what the turn of a transform writes, for the transition that ends the turn. For other turns it
// does nothing.
type transforms struct {
	*claimed

	until *until
	end   *store.TransformEnd // what the step's complete answer writes; nil before
}

// written prepares what an answer writes, and returns what is wrong with it, for the model, or why the turn must fail.
// a is the last answer; nil reads it from the record.
func (f *transforms) written(a *answer) (wrong string, failure *parley.Failure, err error) {
	f.end = nil
	id := f.claim.Turn.TransformID
	if id.IsZero() {
		return "", nil, nil
	}
	read, err := f.w.store.Transform(f.writes, store.Scope{WorkspaceID: f.fence.WorkspaceID}, id)
	if err != nil {
		return "", nil, err
	}
	end := &store.TransformEnd{Transform: read, Author: f.author}
	var said transform.Answer
	if a == nil {
		if said, end.MessageID, err = f.recorded(); err != nil {
			return "", nil, err
		}
	} else {
		if a.finish == parley.FinishLength {
			return wrongCut, nil, nil
		}
		said.Text = a.text()
		for _, r := range a.rows {
			if r.role == parley.RoleAssistant {
				said.Object = r.object
				end.MessageID = r.id
			}
		}
	}
	end.Written, wrong, err = transform.Read(f.ctx, f.w.store, f.w.documents, &read, said)
	switch {
	case errors.Is(err, transform.ErrUnreadable):
		return "", &parley.Failure{
			Class: parley.ClassLimit, Sentence: "The transform's owner may no longer read one of its inputs.", Attempts: 1,
		}, nil
	case wrong == "" && err == nil:
		f.end = end
	}
	return wrong, nil, err
}

// recorded returns the turn's last answer as the record has it, and its message.
func (f *transforms) recorded() (said transform.Answer, message parley.ID, err error) {
	f.w.recalling.Lock()
	defer f.w.recalling.Unlock()
	if said.Text, err = f.until.recordedText(); err != nil {
		return said, message, err
	}
	answers := store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, Status: parley.MessageCompleted, TurnID: f.fence.TurnID,
		Descending: true,
	}
	record := requesters{f.claimed}
	err = record.messages(f.fence.SessionID, answers, func(m *parley.Message) (bool, error) {
		var content parley.AssistantContent
		message = m.ID
		if json.Unmarshal(m.Content, &content) == nil {
			said.Object = content.Object
		}
		return false, nil
	})
	return said, message, err
}

// refuse ends, or asks again, a step whose answer a transform cannot write.
func (t *turn) refuse(a *answer, wrong string, failure *parley.Failure) (runner.Next, error) {
	t.answer = nil
	if failure == nil && t.outputs.wanted() {
		return t.reject(a, wrong)
	}
	if failure == nil {
		failure = t.unwritable(wrong)
	}
	failure.Attempts = a.attempt
	a.failure, a.call.Error, a.call.Outcome = failure, failure, parley.CallFailed
	_, err := t.asking.settleAs(a, parley.MessageFailed, &store.TurnEnd{Status: parley.TurnFailed, Failure: failure})
	return runner.Over, err
}

// unwritable is the failure of a turn whose answer a transform cannot write.
func (t *turn) unwritable(wrong string) *parley.Failure {
	return &parley.Failure{
		Class: parley.ClassSchema, Sentence: t.settings.Retry.Sentence(parley.ClassSchema), Detail: shownWrong(wrong),
		Attempts: 1,
	}
}
