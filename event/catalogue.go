package event

import (
	"reflect"

	"example.org/parley"
)

// Description is what is known of one event.
type Description struct {
	Event    parley.EventType
	Durable  bool // stored, with an id and a sequence of its session
	Feed     bool // told on the workspace feed, without them
	Live     bool // told on streams alone, without them
	Reserved bool // sent by nothing yet
	Object        // its data
}

// Object describes a JSON object.
type Object struct {
	Name   string // of its struct
	Type   reflect.Type
	Doc    string
	Fields []Field // in the order in which they are written
}

// Field describes a member of an object.
type Field struct {
	Name     string
	Doc      string
	Type     reflect.Type
	Null     bool     // it may be null
	Optional bool     // it may be left out
	Values   []string // all that it may be, of a closed list
	Of       string   // the schema and property whose form it has, where Type does not say it
}
