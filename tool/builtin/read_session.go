package builtin

import (
	"context"
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	readSessionName = "read_session"

	defaultReadMessages = 20
	mostReadMessages    = 200
	maxSessionBytes     = 64 << 10 // contents read by one call
)

// SessionReader shows one session to the agent of another. A store.Store implements it.
type SessionReader interface {
	// Readable and AllReadable are methods of store.Shares.
	Readable(ctx context.Context, workspaceID, readerID, sessionID parley.ID) (parley.Session, error)
	AllReadable(ctx context.Context, workspaceID, readerID parley.ID) ([]parley.Session, error)
	Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error)
	Messages(
		ctx context.Context,
		scope store.Scope,
		sessionID parley.ID,
		query store.MessageQuery,
	) ([]parley.Message, error)
	AppendAudit(ctx context.Context, entries []parley.AuditEntry) error
}

// Sessions returns the tool that reads other sessions.
func Sessions(reader SessionReader) Source { return sourceOf(newReadSession(reader)) }

// readSession reads a session that is shared with the calling one, or a tool session that the calling one opened. Any
// other session is not found.
type readSession struct {
	fixed
	reader SessionReader
}

func newReadSession(reader SessionReader) tool.Tool {
	return readSession{
		fixed{
			parley.ToolDefinition{
				Name: readSessionName,
				Description: "Reads the latest messages of another session that is shared with this one. Without a " +
					"session it lists those that are.",
				Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
					`"last":{"description":"How many of the latest messages. Default 20.","maximum":200,"minimum":1,` +
					`"type":"integer"},` +
					`"session":{"description":"The session's id. Left out: the sessions that can be read are ` +
					`listed.","type":"string"},` +
					`"view":{"description":"conversation, the default, is what was said; all has the tool calls and ` +
					`their results too.","enum":["conversation","all"],"type":"string"}},"type":"object"}`),
			},
			parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
		},
		reader,
	}
}

// readable is a session that may be read.
type readable struct {
	ID       parley.ID            `json:"session"`
	Title    string               `json:"title"`
	Status   parley.SessionStatus `json:"status"`
	Messages int64                `json:"messages"` // in its record
}

// readMessages is the result: messages oldest first, and whether there are earlier ones.
type readMessages struct {
	readable
	Read    []readMessage `json:"read"`
	Earlier bool          `json:"earlier"`
}

type readMessage struct {
	Sequence int64                `json:"sequence"`
	Role     parley.Role          `json:"role"`
	Author   string               `json:"author"`
	Status   parley.MessageStatus `json:"status"`
	Content  json.RawMessage      `json:"content"`
}

func readableOf(session *parley.Session) readable {
	return readable{ID: session.ID, Title: session.Title, Status: session.Status, Messages: session.Statistics.Messages}
}

// Call implements tool.Tool.
func (t readSession) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t readSession) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	arguments := struct {
		Session string `json:"session"`
		View    string `json:"view"`
		Last    int    `json:"last"`
	}{View: "conversation", Last: defaultReadMessages}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	query := store.MessageQuery{
		Descending: true,
		RecordOnly: true,
		Internal:   new(false),
		Limit:      arguments.Last + 1,
		MaxBytes:   maxSessionBytes,
	}
	switch {
	case arguments.Last < 1 || arguments.Last > mostReadMessages:
		return nil, parley.InvalidField("last", "must lie between 1 and %d", mostReadMessages)
	case arguments.View == "conversation":
		query.Roles = []parley.Role{parley.RoleUser, parley.RoleAssistant}
	case arguments.View != "all":
		return nil, parley.InvalidField("view", "is not one of conversation, all")
	}
	if arguments.Session == "" {
		return t.list(ctx, call)
	}
	id, err := parley.ParseID(arguments.Session)
	if err != nil {
		return nil, notReadable()
	}
	session, err := t.reader.Readable(ctx, call.WorkspaceID, call.SessionID, id)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, notReadable()
	} else if err != nil {
		return nil, err
	}
	if err := t.audited(ctx, call, id); err != nil {
		return nil, err
	}
	messages, err := t.reader.Messages(ctx, store.Scope{WorkspaceID: call.WorkspaceID}, id, query)
	if err != nil {
		return nil, err
	}
	return json.Marshal(shown(&session, messages, arguments.Last))
}

// notReadable returns the same error for a missing session and for one that is not shared.
func notReadable() error {
	return parley.Errorf(
		parley.CodeNotFound,
		"this session does not exist, or is not shared with this one; call read_session without a session to see "+
			"which can be read",
	)
}

func (t readSession) list(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	sessions, err := t.reader.AllReadable(ctx, call.WorkspaceID, call.SessionID)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Sessions []readable `json:"sessions"`
	}{make([]readable, len(sessions))}
	for i := range sessions {
		answer.Sessions[i] = readableOf(&sessions[i])
	}
	return json.Marshal(answer)
}

// audited records who reads, before anything is read: the owner of the calling session, through its agent. The turn's
// id serves as the request's.
func (t readSession) audited(ctx context.Context, call tool.Call, id parley.ID) error {
	own, err := t.reader.Session(ctx, store.Scope{WorkspaceID: call.WorkspaceID}, call.SessionID)
	if err != nil {
		return err
	}
	return t.reader.AppendAudit(ctx, []parley.AuditEntry{
		{
			ID:            parley.NewID(),
			WorkspaceID:   call.WorkspaceID,
			At:            parley.Now(),
			PrincipalID:   own.OwnerID,
			PrincipalName: readSessionName,
			Action:        readSessionName,
			SessionID:     id,
			TargetID:      call.SessionID,
			RequestID:     call.TurnID,
		},
	})
}

// shown turns messages, newest first, into the result: as many as requested, within the bound of a result.
func shown(session *parley.Session, messages []parley.Message, last int) readMessages {
	answer := readMessages{readable: readableOf(session), Read: []readMessage{}, Earlier: len(messages) > last}
	size := 0
	for i := range messages[:min(len(messages), last)] {
		m := &messages[i]
		if size >= maxSessionBytes {
			answer.Earlier = true
			break
		}
		size += len(m.Content)
		answer.Read = append(
			answer.Read,
			readMessage{
				Sequence: m.Sequence,
				Role:     m.Role,
				Author:   m.Author.Name,
				Status:   m.Status,
				Content:  cutContent(parley.ShortContent(m.Role, m.Content)),
			},
		)
		if size >= maxSessionBytes { // the page may have ended here, though the record has not
			answer.Earlier = answer.Earlier || m.Sequence > 1
		}
	}
	slices.Reverse(answer.Read)
	return answer
}

// cutContent bounds one content: a longer one is replaced by its beginning, as a string.
func cutContent(content json.RawMessage) json.RawMessage {
	if len(content) <= maxSessionBytes {
		return content
	}
	return parley.AppendJSONString(nil, parley.Clip(string(content), maxSessionBytes))
}
