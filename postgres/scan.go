package postgres

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// The column lists and the functions that read them stand side by side: a list
// and its reader change together. JSON that another hand left unreadable never
// breaks a list (A15): a message's content is shown as text with an error, and
// smaller things are left empty.

// sessionColumns reads "s" and its head "h"; listedColumns are the part of "s".
const (
	listedColumns = `s.id, s.workspace_id, s.agent_id, s.owner_id, s.visibility, s.project_id,
 s.parent_session_id, s.parent_message_id, coalesce(s.root_id, s.id), s.depth, s.log_id, s.kind, s.mode, s.type,
  s.feature, s.task, s.key,
 s.title, s.instructions, s.tags, s.pinned, s.metadata, s.overrides, s.policy, s.retry, s.during,
 s.status, s.wait_reason, s.archived_at, s.created_at, s.updated_at, s.started_at, s.finished_at, s.forked_through`
	sessionColumns = listedColumns + `,
 h.messages, h.user_facing, h.turns, h.input_tokens, h.output_tokens, h.cached_tokens, h.unknown_calls,
 h.cost, h.unpriced_calls, h.calls, h.cache_hits, h.cache_write_tokens, h.saved,
 h.context_anchor, h.context_messages, h.context_tokens, h.context_cleared, h.context_held, h.cleared_at,
  h.next_sequence - 1, h.next_event - 1, h.turn_id`
	headOfSession = ` JOIN parley.heads h ON h.session_id = s.id AND h.workspace_id = s.workspace_id `
	sessionTables = ` FROM parley.sessions s` + headOfSession
)

func scanSession(r *row) (parley.Session, error) {
	s := parley.Session{
		ID:              r.id(),
		WorkspaceID:     r.id(),
		AgentID:         r.id(),
		OwnerID:         r.id(),
		Visibility:      parley.Visibility(r.text()),
		ProjectID:       r.id(),
		ParentSessionID: r.id(),
		ParentMessageID: r.id(),
		RootID:          r.id(),
		Depth:           r.int(),
		LogID:           r.id(),
		Kind:            parley.SessionKind(r.text()),
		Mode:            parley.Mode(r.text()),
		Type:            r.text(),
		Feature:         r.text(),
		Task:            r.text(),
		Key:             r.text(),
		Title:           r.text(),
		Instructions:    r.text(),
	}
	tags := r.text()
	s.Pinned, s.Metadata = r.bool(), transition.ReadableObject(r.json())
	overrides, policy, retry := r.text(), r.text(), r.text()
	s.During, s.Status, s.WaitReason = parley.During(
		r.text(),
	), parley.SessionStatus(
		r.text(),
	), parley.WaitReason(
		r.text(),
	)
	s.ArchivedAt, s.CreatedAt, s.UpdatedAt, s.StartedAt, s.FinishedAt, s.ForkedThrough = r.time(), r.time(), r.time(),
		r.time(), r.time(), r.maybe()
	s.Statistics = parley.Statistics{
		Messages:   r.int64(),
		UserFacing: r.int64(),
		Turns:      r.int64(),
		Tokens: parley.Tokens{
			InputTokens:  r.int64(),
			OutputTokens: r.int64(),
			CachedTokens: r.int64(),
			Unknown:      r.int64(),
		},
		Cost: parley.Money(
			r.int64(),
		),
		Unpriced:         r.int64(),
		Calls:            r.int64(),
		CacheHits:        r.int64(),
		CacheWriteTokens: r.int64(),
		Saved:            parley.Money(r.int64()),
	}
	s.Context = parley.Context{
		Anchor:    r.int64(),
		Messages:  r.int64(),
		Tokens:    r.int64(),
		Cleared:   r.bool(),
		Held:      r.bool(),
		ClearedAt: r.time(),
	}
	s.LastSequence, s.LastEvent, s.TurnID = r.int64(), r.int64(), r.id()
	s.Tags = []string{}
	if tags != "[]" {
		if err := decode("tags", tags, &s.Tags); err != nil {
			return s, err
		}
	}
	if overrides != "{}" {
		if err := decode("overrides", overrides, &s.Settings); err != nil {
			return s, err
		}
	}
	if policy != "" {
		if err := decode("policy", policy, &s.Policy); err != nil {
			return s, err
		}
	}
	if retry != "" {
		return s, decode("retry", retry, &s.Retry)
	}
	return s, nil
}

// marksColumns are the marks that the session has which wrote a message.
const marksColumns = "m.pinned, m.context_edge, m.set_aside"

// messageColumns reads "m".
const messageColumns = `m.id, m.workspace_id, m.session_id, m.log_id, m.sequence, m.position, m.turn_id, m.step, m.role,
	m.status,
 m.author_kind, m.author_id, m.author_name, m.content, m.context_note, m.tool_call_id, m.tool_name, m.covers_through,
 m.internal, m.steer, m.model, m.agent_type, m.iteration, m.usage, m.content_hash, m.chain_version, m.call_ordinal,
  m.provider_data,
 m.error, m.metadata, ` + marksColumns + `, m.overrides, m.token_estimate, m.revision, m.created_at, m.updated_at`

func scanMessage(r *row) parley.Message {
	m := parley.Message{
		ID:            r.id(),
		WorkspaceID:   r.id(),
		SessionID:     r.id(),
		LogID:         r.id(),
		Sequence:      r.int64(),
		Position:      r.maybe(),
		TurnID:        r.id(),
		Step:          r.int(),
		Role:          parley.Role(r.text()),
		Status:        parley.MessageStatus(r.text()),
		Author:        parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()},
		Content:       r.json(),
		ContextNote:   r.text(),
		ToolCallID:    r.text(),
		ToolName:      r.text(),
		CoversThrough: r.maybe(),
		Internal:      r.bool(),
		Steer:         r.bool(),
		Model:         parley.ModelID(r.text()),
		AgentType:     r.text(),
		Iteration:     r.int(),
	}
	usage := r.text()
	m.ContentHash, m.ChainVersion, m.CallOrdinal, m.ProviderData = r.hash(), r.int(), r.int64(), r.bytes()
	failure := r.text()
	m.Metadata = transition.ReadableObject(r.json())
	m.Marks = parley.Marks{Pinned: r.bool(), ContextEdge: r.bool(), SetAside: r.bool()}
	overrides := r.text()
	m.TokenEstimate, m.Revision, m.CreatedAt, m.UpdatedAt = r.int(), r.int(), r.time(), r.time()
	if m.ContentHash.IsZero() {
		m.ChainVersion = 0
	}
	m.Usage = transition.ReadUsage(usage)
	if failure != "" {
		m.Error = &parley.Failure{}
		if json.Unmarshal([]byte(failure), m.Error) != nil {
			m.Error = &parley.Failure{Class: parley.ClassInternal, Sentence: "The stored error could not be read."}
		}
	}
	if overrides != "" && json.Unmarshal([]byte(overrides), &m.Settings) != nil {
		m.Settings = parley.Settings{}
	}
	if len(m.Content) == 0 || m.Content[0] != '{' || !transition.ReadableJSON(m.Content) {
		m.Content, m.Error = parley.UnreadableContent(m.Role, m.Content)
	}
	return m
}

// turnColumns reads "t".
const turnColumns = `t.id, t.workspace_id, t.session_id, t.trigger_message_id, t.ordinal, t.status, t.wait_reason,
	t.attempt, t.takeovers, t.step,
 t.agent_id, t.agent_version, t.loop_id, t.iteration, t.continues_id, t.error, t.input_tokens, t.output_tokens,
  t.cached_tokens, t.unknown_calls,
 t.cost, t.created_at, t.started_at, t.finished_at, t.caught_by, t.accused_by`

func scanTurn(r *row) (parley.Turn, error) {
	t := parley.Turn{
		ID:               r.id(),
		WorkspaceID:      r.id(),
		SessionID:        r.id(),
		TriggerMessageID: r.id(),
		Ordinal:          r.int64(),
		Status:           parley.TurnStatus(r.text()),
		WaitReason:       parley.WaitReason(r.text()),
		Attempt:          r.int(),
		Takeovers:        r.int(),
		Step:             r.int(),
		AgentID:          r.id(),
		AgentVersion:     r.int(),
		LoopID:           r.id(),
		Iteration:        r.int(),
		ContinuesID:      r.id(),
	}
	failure := r.text()
	t.Usage = parley.Tokens{
		InputTokens:  r.int64(),
		OutputTokens: r.int64(),
		CachedTokens: r.int64(),
		Unknown:      r.int64(),
	}
	t.Cost, t.CreatedAt, t.StartedAt, t.FinishedAt = r.money(), r.time(), r.time(), r.time()
	t.CaughtBy, t.AccusedBy = r.id(), r.id()
	if failure == "" {
		return t, nil
	}
	t.Error = &parley.Failure{}
	return t, decode("error", failure, t.Error)
}

// callColumns reads "c".
const callColumns = `c.id, c.workspace_id, c.session_id, c.turn_id, c.message_id, c.ordinal, c.step, c.attempt, c.model,
	c.parameters, c.think, c.search,
 c.system_hash, c.tools_hash, c.manifest, c.request_hash, c.encoder_version, c.usage, c.cost, c.finish_reason,
  c.outcome, c.error,
 c.created_at, c.first_token_ms, c.total_ms, c.reserved_tokens, c.reserved_cost, c.estimated, c.purpose,
 c.middleware_hash, c.saved`

func scanCall(r *row) (parley.Call, error) {
	c := parley.Call{
		ID:          r.id(),
		WorkspaceID: r.id(),
		SessionID:   r.id(),
		TurnID:      r.id(),
		MessageID:   r.id(),
		Ordinal:     r.int64(),
		Step:        r.int(),
		Attempt:     r.int(),
		Model:       parley.ModelID(r.text()),
	}
	c.Provider = c.Model.Provider()
	parameters := r.text()
	c.Think, c.Search, c.SystemHash, c.ToolsHash = r.bool(), r.bool(), r.hash(), r.hash()
	manifest := r.text()
	c.RequestHash, c.EncoderVersion = r.hash(), r.int()
	usage := r.text()
	c.Cost, c.Finish, c.Outcome = r.money(), parley.FinishReason(r.text()), parley.CallOutcome(r.text())
	failure := r.text()
	c.CreatedAt, c.FirstTokenMS, c.TotalMS = r.time(), r.maybe(), r.maybe()
	tokens, cost := r.maybe(), r.money()
	if tokens != nil {
		c.Reserved = &parley.Reserved{Tokens: *tokens, Cost: cost}
	}
	c.Estimated, c.Purpose = r.bool(), parley.CallPurpose(r.text())
	var saved *parley.Money
	c.MiddlewareHash, saved = r.hash(), r.money()
	if err := decode("parameters", parameters, &c.Parameters); err != nil {
		return c, err
	}
	if err := decode("manifest", manifest, &c.Manifest); err != nil {
		return c, err
	}
	if usage != "" {
		if err := decode("usage", usage, &c.Usage); err != nil {
			return c, err
		}
	}
	c.Cache = parley.CacheOf(c.Usage, saved)
	if failure == "" {
		return c, nil
	}
	c.Error = &parley.Failure{}
	return c, decode("error", failure, c.Error)
}

func decode[T any](column, text string, into *T) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("postgres: column %s holds no readable JSON: %w", column, err)
	}
	return nil
}

// encode is the JSON text of a column.
func encode[T any](value T) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("postgres: encoding a column: %w", err)
	}
	return string(text), nil
}
