package httpapi

import (
	"encoding/json"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/setting"
)

// The rows of busy lists are encoded by hand: the reflection of encoding/json costs several times the rest of a page.

func appendID(to []byte, id parley.ID) []byte {
	if id.IsZero() {
		return append(to, "null"...)
	}
	to = id.AppendText(append(to, '"'))
	return append(to, '"')
}

func appendHash(to []byte, hash parley.Hash) []byte {
	if hash.IsZero() {
		return append(to, "null"...)
	}
	const digits = "0123456789abcdef"
	to = append(to, '"')
	for _, b := range hash {
		to = append(to, digits[b>>4], digits[b&15])
	}
	return append(to, '"')
}

func appendRaw(to []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return append(to, "{}"...)
	}
	return append(to, raw...)
}

func appendText(to []byte, name, text string) []byte {
	return parley.AppendJSONString(append(to, name...), text)
}

// appendTextOrNull writes null for an empty text.
func appendTextOrNull(to []byte, name, text string) []byte {
	if text == "" {
		return append(append(to, name...), "null"...)
	}
	return appendText(to, name, text)
}

func appendCount(to []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(to, name...), n, 10)
}

func appendCountOrNull(to []byte, name string, n *int64) []byte {
	if n == nil {
		return append(append(to, name...), "null"...)
	}
	return appendCount(to, name, *n)
}

// appendNumberOrNull writes null for 0.
func appendNumberOrNull(to []byte, name string, n int64) []byte {
	if n == 0 {
		return append(append(to, name...), "null"...)
	}
	return appendCount(to, name, n)
}

func appendFlag(to []byte, name string, value bool) []byte {
	return strconv.AppendBool(append(to, name...), value)
}

// appendOther encodes the small and rare parts by reflection.
func appendOther[T any](to []byte, name string, value T) []byte {
	encoded, err := json.Marshal(value)
	if err != nil { // only a raw member that is not JSON can fail
		encoded = []byte("null")
	}
	return append(append(to, name...), encoded...)
}

// appendMessage is the one JSON form of a message.
func appendMessage(to []byte, m *parley.Message) []byte {
	to = appendID(append(to, `{"id":`...), m.ID)
	to = appendID(append(to, `,"workspace_id":`...), m.WorkspaceID)
	to = appendID(append(to, `,"session_id":`...), m.SessionID)
	to = appendID(append(to, `,"log_id":`...), m.LogID)
	to = appendNumberOrNull(to, `,"sequence":`, m.Sequence)
	to = appendCountOrNull(to, `,"position":`, m.Position)
	to = appendID(append(to, `,"turn_id":`...), m.TurnID)
	to = appendCount(to, `,"step":`, int64(m.Step))
	to = appendText(to, `,"role":`, string(m.Role))
	to = appendText(to, `,"status":`, string(m.Status))
	to = appendText(to, `,"author":{"kind":`, string(m.Author.Kind))
	to = appendID(append(to, `,"id":`...), m.Author.ID)
	to = appendText(to, `,"name":`, m.Author.Name)
	content := m.Content
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	to = parley.AppendContent(append(to, `},"content":`...), m.Role, content)
	to = appendTextOrNull(to, `,"context_note":`, m.ContextNote)
	to = appendTextOrNull(to, `,"tool_call_id":`, m.ToolCallID)
	to = appendTextOrNull(to, `,"tool_name":`, m.ToolName)
	to = appendCountOrNull(to, `,"covers_through":`, m.CoversThrough)
	to = appendFlag(to, `,"internal":`, m.Internal)
	to = appendFlag(to, `,"steer":`, m.Steer)
	to = appendTextOrNull(to, `,"model":`, string(m.Model))
	to = appendTextOrNull(to, `,"agent_type":`, m.AgentType)
	to = appendNumberOrNull(to, `,"iteration":`, int64(m.Iteration))
	to = append(to, `,"usage":`...)
	if m.Usage == nil {
		to = append(to, "null"...)
	} else {
		to = appendOther(to, "", m.Usage)
	}
	to = appendHash(append(to, `,"content_hash":`...), m.ContentHash)
	to = appendNumberOrNull(to, `,"chain_version":`, int64(m.ChainVersion))
	if m.Error == nil {
		to = append(to, `,"error":null`...)
	} else {
		to = appendOther(to, `,"error":`, m.Error)
	}
	to = appendRaw(append(to, `,"metadata":`...), m.Metadata)
	to = appendFlag(to, `,"marks":{"pinned":`, m.Marks.Pinned)
	to = appendFlag(to, `,"context_edge":`, m.Marks.ContextEdge)
	to = appendFlag(to, `,"set_aside":`, m.Marks.SetAside)
	to = append(to, '}')
	to = appendNumberOrNull(to, `,"token_estimate":`, int64(m.TokenEstimate))
	to = m.CreatedAt.AppendJSON(append(to, `,"created_at":`...))
	to = m.UpdatedAt.AppendJSON(append(to, `,"updated_at":`...))
	return append(to, '}')
}

// appendPage writes {data, next}.
func appendPage[T any](to []byte, rows []T, next *string, row func([]byte, *T) []byte) []byte {
	to = append(to, `{"data":[`...)
	for i := range rows {
		if i > 0 {
			to = append(to, ',')
		}
		to = row(to, &rows[i])
	}
	to = append(to, `],"next":`...)
	if next == nil {
		to = append(to, "null"...)
	} else {
		to = parley.AppendJSONString(to, *next)
	}
	return append(to, '}')
}

// appendSession is the one JSON form of a session.
func appendSession(to []byte, s *parley.Session) []byte {
	to = appendID(append(to, `{"id":`...), s.ID)
	to = appendID(append(to, `,"workspace_id":`...), s.WorkspaceID)
	to = appendID(append(to, `,"agent_id":`...), s.AgentID)
	to = appendID(append(to, `,"owner_id":`...), s.OwnerID)
	to = appendText(to, `,"visibility":`, string(s.Visibility))
	to = appendID(append(to, `,"project_id":`...), s.ProjectID)
	to = appendID(append(to, `,"parent_session_id":`...), s.ParentSessionID)
	to = appendID(append(to, `,"parent_message_id":`...), s.ParentMessageID)
	to = appendID(append(to, `,"root_id":`...), s.RootID)
	to = strconv.AppendInt(append(to, `,"depth":`...), int64(s.Depth), 10)
	to = appendID(append(to, `,"log_id":`...), s.LogID)
	if s.ForkedThrough == nil {
		to = append(to, `,"forked_through":null`...)
	} else {
		to = appendCount(to, `,"forked_through":`, *s.ForkedThrough)
	}
	to = appendText(to, `,"kind":`, string(s.Kind))
	to = appendText(to, `,"mode":`, string(s.Mode))
	to = appendTextOrNull(to, `,"type":`, s.Type)
	to = appendTextOrNull(to, `,"feature":`, s.Feature)
	to = appendTextOrNull(to, `,"task":`, s.Task)
	to = appendTextOrNull(to, `,"key":`, s.OpaqueKey())
	to = appendText(to, `,"title":`, s.Title)
	to = appendTextOrNull(to, `,"instructions":`, s.Instructions)
	to = append(to, `,"tags":[`...)
	for i, tag := range s.Tags {
		if i > 0 {
			to = append(to, ',')
		}
		to = parley.AppendJSONString(to, tag)
	}
	to = appendFlag(to, `],"pinned":`, s.Pinned)
	to = appendRaw(append(to, `,"metadata":`...), s.Metadata)
	to = setting.AppendJSON(to, &s.Settings)
	to = appendTextOrNull(to, `,"during":`, string(s.During))
	to = appendText(to, `,"status":`, string(s.Status))
	to = appendTextOrNull(to, `,"wait_reason":`, string(s.WaitReason))
	to = appendStatistics(append(to, `,"statistics":`...), &s.Statistics)
	to = appendCount(to, `,"context":{"messages":`, s.Context.Messages)
	to = appendCount(to, `,"tokens":`, s.Context.Tokens)
	to = append(s.Context.ClearedAt.AppendJSON(append(to, `,"cleared_at":`...)), '}')
	to = appendCount(to, `,"last_sequence":`, s.LastSequence)
	to = appendCount(to, `,"last_event_sequence":`, s.LastEvent)
	to = appendID(append(to, `,"turn_id":`...), s.TurnID)
	to = s.ArchivedAt.AppendJSON(append(to, `,"archived_at":`...))
	to = s.CreatedAt.AppendJSON(append(to, `,"created_at":`...))
	to = s.UpdatedAt.AppendJSON(append(to, `,"updated_at":`...))
	to = s.StartedAt.AppendJSON(append(to, `,"started_at":`...))
	to = s.FinishedAt.AppendJSON(append(to, `,"finished_at":`...))
	return append(to, '}')
}

func appendStatistics(to []byte, s *parley.Statistics) []byte {
	to = appendCount(to, `{"messages":`, s.Messages)
	to = appendCount(to, `,"user_facing":`, s.UserFacing)
	to = appendCount(to, `,"turns":`, s.Turns)
	to = appendCount(to, `,"input_tokens":`, s.InputTokens)
	to = appendCount(to, `,"output_tokens":`, s.OutputTokens)
	to = appendCount(to, `,"cached_tokens":`, s.CachedTokens)
	to = appendCount(to, `,"unknown_calls":`, s.Unknown)
	to = append(append(to, `,"cost":`...), s.Cost.String()...)
	to = appendCount(to, `,"unpriced_calls":`, s.Unpriced)
	to = appendCount(to, `,"calls":`, s.Calls)
	to = appendCount(to, `,"cache_hits":`, s.CacheHits)
	to = appendCount(to, `,"cache_write_tokens":`, s.CacheWriteTokens)
	to = append(append(to, `,"saved":`...), s.Saved.String()...)
	return append(to, '}')
}

// appendEntry writes a row of a transcript; a message in it has its usual form.
func appendEntry(to []byte, e *engine.Entry) []byte {
	to = appendText(to, `{"role":`, string(e.Role))
	to = appendID(append(to, `,"turn_id":`...), e.TurnID)
	to = appendText(to, `,"author":{"kind":`, string(e.Author.Kind))
	to = appendID(append(to, `,"id":`...), e.Author.ID)
	to = appendText(to, `,"name":`, e.Author.Name)
	to = appendTextOrNull(to, `},"model":`, string(e.Model))
	to = appendText(to, `,"status":`, string(e.Status))
	to = append(to, `,"message":`...)
	if e.Message == nil {
		to = append(to, "null"...)
	} else {
		to = appendMessage(to, e.Message)
	}
	to = appendOther(to, `,"blocks":`, e.Blocks)
	to = appendNumberOrNull(to, `,"from_sequence":`, e.From)
	to = appendNumberOrNull(to, `,"to_sequence":`, e.To)
	return append(to, '}')
}
