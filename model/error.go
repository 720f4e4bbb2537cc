package model

import (
	"time"

	"example.org/parley"
)

// Error is a failed model request, reported by the adapter. Its text is redacted: no credential of the call is in
// Message or Detail.
type Error struct {
	Class      parley.ErrorClass
	Retryable  bool          // false: another attempt cannot help (bad key, exhausted quota, refusal …)
	Status     int           // HTTP status, 0 without an answer
	RetryAfter time.Duration // the provider's minimum wait before the next attempt, 0 if it named none
	Message    string        // what the provider said, clipped to 1 KiB
	cause      error
}

// NewError makes an Error with a cause for the log.
func NewError(class parley.ErrorClass, retryable bool, message string, cause error) *Error {
	return &Error{Class: class, Retryable: retryable, Message: parley.Clip(message, 1024), cause: cause}
}

// Error returns the class and what the provider said.
func (e *Error) Error() string {
	text := string(e.Class) + ": " + e.Message
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }
