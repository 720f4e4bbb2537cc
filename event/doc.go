// Package event describes the events of a session: one documented struct per event. The structs are
// the only source: from them `make generate` writes the encoders in this package, the constants of
// parley.EventType, the catalogue for the OpenAPI document, the page's types and docs/events.md.
//
// A directive at the end of its comment makes a struct an event:
//
//	//event:durable        stored, with an id and a sequence of its session
//	//event:feed           a hint on the workspace feed: not stored, not replayed
//	//event:durable,feed   both
//	//event:live           a frame of a stream: not stored
//	//event:live,reserved  described, but not sent yet
//
// The event's type follows from the struct's name: StepStarted is step.started. A nil pointer is
// encoded as null; a zero field tagged omitzero or omitempty, and a field of a nil embedded
// pointer, is left out. The names, the order and the bytes of the encoding are a promise: clients
// read them, and databases store them.
package event

import (
	"encoding/json"

	"example.org/parley"
)

// Payload is the data of an event: a pointer to one of the structs of this package.
type Payload interface {
	Type() parley.EventType
}

// Encoded is the data of one event, ready to be stored and sent. Only the structs of
// this package make one, so nothing else decides what an event says.
type Encoded struct {
	kind         parley.EventType
	data, stored json.RawMessage
}

// Type is the event's type.
func (e Encoded) Type() parley.EventType { return e.kind }

// Data is what watchers are told: one JSON object.
func (e Encoded) Data() json.RawMessage { return e.data }

// Stored is what the store keeps when that differs from Data, else nil.
func (e Encoded) Stored() json.RawMessage { return e.stored }

// Read reads an event's data as T, the struct of its type or one with a part of its members. It never returns nil.
func Read[T any](e *parley.Event) (*T, error) {
	data := new(T)
	if s, is := any(data).(*Settled); is && s.readQuickly(e.Data) {
		return data, nil
	}
	data = new(T)
	return data, json.Unmarshal(e.Data, data)
}

// Decode reads an event's data into the struct of its type. It returns nil for a
// type that this program does not know: skip it.
func Decode(kind parley.EventType, data json.RawMessage) (Payload, error) {
	payload := New(kind)
	if payload == nil {
		return nil, nil
	}
	if err := json.Unmarshal(data, payload); err != nil {
		return nil, parley.WrapError(parley.CodeInternal, err, "the data of "+string(kind)+" cannot be read")
	}
	return payload, nil
}
