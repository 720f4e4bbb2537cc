package imports

import (
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
)

// The export of a session as JSON: {"session", "agent", "messages", "turns", "calls", "provider_data"}. Its messages
// keep their authors' names, times and hashes: each content_hash is computed again, and must be the file's.

func isParley(f *file) bool {
	return f.has("session", '{') && f.has("messages", '[') && f.has("agent", '{')
}

// exported is what is read of a message. Content, metadata and error are checked on their own.
type exported struct {
	ID            parley.ID            `json:"id"`
	Sequence      int64                `json:"sequence"`
	Role          parley.Role          `json:"role"`
	Status        parley.MessageStatus `json:"status"`
	Author        parley.Author        `json:"author"`
	Content       json.RawMessage      `json:"content"`
	ContextNote   string               `json:"context_note"`
	ToolCallID    string               `json:"tool_call_id"`
	ToolName      string               `json:"tool_name"`
	CoversThrough *int64               `json:"covers_through"`
	Internal      bool                 `json:"internal"`
	Model         parley.ModelID       `json:"model"`
	AgentType     string               `json:"agent_type"`
	Iteration     int                  `json:"iteration"`
	Usage         *parley.Usage        `json:"usage"`
	ContentHash   parley.Hash          `json:"content_hash"`
	ChainVersion  int                  `json:"chain_version"`
	Error         *parley.Failure      `json:"error"`
	Metadata      json.RawMessage      `json:"metadata"`
	Marks         parley.Marks         `json:"marks"`
	CreatedAt     parley.Time          `json:"created_at"`
}

// carried is what is read of the session. Its other members are settings; see leftOut.
type carried struct {
	ID           parley.ID            `json:"id"`
	Type         string               `json:"type"`
	Feature      string               `json:"feature"`
	Task         string               `json:"task"`
	Key          string               `json:"key"`
	Title        string               `json:"title"`
	Instructions string               `json:"instructions"`
	Tags         []string             `json:"tags"`
	Pinned       bool                 `json:"pinned"`
	Mode         parley.Mode          `json:"mode"`
	Metadata     json.RawMessage      `json:"metadata"`
	Status       parley.SessionStatus `json:"status"`
	Statistics   parley.Statistics    `json:"statistics"`
	ArchivedAt   parley.Time          `json:"archived_at"`
	CreatedAt    parley.Time          `json:"created_at"`
	UpdatedAt    parley.Time          `json:"updated_at"`
}

// derived are members of a session that follow from the rest or belong to the server that had it.
const derived = " id workspace_id owner_id log_id root_id depth visibility agent_id agent_version kind status " +
	"wait_reason context last_sequence last_event_sequence turn_id started_at finished_at forked_through type " +
	"feature task key title instructions tags pinned mode metadata statistics archived_at created_at updated_at "

func readParley(f *file) ([]Session, error) {
	rows, err := f.list("messages")
	if err != nil {
		return nil, err
	}
	from, err := decode[carried](f, "/session", f.top["session"])
	if err != nil {
		return nil, err
	}
	agent, err := decode[struct{ Slug string }](f, "/agent", f.top["agent"])
	if err != nil {
		return nil, err
	}
	s := Session{
		Identity: from.ID.String(), Agent: agent.Slug, Type: from.Type, Feature: from.Feature, Task: from.Task,
		Key: from.Key, Title: from.Title, Instructions: from.Instructions, Tags: from.Tags, Pinned: from.Pinned,
		Archived: from.ArchivedAt != 0, Background: from.Mode == parley.ModeBackground, Metadata: from.Metadata,
	}
	if from.ID.IsZero() {
		return nil, f.wrong("/session/id", "is missing; export the session again")
	}
	if err := s.readTotals(f, &from); err != nil {
		return nil, err
	}
	if err := s.leftOut(f); err != nil {
		return nil, err
	}
	data, err := f.providerData()
	if err != nil {
		return nil, err
	}
	if err := s.readMessages(f, rows, data); err != nil {
		return nil, err
	}
	s.end(from.CreatedAt, from.UpdatedAt)
	return []Session{s}, nil
}

// readTotals checks the session's times, and takes its status and what it cost.
func (s *Session) readTotals(f *file, from *carried) error {
	for name, value := range map[string]parley.Time{"created_at": from.CreatedAt, "updated_at": from.UpdatedAt} {
		if value < 0 || value > f.now+parley.Time(latest.Milliseconds()) {
			return f.wrong("/session/"+name, "lies before 1970 or in the future; correct it")
		}
	}
	totals := from.Statistics
	for _, n := range []int64{
		totals.InputTokens, totals.OutputTokens, totals.CachedTokens, totals.Unknown, int64(totals.Cost),
	} {
		if n < 0 || n > maxTotal {
			return f.wrong("/session/statistics", "has a number outside 0 to %d", int64(maxTotal))
		}
	}
	s.Tokens, s.Cost = totals.Tokens, totals.Cost
	switch from.Status {
	case parley.SessionCompleted, parley.SessionFailed, parley.SessionCancelled, parley.SessionPending:
		s.Status = from.Status
	default:
		s.Leave("/session/status", "a turn was unfinished; it does not go on here")
	}
	return nil
}

// maxTotal bounds a session's sums, far above what any session has used.
const maxTotal = 1 << 53

// leftOut notes what of the file has no place in an imported session.
func (s *Session) leftOut(f *file) error {
	session, err := decode[map[string]json.RawMessage](f, "/session", f.top["session"])
	if err != nil {
		return err
	}
	var names []string
	for name, value := range session {
		empty := slices.Contains([]string{"null", "[]", "{}", `""`, "false"}, string(value))
		if !empty && !strings.Contains(derived, " "+name+" ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		s.Leave(
			"/session/"+parley.Clip(name, maxIDBytes),
			"is not carried over; set it on the new session if you need it",
		)
	}
	for _, name := range []string{"turns", "calls"} {
		if rows, err := f.list(name); err != nil {
			return err
		} else if len(rows) > 0 {
			s.Leave("/"+name, "are not carried over: messages stand without them; keep the file")
		}
	}
	return nil
}

// providerData reads the opaque bytes that belong to messages, by the messages' ids.
func (f *file) providerData() (map[parley.ID][]byte, error) {
	rows, err := decode[[]struct {
		MessageID parley.ID `json:"message_id"`
		Data      []byte    `json:"data"`
	}](f, "/provider_data", f.top["provider_data"])
	if err != nil {
		return nil, err
	}
	data := make(map[parley.ID][]byte, len(rows))
	for _, row := range rows {
		data[row.MessageID] = row.Data
	}
	return data, nil
}

// readMessages reads the record up to the first message that is not settled.
func (s *Session) readMessages(f *file, rows []json.RawMessage, data map[parley.ID][]byte) error {
	ids, calls := map[string]bool{}, map[string]int64{}
	var last parley.Hash
	made := int64(0)
	version := parley.ChainVersion1
	for i, raw := range rows {
		pointer := at("messages", i)
		row, err := decode[exported](f, pointer, raw)
		if err != nil {
			return err
		}
		if err := f.once(ids, pointer+"/id", row.ID.String()); err != nil {
			return err
		}
		switch {
		case row.Sequence == 0:
			s.Leave(pointer, "is not in the record (it is queued or was removed) and is not carried over")
			continue
		case !row.Status.Settled():
			s.Leave(pointer, "is still being written; this message and those after it are not carried over")
			return nil
		case row.Sequence != int64(len(s.Messages))+1:
			return f.wrong(
				pointer+"/sequence",
				"is %d and not %d; the record has a gap",
				row.Sequence,
				len(s.Messages)+1,
			)
		case row.ChainVersion < version || row.ChainVersion > parley.ChainVersion:
			return f.wrong(pointer+"/chain_version", "is %d, which cannot stand here", row.ChainVersion)
		}
		version = row.ChainVersion
		m, err := row.message(f, pointer, data[row.ID])
		if err != nil {
			return err
		}
		switch m.Role {
		case parley.RoleToolCall:
			made++
			calls[m.ToolCallID], m.CallOrdinal = made, made
		case parley.RoleToolResult:
			m.CallOrdinal = calls[m.ToolCallID]
		}
		if err := verify(&m, last); err != nil {
			return f.wrong(pointer+"/content_hash", "%s", withoutField(err))
		}
		last = m.ContentHash
		s.Messages = append(s.Messages, m)
	}
	return nil
}

// message checks a row.
func (row *exported) message(f *file, pointer string, data []byte) (m parley.Message, err error) {
	for _, field := range []struct {
		name, text string
		most       int
	}{
		{"author/name", row.Author.Name, parley.MaxNameBytes}, {"context_note", row.ContextNote, parley.MaxTextBytes},
		{"tool_call_id", row.ToolCallID, parley.MaxNameBytes}, {"tool_name", row.ToolName, parley.MaxNameBytes},
		{"model", string(row.Model), parley.MaxNameBytes}, {"agent_type", row.AgentType, parley.MaxNameBytes},
		{"metadata", string(row.Metadata), parley.MaxMetadataBytes},
		{"provider_data", string(data), parley.MaxBodyBytes},
	} {
		if len(field.text) > field.most {
			return m, f.wrong(pointer+"/"+field.name, "is longer than %d bytes", field.most)
		}
	}
	switch row.Author.Kind {
	case parley.AuthorPerson, parley.AuthorService, parley.AuthorAgent:
	default:
		return m, f.wrong(pointer+"/author/kind", "is not one of person, service, agent")
	}
	if row.CreatedAt <= 0 || row.CreatedAt > f.now+parley.Time(latest.Milliseconds()) {
		return m, f.wrong(pointer+"/created_at", "is missing, lies before 1970 or in the future; correct it")
	}
	if row.Iteration < 0 || row.Iteration > maxIteration {
		return m, f.wrong(pointer+"/iteration", "must lie between 0 and %d", maxIteration)
	}
	if row.CoversThrough != nil && (row.Role != parley.RoleSummary || *row.CoversThrough < 0 ||
		*row.CoversThrough >= row.Sequence) {
		return m, f.wrong(pointer+"/covers_through", "must name a message before this summary")
	}
	if err := row.checkUsage(f, pointer); err != nil {
		return m, err
	}
	if err := row.checkError(f, pointer); err != nil {
		return m, err
	}
	m = parley.Message{
		ID: parley.NewID(), Role: row.Role, Status: row.Status,
		Author:      parley.Author{Kind: row.Author.Kind, Name: row.Author.Name}, // a name, never a principal
		ContextNote: row.ContextNote, ToolCallID: row.ToolCallID, ToolName: row.ToolName,
		CoversThrough: row.CoversThrough, Internal: row.Internal, Model: row.Model, AgentType: row.AgentType,
		Iteration: row.Iteration, Usage: row.Usage, ContentHash: row.ContentHash, ChainVersion: row.ChainVersion,
		ProviderData: data, Error: row.Error, Metadata: json.RawMessage("{}"), Marks: row.Marks,
		CreatedAt: row.CreatedAt,
	}
	if len(row.Metadata) > 0 && row.Metadata[0] == '{' {
		if m.Metadata, err = parley.CanonicalJSON(row.Metadata); err != nil {
			return m, f.wrong(pointer+"/metadata", "cannot be read")
		}
	}
	if m.Content, err = stored(row.Role, row.Content); err != nil {
		return m, f.wrong(pointer+pointerOf(err), "%s", withoutField(err))
	}
	if m.Role == parley.RoleToolCall && m.ToolCallID == "" {
		return m, f.wrong(pointer+"/tool_call_id", "is missing")
	}
	return m, nil
}

func (row *exported) checkUsage(f *file, pointer string) error {
	if row.Usage == nil {
		return nil
	}
	for _, n := range []*int64{row.Usage.InputTokens, row.Usage.OutputTokens, row.Usage.CachedTokens,
		row.Usage.CacheWriteTokens, row.Usage.ReasoningTokens} {
		if n != nil && (*n < 0 || *n > parley.MaxCallTokens) {
			return f.wrong(
				pointer+"/usage",
				"each number of tokens must lie between 0 and %d",
				int64(parley.MaxCallTokens),
			)
		}
	}
	return nil
}

// checkError bounds what a message says about its failure, which lists show with it.
func (row *exported) checkError(f *file, pointer string) error {
	switch failure := row.Error; {
	case failure == nil:
	case !slices.Contains(parley.ErrorClasses(), failure.Class):
		return f.wrong(pointer+"/error/class", "%q is not a known error class", parley.Clip(string(failure.Class), 32))
	case len(failure.Sentence) > parley.MaxTextBytes || len(failure.Detail) > parley.MaxTextBytes:
		return f.wrong(pointer+"/error", "has a text longer than %d bytes", parley.MaxTextBytes)
	case failure.Attempts < 0 || failure.Attempts > maxIteration:
		return f.wrong(pointer+"/error/attempts", "must lie between 0 and %d", maxIteration)
	}
	return nil
}

// stored is a content as messages store it: in parts, without the short form beside them.
func stored(role parley.Role, raw json.RawMessage) (json.RawMessage, error) {
	if content, err := parley.ValidateContent(role, raw); err == nil {
		return content, nil
	} else if role != parley.RoleUser && role != parley.RoleToolCall {
		return nil, err
	}
	// An empty message of a user, and a call whose arguments are not an object, cannot be posted but exist.
	switch role {
	case parley.RoleUser:
		var content parley.UserContent
		if err := json.Unmarshal(raw, &content); err != nil || len(content.Parts) > 0 || content.Text != "" {
			_, err := parley.ValidateContent(role, raw)
			return nil, err
		}
		return parley.EncodeContent(content)
	default:
		var content parley.ToolCallContent
		if err := json.Unmarshal(raw, &content); err != nil || content.ID == "" || content.ArgumentsText == "" {
			_, err := parley.ValidateContent(role, raw)
			return nil, err
		}
		content.Arguments = json.RawMessage("null")
		return parley.EncodeContent(content)
	}
}

// verify checks a message's hash. Records older than contents in parts have hashes of the short form.
func verify(m *parley.Message, previous parley.Hash) error {
	parts := m.Content
	for _, content := range []json.RawMessage{parts, parley.ShortContent(m.Role, parts)} {
		m.Content = content
		hash, err := parley.ChainHash(previous, m.ChainInput())
		if err != nil {
			return err
		}
		if hash == m.ContentHash {
			return nil
		}
	}
	return parley.Errorf(
		parley.CodeInvalid,
		"does not match this message and those before it: the file was changed; export the session again",
	)
}
