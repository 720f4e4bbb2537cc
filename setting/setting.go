// Package setting describes each setting of agents, sessions, messages and forks once:
// its name, type, bounds and documentation, where it may be set, and how the nearest
// scope wins. Validation, merging, patches, JSON, the OpenAPI document, the flags of the
// command line and the forms of the page follow from these descriptions.
//
// parley.Settings holds the values; if one of its fields has no description here, the tests of this
// package fail. The descriptions do not change after the program's start and are safe for
// concurrent use.
package setting

import (
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
)

// Scope is where settings are set. Scopes are combined with |.
type Scope uint8

// The scopes, widest first. A fork takes over its parent session's settings, except those set by the request for it.
const (
	Agent Scope = 1 << iota
	Session
	Message
	Fork
)

// String names a single scope.
func (s Scope) String() string {
	switch s {
	case Agent:
		return "agent"
	case Session:
		return "session"
	case Message:
		return "message"
	case Fork:
		return "fork"
	}
	return "scope"
}

// Scopes lists the scopes, widest first.
func Scopes() []Scope { return []Scope{Agent, Session, Message, Fork} }

// Kind is how a value is written in a flag and in a form.
type Kind string

// The kinds.
const (
	Text    Kind = "text"    // a string
	Choice  Kind = "choice"  // one of Description.Choices
	Number  Kind = "number"  // with a fraction
	Integer Kind = "integer" // without
	Switch  Kind = "switch"  // true or false
	Object  Kind = "object"  // a JSON object
	List    Kind = "list"    // a JSON array
)

// Wins says how the nearest scope prevails over wider ones.
type Wins string

// The ways to prevail.
const (
	Whole  Wins = "whole"  // it replaces the wider one
	ByPart Wins = "part"   // each part that it sets replaces that part of the wider one
	Beside Wins = "beside" // both apply; the nearer is consulted first
)

// Description says what a setting is.
type Description struct {
	Name    string // in JSON, and in flags with - for _
	Label   string // shown in forms
	Doc     string // a sentence or more
	Kind    Kind
	Scopes  Scope
	Wins    Wins
	Choices []string // for Choice
	Min     float64  // for Number and Integer, unless Max is 0
	Max     float64
	Example string // a value as JSON

	// Variants are the forms of an Object whose member kind tells them apart; nil: it has one form, which a page has
	// no fields for.
	Variants []Variant
}

// Variant is one form of an Object.
type Variant struct {
	Kind    string   // the value of the member kind
	Label   string   // shown in forms
	Doc     string   // a sentence: what it means
	Members []Member // that it has besides kind
}

// Member is a part of a Variant that one field of a form sets.
type Member struct {
	Name    string // in JSON
	Label   string // shown in forms
	Kind    Kind   // Integer or Switch
	Min     int    // for Integer
	Max     int
	Default string // what holds without it, for people, or what a form fills in if it is needed; "" if nothing does
	Needed  bool   // it must be set
}

// Bounded reports whether Min and Max bound the value.
func (d *Description) Bounded() bool { return d.Max != 0 }

// checkBounds refuses a number outside the bounds.
func (d *Description) checkBounds(value float64) error {
	if !d.Bounded() || value >= d.Min && value <= d.Max { // NaN is not in bounds
		return nil
	}
	return parley.InvalidField(d.Name, "must lie between %s and %s", plain(d.Min), plain(d.Max))
}

// oneOf refuses a text that is not one of the choices.
func (d *Description) oneOf(value string) error {
	if len(d.Choices) == 0 || slices.Contains(d.Choices, value) {
		return nil
	}
	return parley.InvalidField(d.Name, "%q is not one of %s", parley.Clip(value, 32), strings.Join(d.Choices, ", "))
}

// plain writes a bound without an exponent.
func plain(bound float64) string { return strconv.FormatFloat(bound, 'f', -1, 64) }

// DocOf returns the documentation for a scope: what the setting is, and what it does to that of a wider scope.
func (d *Description) DocOf(scope Scope) string {
	var wider string
	switch scope {
	case Session:
		wider = "the agent's"
	case Message:
		wider = "the session's and the agent's"
	case Fork:
		wider = "the parent session's"
	default:
		return d.Doc
	}
	switch d.Wins {
	case ByPart:
		return d.Doc + " Each part that it sets replaces that part of " + wider + "."
	case Beside:
		if scope != Fork {
			return d.Doc + " Nearer than " + wider + "."
		}
	case Whole:
	}
	return d.Doc + " Replaces " + wider + "."
}

// In reports whether the setting may be set in a scope.
func (d *Description) In(scope Scope) bool { return d.Scopes&scope != 0 }

// Setting is one setting, of any type.
type Setting interface {
	Describe() *Description
	// IsSet reports whether the settings set it.
	IsSet(s *parley.Settings) bool
	// IsNamed reports whether a patch sets or clears it.
	IsNamed(p *parley.SettingsPatch) bool
	// IsShown reports whether an agent shows it even if not set.
	IsShown() bool
	// AppendValue appends the value as JSON, null if not set.
	AppendValue(to []byte, s *parley.Settings) ([]byte, error)

	fill(near, wider *parley.Settings)
	inherit(near, wider *parley.Settings)
	apply(p *parley.SettingsPatch, s *parley.Settings)
	complete(s *parley.Settings)
	check(s *parley.Settings) error
}

// Of is a setting whose value is a T. The zero value of T means "not set".
type Of[T comparable] struct {
	Description
	field  func(*parley.Settings) *T
	change func(*parley.SettingsPatch) *parley.Change[T]

	parts func(near, wider T) T            // for ByPart, if both are set: near with its gaps filled
	apart func(near, wider T) T            // like parts, between scopes where some parts count separately; nil: parts
	empty func() T                         // an agent's value if not set; nil: none
	valid func(name string, value T) error // nil: any value is valid
}

// Describe implements Setting.
func (o *Of[T]) Describe() *Description { return &o.Description }

// IsSet implements Setting.
func (o *Of[T]) IsSet(s *parley.Settings) bool {
	var none T
	return *o.field(s) != none
}

// IsNamed implements Setting.
func (o *Of[T]) IsNamed(p *parley.SettingsPatch) bool { return o.change(p).Set }

// IsShown implements Setting.
func (o *Of[T]) IsShown() bool { return o.empty != nil }

// Nearest returns the effective value of several scopes, widest first: the zero value if none sets it.
func (o *Of[T]) Nearest(scopes ...*parley.Settings) (value T) {
	for _, scope := range scopes {
		value = over(*o.field(scope), value, o.between())
	}
	return value
}

// over returns the nearer value, or the wider one if the nearer is not set.
func over[T comparable](near, wider T, parts func(near, wider T) T) T {
	var none T
	switch {
	case near == none:
		return wider
	case wider == none || parts == nil:
		return near
	}
	return parts(near, wider)
}

func (o *Of[T]) fill(near, wider *parley.Settings) {
	to := o.field(near)
	*to = over(*to, *o.field(wider), o.parts)
}

func (o *Of[T]) inherit(near, wider *parley.Settings) {
	to := o.field(near)
	*to = over(*to, *o.field(wider), o.between())
}

// between returns the merge of parts between two scopes.
func (o *Of[T]) between() func(near, wider T) T {
	if o.apart != nil {
		return o.apart
	}
	return o.parts
}

func (o *Of[T]) apply(p *parley.SettingsPatch, s *parley.Settings) {
	if change := o.change(p); change.Set {
		*o.field(s) = change.Value
	}
}

func (o *Of[T]) complete(s *parley.Settings) {
	if o.empty != nil && !o.IsSet(s) {
		*o.field(s) = o.empty()
	}
}

func (o *Of[T]) check(s *parley.Settings) error {
	if !o.IsSet(s) {
		return nil
	}
	if o.valid != nil {
		return o.valid(o.Name, *o.field(s))
	}
	switch value := any(o.field(s)).(type) {
	case **float64:
		return o.checkBounds(**value)
	case **int:
		return o.checkBounds(float64(**value))
	case **string:
		return o.oneOf(**value)
	}
	return nil
}

// AppendValue implements Setting.
func (o *Of[T]) AppendValue(to []byte, s *parley.Settings) ([]byte, error) {
	if !o.IsSet(s) {
		return append(to, "null"...), nil
	}
	switch value := any(o.field(s)).(type) { // a pointer avoids a copy to the heap
	case *parley.ModelID:
		return parley.AppendJSONString(to, string(*value)), nil
	case **string:
		return parley.AppendJSONString(to, **value), nil
	case **int:
		return strconv.AppendInt(to, int64(**value), 10), nil
	}
	value, err := parley.EncodeJSON(*o.field(s))
	return append(to, value...), err
}
