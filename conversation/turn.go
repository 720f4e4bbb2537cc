package conversation

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/stream"
)

// Turn is the turn that a posted message started or joined. A message that starts no turn has a zero ID and nothing to
// watch.
type Turn struct {
	ID      parley.ID
	Message parley.Message // as posted; zero for a resumed turn

	conversation *Conversation
	after        int64
}

// TurnError reports a turn that failed or was cancelled.
type TurnError struct{ Turn parley.Turn }

// Error returns the failure's sentence for people.
func (e *TurnError) Error() string {
	if e.Turn.Error != nil {
		return e.Turn.Error.Sentence
	}
	return "The turn was " + string(e.Turn.Status) + "."
}

// Frames yields the turn's events and deltas, from its beginning to its terminal event. Leaving the loop cancels
// nothing; ranging again replays. Each range counts as a use of the engine and is audited.
func (t *Turn) Frames(ctx context.Context) iter.Seq2[stream.Frame, error] {
	return func(yield func(stream.Frame, error) bool) {
		if t.ID.IsZero() {
			return
		}
		home := t.conversation.home
		watched, err := home.streams.Open(ctx, home.Owner, stream.Turn(t.conversation.ID, t.after, t.ID, 0))
		if err != nil {
			yield(stream.Frame{}, err)
			return
		}
		defer watched.Close()
		watched.Frames(ctx)(yield)
	}
}

// Text yields the answer's text as it grows, without reasoning and tool calls. It ends with the turn, with a *TurnError
// if the turn failed or was cancelled.
func (t *Turn) Text(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		sent := map[parley.ID]int{} // bytes yielded of each message
		for frame, err := range t.Frames(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			for _, piece := range pieces(frame, sent) {
				if !yield(piece, nil) {
					return
				}
			}
			if frame.Kind == stream.EventFrame && frame.Event.Type.EndsTurn() {
				if err := outcome(frame.Event); err != nil {
					yield("", err)
				}
				return
			}
		}
	}
}

// All waits for the turn and returns the whole text, even with a *TurnError.
func (t *Turn) All(ctx context.Context) (string, error) {
	var text strings.Builder
	for piece, err := range t.Text(ctx) {
		if err != nil {
			return text.String(), err
		}
		text.WriteString(piece)
	}
	return text.String(), nil
}

// pieces returns the text in a frame that was not yielded yet.
func pieces(frame stream.Frame, sent map[parley.ID]int) []string {
	if frame.Kind == stream.DeltaFrame && frame.Delta.Kind == parley.KindText {
		return fresh(nil, frame.Delta.MessageID, frame.Delta.Offset, frame.Delta.Text, sent)
	}
	settles := frame.Event.Type == parley.EventStepGenerated || frame.Event.Type == parley.EventStepError
	if frame.Kind != stream.EventFrame || !settles {
		return nil
	}
	var step event.Settled
	if json.Unmarshal(frame.Event.Data, &step) != nil {
		return nil
	}
	var out []string
	for _, message := range step.Messages {
		var content parley.AssistantContent
		if message.Role == parley.RoleAssistant && json.Unmarshal(message.Content, &content) == nil {
			out = fresh(out, message.MessageID, 0, content.Text, sent)
		}
	}
	return out
}

// fresh appends the text of a message after the bytes already yielded.
func fresh(out []string, id parley.ID, offset int, text string, sent map[parley.ID]int) []string {
	end := offset + len(text)
	if end <= sent[id] {
		return out
	}
	piece := text[max(0, sent[id]-offset):]
	sent[id] = end
	return append(out, piece)
}

// outcome returns nil for a completed turn.
func outcome(last parley.Event) error {
	if last.Type == parley.EventSessionCompleted {
		return nil
	}
	var end event.TurnEnd
	if err := json.Unmarshal(last.Data, &end); err != nil {
		return parley.WrapError(parley.CodeInternal, err, "the turn's outcome cannot be read")
	}
	return &TurnError{Turn: end.Turn}
}
