package event

import (
	"reflect"

	"example.org/parley"
)

// Description describes one event.
type Description struct {
	Event    parley.EventType
	Durable  bool // stored, with an id and a sequence of its session
	Feed     bool // sent on the workspace feed, without an id or sequence
	Live     bool // sent only on streams, without an id or sequence
	Reserved bool // not sent yet
	Object        // the event's data
}

// Object describes a JSON object.
type Object struct {
	Name   string // of its struct
	Type   reflect.Type
	Doc    string
	Fields []Field // in encoding order
}

// Field describes a member of an object.
type Field struct {
	Name     string
	Doc      string
	Type     reflect.Type
	Null     bool     // it may be null
	Optional bool     // it may be absent
	Values   []string // the possible values of a closed list
	Of       string   // the schema and property with the same form, if Type does not say it
}
