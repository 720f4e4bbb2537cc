// Package imports reads files in which other programs, or another Parley, keep conversations, and makes sessions of
// them. It decides what becomes of each field; it stores nothing. Every file is hostile until it is read: bytes,
// nesting, numbers, times, roles and ids are bounded, and an error names the place as a JSON pointer.
//
// A format is one file of this package: a name, a function that recognises it, a function that reads it, and a row in
// formats.
package imports

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
)

// The bounds of a file.
const (
	MaxBytes     = 32 << 20
	MaxSessions  = 1000
	MaxMessages  = 10_000 // of all its sessions
	MaxNameBytes = 1024   // of its path
	MaxFiles     = 10_000 // that its messages show
	maxNotes     = 100    // of a session
	maxIDBytes   = parley.MaxNameBytes
)

// latest is how far in the future a time may lie: clocks differ.
const latest = 24 * time.Hour

// Session is a session that a file holds.
type Session struct {
	Identity     string // of the session among those of its format: what makes a second import the same one
	Agent        string // slug of the agent that it had, if known
	Type         string
	Feature      string
	Task         string
	Key          string
	Title        string
	Instructions string
	Tags         []string
	Pinned       bool
	Archived     bool
	Background   bool
	Metadata     json.RawMessage // an object, or nil
	Status       parley.SessionStatus
	CreatedAt    parley.Time
	UpdatedAt    parley.Time
	Tokens       parley.Tokens
	Cost         parley.Money
	Messages     []parley.Message // settled, with new ids; sequences and ordinals are the store's
	Left         []Note           // what is not carried over
}

// Note says what of a file is not carried over.
type Note struct {
	Pointer string `json:"pointer"` // JSON pointer of what is meant
	Text    string `json:"text"`
}

// Leave notes that something is not carried over. The last one of too many notes says so.
func (s *Session) Leave(pointer, text string) {
	switch len(s.Left) {
	case maxNotes:
	case maxNotes - 1:
		s.Left = append(s.Left, Note{"", "more is not carried over; this list is not complete"})
	default:
		s.Left = append(s.Left, Note{pointer, text})
	}
}

// Read recognises a file and returns the name of its format and its sessions. name may be a path, from which some
// formats learn what a file is about. Its error is CodeInvalid or CodeTooLarge.
func Read(name string, text []byte, now parley.Time) (format string, sessions []Session, err error) {
	f := &file{name: name, now: now}
	switch {
	case len(name) > MaxNameBytes:
		return "", nil, parley.InvalidField("name", "is longer than %d bytes", MaxNameBytes)
	case len(text) > MaxBytes:
		return "", nil, parley.Errorf(
			parley.CodeTooLarge,
			"%s is larger than %d bytes, the most that can be imported at once",
			f.called(),
			MaxBytes,
		)
	}
	if err := parley.CheckJSON(text); err != nil {
		return "", nil, f.wrong(pointerOf(err), "%s", withoutField(err))
	}
	if err := json.Unmarshal(text, &f.top); err != nil || f.top == nil {
		return "", nil, f.wrong("", "is not a JSON object; "+importable)
	}
	for _, known := range formats() {
		if !known.detect(f) {
			continue
		}
		sessions, err := known.read(f)
		if err == nil && len(sessions) > MaxSessions {
			err = f.wrong("", "holds more than %d sessions; split it", MaxSessions)
		}
		return known.name, sessions, err
	}
	return "", nil, f.wrong("", "has an unknown format; "+importable)
}

const importable = "choose a session exported as JSON, a chat.json or a task's session.json"

// format is a kind of file.
type format struct {
	name   string
	detect func(*file) bool
	read   func(*file) ([]Session, error)
}

// formats returns the formats in the order in which they are tried.
func formats() []format {
	return []format{
		{"parley", isParley, readParley},
		{"conversation", isConversation, readConversation},
		{"session.json", isTaskSession, readTaskSession},
		{"chat.json", isChat, readChat},
	}
}

// file is a file that is being read: a JSON object.
type file struct {
	name string
	now  parley.Time
	top  map[string]json.RawMessage
}

func (f *file) called() string {
	if f.name == "" {
		return "the file"
	}
	return strconv.Quote(parley.Clip(f.name, 128))
}

// wrong is the error about a place in the file.
func (f *file) wrong(pointer, format string, args ...any) error {
	at := f.called()
	if pointer != "" {
		at += " at " + pointer
	}
	return parley.InvalidField("text", at+": "+format, args...)
}

// pointerOf makes a JSON pointer of the field that an error names.
func pointerOf(err error) string {
	field := fieldOf(err)
	if field == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}

// withoutField is an error's sentence without its field in front.
func withoutField(err error) string {
	return strings.TrimPrefix(err.Error(), fieldOf(err)+": ")
}

func fieldOf(err error) string {
	if known, ok := err.(*parley.Error); ok { //nolint:errorlint // made by this project, unwrapped
		return known.Field
	}
	return ""
}

// has reports whether the file has a member that begins with a byte: '[', '{' or '"'.
func (f *file) has(name string, begins byte) bool {
	value := f.top[name]
	return len(value) > 0 && value[0] == begins
}

// decode reads the value at a place.
func decode[T any](f *file, pointer string, raw json.RawMessage) (value T, err error) {
	if len(raw) == 0 {
		return value, nil
	}
	if json.Unmarshal(raw, &value) != nil {
		return value, f.wrong(pointer, "has the wrong JSON type")
	}
	return value, nil
}

// list reads the list at a place, as raw values.
func (f *file) list(name string) ([]json.RawMessage, error) {
	rows, err := decode[[]json.RawMessage](f, "/"+name, f.top[name])
	if err == nil && len(rows) > MaxMessages {
		err = f.wrong("/"+name, "holds more than %d entries; split the file", MaxMessages)
	}
	return rows, err
}

// members reads the object at a place.
func (f *file) members(pointer string, raw json.RawMessage) (members, error) {
	fields, err := decode[map[string]json.RawMessage](f, pointer, raw)
	if err == nil && fields == nil {
		err = f.wrong(pointer, "is not a JSON object")
	}
	return members{f, pointer, fields}, err
}

// members are the fields of an object that were not read yet.
type members struct {
	*file
	pointer string
	left    map[string]json.RawMessage
}

// take removes a member and returns it.
func (m members) take(name string) json.RawMessage {
	value := m.left[name]
	delete(m.left, name)
	if string(value) == "null" {
		return nil
	}
	return value
}

// text takes a string of bounded length.
func (m members) text(name string, most int) (string, error) {
	at := m.pointer + "/" + name
	value, err := decode[string](m.file, at, m.take(name))
	if err == nil && len(value) > most {
		err = m.wrong(at, "is longer than %d bytes", most)
	}
	return value, err
}

// time takes a time; otherwise it returns the fallback.
func (m members) time(name string, fallback parley.Time) (parley.Time, error) {
	at := m.pointer + "/" + name
	raw := m.take(name)
	if raw == nil {
		return fallback, nil
	}
	value, err := decode[parley.Time](m.file, at, raw)
	if err != nil {
		return 0, m.wrong(at, "is not a time; times look like 2026-01-31T12:00:00.000Z")
	}
	if value <= 0 || value > m.now+parley.Time(latest.Milliseconds()) {
		return 0, m.wrong(at, "lies before 1970 or in the future; correct it")
	}
	return value, nil
}

// count takes a number of tokens or the like; nil if it is missing.
func (m members) count(name string, most int64) (*int64, error) {
	at := m.pointer + "/" + name
	value, err := decode[*int64](m.file, at, m.take(name))
	if err == nil && value != nil && (*value < 0 || *value > most) {
		err = m.wrong(at, "must lie between 0 and %d", most)
	}
	return value, err
}

// rest returns the members that nothing has taken as an object; nil if there are none.
func (m members) rest() (json.RawMessage, error) {
	if len(m.left) == 0 {
		return nil, nil
	}
	raw, err := parley.EncodeJSON(m.left)
	if err == nil {
		raw, err = parley.CanonicalJSON(raw)
	}
	if err != nil {
		return nil, m.wrong(m.pointer, "cannot be kept as metadata")
	}
	if len(raw) > parley.MaxMetadataBytes {
		return nil, m.wrong(
			m.pointer,
			"has %d bytes beside its content, and metadata at most %d; shorten it",
			len(raw),
			parley.MaxMetadataBytes,
		)
	}
	return raw, nil
}

// once refuses an id that occurs twice.
func (f *file) once(seen map[string]bool, pointer, id string) error {
	if id != "" && seen[id] {
		return f.wrong(pointer, "%q occurs twice; remove one of the two", parley.Clip(id, 64))
	}
	seen[id] = true
	return nil
}

func at(list string, i int) string { return "/" + list + "/" + strconv.Itoa(i) }
