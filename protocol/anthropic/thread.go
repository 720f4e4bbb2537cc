package anthropic

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// thread says that the server has the history already. Every answer can be continued: Parley keeps them all.
type thread struct {
	Type     string `json:"type"`
	Previous string `json:"previous_message_id"` // the answer that the messages follow
}

// The errors of threads, which clients tell apart: they send the whole history again then.
const (
	threadMember  = "thread.previous_message_id"
	threadUnknown = "thread_not_found"
	threadMoved   = "thread_already_continued"
)

// messagePrefix makes an answer's id from that of the message that began or resumed its turn.
const messagePrefix = "msg_"

// continues reports whether the request has only what is new in a thread.
func (t *thread) continues() bool { return t != nil && t.Type == "continue" }

// check refuses threads of other kinds.
func (t *thread) check() error {
	if t == nil || t.Type == "create" || t.Type == "continue" {
		return nil
	}
	return parley.InvalidField("thread.type", "is not one of create, continue")
}

// threadError is an error of the member thread.
func threadError(code parley.Code, message string) error {
	return &parley.Error{Code: code, Field: threadMember, Message: message}
}

// anchor finds the message of the record that stands for an answer.
func (a *api) anchor(ctx context.Context, principal parley.Principal, answer string) (parley.Message, error) {
	id, err := parley.ParseID(strings.TrimPrefix(answer, messagePrefix))
	if err == nil {
		var m parley.Message
		if m, err = a.engine.Message(ctx, principal, id); err == nil && !m.TurnID.IsZero() {
			return m, nil
		}
		if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
			return m, err
		}
	}
	return parley.Message{}, threadError(parley.CodeNotFound, "no message of yours has the id "+
		parley.Clip(answer, 64)+": send the whole history")
}

// begunWith returns the settings that a turn began with: a thread keeps its instructions and its tools.
func (a *api) begunWith(
	ctx context.Context, principal parley.Principal, anchor *parley.Message,
) (parley.Settings, error) {
	if anchor.Role == parley.RoleUser {
		return anchor.Settings, nil
	}
	turn, err := a.engine.Turn(ctx, principal, anchor.TurnID)
	if err != nil {
		return parley.Settings{}, err
	}
	trigger, err := a.engine.Message(ctx, principal, turn.TriggerMessageID)
	return trigger.Settings, err
}

// goOn continues the thread of an answer; a message that another one follows already is forked there.
func (a *api) goOn(ctx context.Context, c *history.Request, anchor *parley.Message) (history.Turn, error) {
	session, err := a.engine.Session(ctx, c.X.Principal, anchor.SessionID)
	if err != nil {
		return history.Turn{}, err
	}
	if session.AgentID != c.Agent.ID {
		return history.Turn{}, parley.InvalidField("model", "is not the one of the thread")
	}
	seen, err := a.book.Seen(ctx, c.X.Principal, history.Turn{
		Session: anchor.SessionID, ID: anchor.TurnID, Sequence: anchor.Sequence,
	})
	if err != nil {
		return history.Turn{}, err
	}
	if seen.Last.IsZero() {
		return history.Turn{}, threadError(parley.CodeConflict, "this message is not answered yet")
	}
	last, err := a.engine.Message(ctx, c.X.Principal, seen.Last)
	if err != nil {
		return history.Turn{}, err
	}
	turn, err := a.book.GoOn(ctx, c, session.ID, last.Sequence)
	switch code := parley.ErrorCode(err); {
	case err == nil:
	case c.Said[0].Role == history.Tool && code == parley.CodeConflict:
		err = threadError(parley.CodeConflict, "the calls of this message have their results")
	case code == parley.CodeChanged, code == parley.CodeBusy, code == parley.CodeArchived:
		return a.book.Fork(ctx, c, history.Point{Session: session.ID, Message: last.ID, At: -1})
	}
	return turn, err
}
