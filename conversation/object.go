package conversation

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/jsonschema-go/jsonschema"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/partialjson"
	"example.org/parley/stream"
)

// Partial is an object that grows while a model writes it.
type Partial[T any] struct {
	Patch []event.PatchOperation // what is new, until the next piece; nil when the object is whole
	Whole bool                   // the answer satisfies the schema and is in the record

	document *partialjson.Document // nil when the object is whole
	object   json.RawMessage
}

// Value decodes the object as far as it is known; call it before the next one is yielded. A field whose type refuses
// half a value, as time.Time does, is an error until the object is whole.
func (p *Partial[T]) Value() (value T, err error) {
	raw := p.object
	if !p.Whole {
		if raw, err = p.document.JSON(); err != nil {
			return value, err
		}
	}
	return value, json.Unmarshal(raw, &value)
}

// StreamObject says something and yields the object that the answer becomes, piece by piece and then whole. The schema
// is T's, which must be a struct or a map; the conversation's model, tools and other settings stay. It posts the
// message when the range begins, and ends with the turn: with a *TurnError of class schema if no answer satisfied the
// schema. An answer that is refused is followed by another one, whose first piece replaces it.
func StreamObject[T any](ctx context.Context, c *Conversation, text string) iter.Seq2[Partial[T], error] {
	return func(yield func(Partial[T], error) bool) {
		turn, err := askFor[T](ctx, c, text)
		if err != nil {
			yield(Partial[T]{}, err)
			return
		}
		var document partialjson.Document
		for frame, err := range turn.Frames(ctx) {
			if err != nil {
				yield(Partial[T]{}, err)
				return
			}
			switch {
			case frame.Kind == stream.PatchFrame:
				if err := document.Apply(frame.Patch.Patch); err != nil {
					yield(Partial[T]{}, err)
					return
				}
				if !yield(Partial[T]{Patch: frame.Patch.Patch, document: &document}, nil) {
					return
				}
			case frame.Kind != stream.EventFrame:
			case frame.Event.Type == parley.EventStepGenerated:
				if object := objectOf(
					frame.Event,
				); object != nil &&
					!yield(Partial[T]{Whole: true, object: object}, nil) {
					return
				}
			case frame.Event.Type.EndsTurn():
				if err := outcome(frame.Event); err != nil {
					yield(Partial[T]{}, err)
				}
				return
			}
		}
	}
}

// askFor posts a message whose answer is to be a T.
func askFor[T any](ctx context.Context, c *Conversation, text string) (*Turn, error) {
	described, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "this type has no JSON Schema")
	}
	raw, err := json.Marshal(described)
	if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "this type has no JSON Schema")
	}
	input, err := userInput(text)
	if err != nil {
		return nil, err
	}
	input.Output = &parley.Output{Schema: (*json.RawMessage)(&raw)}
	return c.Post(ctx, input)
}

// objectOf returns the object of a settled step; nil if it has none.
func objectOf(settled parley.Event) (object json.RawMessage) {
	var step event.Settled
	if json.Unmarshal(settled.Data, &step) != nil {
		return nil
	}
	for _, message := range step.Messages {
		var content parley.AssistantContent
		if message.Role == parley.RoleAssistant && json.Unmarshal(message.Content, &content) == nil &&
			content.Object != nil {
			object = content.Object
		}
	}
	return object
}
