package parley

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Code is the machine-readable kind of an Error, from a closed list. One table in httpapi maps codes to HTTP statuses.
type Code string

// The codes. CodeInternal covers everything that is not the caller's fault; its message is never shown.
const (
	CodeInvalid         Code = "invalid"           // the input breaks a rule; Field names it
	CodeUnauthenticated Code = "unauthenticated"   // no key, or an unknown one
	CodeForbidden       Code = "forbidden"         // the principal's role may not do this
	CodeNotFound        Code = "not_found"         // no such thing in this workspace
	CodeConflict        Code = "conflict"          // the present state does not allow it
	CodeArchived        Code = "archived"          // session or agent is archived; the message says how to reopen
	CodeChanged         Code = "changed"           // not what If-Match names: somebody changed it meanwhile
	CodeBusy            Code = "busy"              // a turn is unfinished and the caller asked to be refused
	CodeNothingToCancel Code = "nothing_to_cancel" // no turn ever ran here
	CodeKeyReused       Code = "key_reused"        // idempotency key used before with another body
	CodeTooLarge        Code = "too_large"         // beyond a bound that the message names
	CodeUnsupported     Code = "unsupported"       // a media type or feature that is not served
	CodeRateLimited     Code = "rate_limited"      // too many requests
	CodeStorageFull     Code = "storage_full"      // the disk has no room; reads still work
	CodeUnavailable     Code = "unavailable"       // shutting down, or the store is unreachable
	CodeFenced          Code = "fenced"            // the writer lost its claim; only workers see this
	CodeOverBudget      Code = "over_budget"       // a limit on tokens or money has no room; only workers see this
	// CodeMore: something arrived before a boundary, which was refused; only workers see this
	CodeMore     Code = "more"
	CodeInternal Code = "internal"
)

// Error is the only error type that crosses package borders. Message is safe to show and tells a person what to do; the
// cause is for logs only.
type Error struct {
	Code    Code
	Message string
	Field   string // dotted path of the offending input field; "" if none
	State   string // of a conflict: the state that does not allow it; "" if none
	End     *int   // of a conflict about where to append: the present end, in bytes
	Stale   *Stale // of a conflict about a version that is not the newest: both; nil otherwise
	// RetryAfter says how long to wait after CodeRateLimited.
	RetryAfter time.Duration
	cause      error
}

// Error returns the message, with the cause, for logs.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an Error with a message for people.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Conflict makes a CodeConflict error that names the conflicting state.
func Conflict[State ~string](state State, format string, args ...any) *Error {
	return &Error{Code: CodeConflict, State: string(state), Message: fmt.Sprintf(format, args...)}
}

// Stale is the version that a change began with and the newest one of an artifact.
type Stale struct {
	Base   int `json:"base" doc:"The version that the change began with."`
	Newest int `json:"newest" doc:"The artifact's newest version."`
}

// StaleVersion makes the error for a change of an artifact that began with a version that is not the newest.
func StaleVersion(base, newest int) *Error {
	return &Error{
		Code: CodeConflict, State: "stale_version", Stale: &Stale{base, newest},
		Message: fmt.Sprintf("Your change began with version %d, and the newest is %d. Read the difference, and write "+
			"again from version %d, or ask to merge.", base, newest, newest),
	}
}

// InvalidField makes a CodeInvalid error that names the field.
func InvalidField(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: field + ": " + fmt.Sprintf(format, args...)}
}

// WrapError adds a message for people to a cause for the log.
func WrapError(code Code, cause error, message string) *Error {
	return &Error{Code: code, Message: message, cause: cause}
}

// ErrorCode returns the code of the first Error in the chain; CodeInternal for any other error, "" for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Clip shortens text to at most n bytes at a rune border, and marks the cut.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
