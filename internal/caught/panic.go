// Package caught describes a panic for the log: where it happened, but not its value, which may
// hold private data.
package caught

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is the error of a recovered panic, with its stack. A value that is not an error of Go's runtime may contain
// anything, such as a request or a key: only its type is reported.
type Panic struct {
	what  string
	stack []byte
}

// New describes the value returned by recover. Call it in the deferred function itself.
func New(value any) *Panic {
	p := &Panic{what: fmt.Sprintf("a value of type %T", value), stack: debug.Stack()}
	// Not errors.As: a wrapping error would add its own text.
	if known, ok := value.(runtime.Error); ok {
		p.what = known.Error()
	}
	return p
}

// Error returns the description and the stack, for the log.
func (p *Panic) Error() string { return "panic: " + p.what + "\n" + string(p.stack) }

// What returns only the description.
func (p *Panic) What() string { return p.what }

// Stack returns the stack of the panic.
func (p *Panic) Stack() string { return string(p.stack) }
