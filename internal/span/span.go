// Package span records what a process does as spans, which form traces, and sends them in batches to an Exporter. It
// follows OpenTelemetry's specification of tracers, its OTEL_* settings and W3C's headers
// (https://www.w3.org/TR/trace-context/), and knows nothing of Parley.
//
// It stands in for OpenTelemetry's SDK, which adds 0.9 MB to the program for the four operations that are used here
// (docs/adr/0093-spans-without-the-sdk.md). Its tests read the same headers and settings with the SDK, and compare the
// bytes of spans with those of OpenTelemetry's exporter.
package span

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Kind says on which side of a request a span is, by OTLP's numbers.
type Kind int

// The kinds.
const (
	KindInternal Kind = 1
	KindServer   Kind = 2
	KindClient   Kind = 3
)

// maxEvents bounds the events of a span; the oldest give way.
const maxEvents = 128

// Span is one operation with its beginning and end. A nil Span records nothing. It is safe for concurrent use.
type Span struct {
	context Context
	parent  Context // zero in the root of a trace
	tracer  *Tracer
	kind    Kind
	began   time.Time

	mu         sync.Mutex // guards what follows
	name       string
	ended      time.Time // zero while the operation runs
	attributes []Attribute
	events     []event
	dropped    int // events that gave way
	failed     bool
	failure    string
}

// event is something that happened during a span.
type event struct {
	name       string
	at         time.Time
	attributes []Attribute
}

type spanKey struct{}

// FromContext returns the span that began with ctx, nil for none or for one of another process.
func FromContext(ctx context.Context) *Span {
	span, _ := ctx.Value(spanKey{}).(*Span)
	if span == nil || span.tracer == nil {
		return nil
	}
	return span
}

// records reports whether anybody will see what is recorded.
func (s *Span) records() bool { return s != nil && s.context.sampled() }

// SetName replaces the name.
func (s *Span) SetName(name string) {
	if !s.records() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
}

// Set sets attributes; the last value of a key counts, and an attribute without a key is ignored.
func (s *Span) Set(attributes ...Attribute) {
	if !s.records() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range attributes {
		if one.key == "" {
			continue
		}
		same := func(other Attribute) bool { return other.key == one.key }
		if i := slices.IndexFunc(s.attributes, same); i >= 0 {
			s.attributes[i] = one
			continue
		}
		s.attributes = append(s.attributes, one)
	}
}

// Event records that something happened now.
func (s *Span) Event(name string, attributes ...Attribute) {
	if !s.records() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == maxEvents {
		s.events = slices.Delete(s.events, 0, 1)
		s.dropped++
	}
	s.events = append(s.events, event{name: name, at: time.Now(), attributes: attributes})
}

// Fail marks the operation as failed, with a sentence or a class.
func (s *Span) Fail(failure string) {
	if !s.records() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.failure = true, failure
}

// End ends the span and leaves it to the tracer, once: nothing changes it afterwards.
func (s *Span) End() {
	if !s.records() {
		return
	}
	s.mu.Lock()
	again := !s.ended.IsZero()
	if !again {
		s.ended = s.began.Add(time.Since(s.began)) // by the monotonic clock
	}
	s.mu.Unlock()
	if !again {
		s.tracer.send(s)
	}
}
