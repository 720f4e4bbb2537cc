package span

import (
	"context"
	"encoding/hex"
	"strings"
)

// The names of W3C's headers.
const (
	TraceParent = "traceparent"
	TraceState  = "tracestate"
)

const (
	sampledFlag   = 1
	knownFlags    = 3   // sampled and random; version 00 has no others
	maxTraceState = 512 // bytes; W3C asks for as many at least
)

// Context identifies a span, of this process or another one.
type Context struct {
	traceID [16]byte
	spanID  [8]byte
	flags   byte
	state   string // W3C's tracestate: the notes of other systems, passed on
	remote  bool   // of another process
}

func (c Context) valid() bool   { return c.traceID != [16]byte{} && c.spanID != [8]byte{} }
func (c Context) sampled() bool { return c.flags&sampledFlag != 0 }

// TraceID returns the trace's id in hexadecimal.
func (c Context) TraceID() string { return hex.EncodeToString(c.traceID[:]) }

// SpanID returns the span's id in hexadecimal.
func (c Context) SpanID() string { return hex.EncodeToString(c.spanID[:]) }

// ContextOf returns the identity of the span that began with ctx, or that Join named; false for none.
func ContextOf(ctx context.Context) (Context, bool) {
	span, _ := ctx.Value(spanKey{}).(*Span)
	if span == nil {
		return Context{}, false
	}
	return span.context, true
}

// Parent returns the traceparent of the span in ctx, "" for none.
func Parent(ctx context.Context) string {
	of, ok := ContextOf(ctx)
	if !ok {
		return ""
	}
	return "00-" + of.TraceID() + "-" + of.SpanID() + "-" + hex.EncodeToString([]byte{of.flags & knownFlags})
}

// Join makes the span of another process the parent of those begun under ctx. It ignores an unreadable traceparent, and
// a tracestate that is too long or holds anything but printable ASCII.
func Join(ctx context.Context, traceParent, traceState string) context.Context {
	parent, ok := parseTraceParent(traceParent)
	if !ok {
		return ctx
	}
	if len(traceState) <= maxTraceState && !strings.ContainsFunc(traceState, func(r rune) bool {
		return r < ' ' || r > '~'
	}) {
		parent.state = traceState
	}
	parent.remote = true
	return context.WithValue(ctx, spanKey{}, &Span{context: parent})
}

// parseTraceParent reads "00-TRACE-SPAN-FLAGS" in lower case. Later versions may append more.
func parseTraceParent(text string) (Context, bool) {
	const length = 55
	if len(text) < length || len(text) > length && (text[:2] == "00" || text[length] != '-') {
		return Context{}, false
	}
	var of Context
	var version, flags [1]byte
	for _, field := range []struct {
		into     []byte
		from, to int
	}{{version[:], 0, 2}, {of.traceID[:], 3, 35}, {of.spanID[:], 36, 52}, {flags[:], 53, length}} {
		digits := text[field.from:field.to]
		if _, err := hex.Decode(field.into, []byte(digits)); err != nil || strings.ToLower(digits) != digits {
			return Context{}, false
		}
		if field.to < length && text[field.to] != '-' {
			return Context{}, false
		}
	}
	if version[0] == 0xff || version[0] == 0 && flags[0] > knownFlags || !of.valid() {
		return Context{}, false
	}
	of.flags = flags[0] & knownFlags
	return of, true
}
