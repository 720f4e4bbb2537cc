package parley

import (
	"path"
	"strconv"
	"strings"
	"time"
)

// Time is an instant in Unix milliseconds. Times inform, and never order, lock or fence anything. The zero Time means
// "absent" and is JSON null; others are RFC 3339 in UTC with milliseconds.
type Time int64

const timeLayout = "2006-01-02T15:04:05.000Z"

// Now returns the present time by this machine's clock.
func Now() Time { return Time(time.Now().UnixMilli()) }

// TimeOf converts from the standard library.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std converts to the standard library, in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String returns the RFC 3339 form, "" when absent.
func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// AppendJSON appends the JSON form.
func (t Time) AppendJSON(to []byte) []byte {
	if t == 0 {
		return append(to, "null"...)
	}
	to = append(to, '"')
	to = t.Std().AppendFormat(to, timeLayout)
	return append(to, '"')
}

// MarshalJSON writes RFC 3339 with milliseconds, null when absent.
func (t Time) MarshalJSON() ([]byte, error) { return t.AppendJSON(make([]byte, 0, 26)), nil }

// UnmarshalJSON reads RFC 3339.
func (t *Time) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*t = 0
		return nil
	}
	text, err := strconv.Unquote(string(data))
	if err != nil {
		return Errorf(CodeInvalid, "a time is a string such as %q", "2026-01-31T12:00:00.000Z")
	}
	return t.UnmarshalText([]byte(text))
}

// MarshalText writes the RFC 3339 form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads RFC 3339.
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return Errorf(CodeInvalid, "%q is not a time: times look like 2026-01-31T12:00:00.000Z", Clip(string(text), 64))
	}
	*t = TimeOf(parsed)
	return nil
}

// LoadZone returns a time zone by its IANA name, such as Europe/Berlin. Names that mean another zone on each machine
// are CodeInvalid: "", Local, and the files localtime and posixrules, which systems keep beside the zones.
func LoadZone(name string) (*time.Location, error) {
	switch strings.ToLower(path.Base(name)) { // posix/localtime too; some file systems ignore case
	case ".", "local", "localtime", "posixrules":
		return nil, Errorf(CodeInvalid, "not the name of a time zone")
	}
	return time.LoadLocation(name)
}
