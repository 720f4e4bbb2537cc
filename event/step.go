package event

import (
	"bytes"
	"encoding/json"

	"example.org/parley"
)

// StepStarted reports that a step began: one call of the model, and a streaming message for its
// answer. It is sent again for each attempt.
//
//event:durable
type StepStarted struct {
	TurnID    parley.ID      `json:"turn_id"`    // the turn of the step
	Step      int            `json:"step"`       // its number in the turn, from 1
	CallID    *parley.ID     `json:"call_id"`    // the record of the model call; null for an outside agent's message
	MessageID parley.ID      `json:"message_id"` // the message that the answer streams into
	Attempt   int            `json:"attempt"`    // the attempt at this step, from 1
	Model     parley.ModelID `json:"model"`      // provider/model; empty when an outside agent names none
}

// StepGenerating is a delta: a live piece of a message that streams. It either continues where the
// last delta of its message and kind ended, or starts over at offset 0 with the text so far. It has
// no id and no sequence; the step's end is authoritative.
//
//event:live
type StepGenerating struct {
	MessageID parley.ID          `json:"message_id"` // the message that grows
	Kind      parley.ContentKind `json:"kind"`       // which of its texts grows
	Offset    int                `json:"offset"`     // where the piece begins, in bytes of UTF-8
	End       int                `json:"end"`        // where it ends
	Delta     string             `json:"delta"`      // the piece
}

// StepRaw is a piece of what the provider sent for an answer, unprocessed: lines of its stream, or
// of its error. Only admins get it, with raw=true on the stream, while the call runs; nothing is
// replayed. Credentials are replaced by [redacted], and lines above 64 KiB are left out.
//
//event:live
type StepRaw struct {
	TurnID    parley.ID `json:"turn_id"`    // the turn of the step
	CallID    parley.ID `json:"call_id"`    // the record of the model call
	MessageID parley.ID `json:"message_id"` // the message that the answer streams into
	Offset    int64     `json:"offset"`     // where the piece begins in the provider's bytes
	End       int64     `json:"end"`        // where it ends there; the next piece begins here, unless text is missing
	Text      string    `json:"text"`       // the piece
}

// Settled is the data of the two events that end a step.
type Settled struct {
	TurnID parley.ID `json:"turn_id"` // the turn of the step
	Step   int       `json:"step"`    // its number in the turn
	// why the step failed; null when it did not, or was cancelled
	Error    *parley.Failure  `json:"error"`
	Messages []SettledMessage `json:"messages"` // what the step wrote, in order
	// why the model stopped; absent when no call of a model ended with the step, or it did not say
	Finish *parley.FinishReason `json:"finish,omitempty"`
	Usage  *StepUsage           `json:"usage,omitempty"` // what the call used; absent when there was none
}

// StepUsage is what a call of a model used, in tokens; null where the provider did not say.
type StepUsage struct {
	InputTokens      *int64 `json:"input_tokens"`       // of the request
	OutputTokens     *int64 `json:"output_tokens"`      // of the answer
	CachedTokens     *int64 `json:"cached_tokens"`      // of the request's, read from the provider's cache
	CacheWriteTokens *int64 `json:"cache_write_tokens"` // of the request's, written to it
	ReasoningTokens  *int64 `json:"reasoning_tokens"`   // of the answer's, spent on reasoning
}

// SettledMessage is a message in its final form, which replaces what streamed.
type SettledMessage struct {
	MessageID parley.ID            `json:"message_id"` // the message
	Role      parley.Role          `json:"role"`       // who it is from: assistant or tool_call
	Status    parley.MessageStatus `json:"status"`     // how it ended: completed, failed or cancelled
	End       int                  `json:"end"`        // bytes of what streamed: of the text, or of a call's arguments
	// the whole content, by role as in a message; null when the message is gone
	Content json.RawMessage `json:"content" of:"Message.content" stored:"null"`
}

// readQuickly reads the data of an event that this program has encoded, without looking at the contents. It returns
// false for data that has to be decoded.
func (s *Settled) readQuickly(data []byte) bool {
	var messages json.RawMessage
	if !readMembers(data, map[string]any{
		"turn_id": &s.TurnID, "step": &s.Step, "error": &s.Error, "messages": &messages,
		"finish": &s.Finish, "usage": &s.Usage,
	}, 2) {
		return false
	}
	s.Messages = []SettledMessage{}
	readable := true
	return parley.EachElement(messages, func(value []byte) {
		var m SettledMessage
		readable = readable && readMembers(value, map[string]any{
			"message_id": &m.MessageID, "role": &m.Role, "status": &m.Status, "end": &m.End, "content": &m.Content,
		}, 0)
		s.Messages = append(s.Messages, m)
	}) && readable
}

// readMembers reads an object with the members of to and no others, of which up to absent are missing. A
// json.RawMessage gets its value unchecked.
func readMembers(data []byte, to map[string]any, absent int) bool {
	readable, members := true, 0
	whole := parley.EachMember(data, func(name, value []byte) {
		members++
		switch field := to[string(name)].(type) {
		case nil:
			readable = false
		case *json.RawMessage:
			*field = bytes.Clone(value)
		default:
			readable = readable && json.Unmarshal(value, field) == nil
		}
	})
	return whole && readable && members >= len(to)-absent
}

// StepGenerated ends a step that completed. It is authoritative: replace what streamed
// by its messages.
//
//event:durable
type StepGenerated struct{ Settled }

// StepError ends a step that failed or was cancelled. It is authoritative: replace what
// streamed by its messages.
//
//event:durable
type StepError struct{ Settled }

// StepRetrying reports that an attempt at a step failed and another one follows after a
// pause.
//
//event:durable
type StepRetrying struct {
	TurnID  parley.ID         `json:"turn_id"` // the turn of the step
	Step    int               `json:"step"`    // its number in the turn
	Attempt int               `json:"attempt"` // the attempt that comes next
	Class   parley.ErrorClass `json:"class"`   // why the last one failed
	WaitMS  int64             `json:"wait_ms"` // milliseconds until the next one
}
