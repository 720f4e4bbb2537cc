// Package caught describes a panic for the log: where it happened, but not its value, which may
// hold private data.
package caught

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is the error of a recovered panic, with the stack that led to it. A value that
// is no error of Go's runtime may hold anything, a request or a key: of such a one only
// its type is told.
type Panic struct {
	what  string
	stack []byte
}

// New describes what recover answered. It is called in the deferred function itself.
func New(value any) *Panic {
	p := &Panic{what: fmt.Sprintf("a value of type %T", value), stack: debug.Stack()}
	// Not errors.As: a wrapped one would bring the text of others.
	if known, ok := value.(runtime.Error); ok {
		p.what = known.Error()
	}
	return p
}

// Error is for the log: what is known, and the stack.
func (p *Panic) Error() string { return "panic: " + p.what + "\n" + string(p.stack) }

// What is the description alone.
func (p *Panic) What() string { return p.what }

// Stack is where it came from.
func (p *Panic) Stack() string { return string(p.stack) }
