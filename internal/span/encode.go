package span

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The flags of a span, above those of W3C: whether its parent is in another process is known, and is so.
const (
	remoteKnown = 1 << 8
	remote      = 1 << 9
)

// statusError is OTLP's number of a failed span's status.
const statusError = 2

// encode returns ended spans as OTLP's TracesData in protobuf. It stands in for OpenTelemetry's own encoder, which
// needs protobuf's reflection (ADR 0064); the tests compare the two.
func encode(of *scope, spans []*Span) []byte {
	var body message
	body.message(1, func(all *message) { // resource_spans
		all.message(1, func(m *message) { m.attributes(1, of.resource) })
		all.message(2, func(scoped *message) { // scope_spans
			scoped.message(1, func(m *message) {
				m.text(1, of.name)
				m.text(2, of.version)
			})
			for _, span := range spans {
				scoped.message(2, func(m *message) { m.span(span) })
			}
		})
	})
	return body
}

// message is a protobuf message under construction. Zero values are left out, as in proto3.
type message []byte

func (m *message) bytes(field protowire.Number, value []byte) {
	if len(value) > 0 {
		*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), value)
	}
}

func (m *message) text(field protowire.Number, value string) {
	if value != "" {
		m.string(field, value)
	}
}

// string writes a text, even if it is empty. Protobuf's readers refuse what is not UTF-8.
func (m *message) string(field protowire.Number, value string) {
	value = strings.ToValidUTF8(value, string(utf8.RuneError))
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), value)
}

func (m *message) varint(field protowire.Number, value uint64) {
	if value != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), value)
	}
}

func (m *message) fixed64(field protowire.Number, value uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), value)
}

func (m *message) fixed32(field protowire.Number, value uint32) {
	*m = protowire.AppendFixed32(protowire.AppendTag(*m, field, protowire.Fixed32Type), value)
}

// message writes a message inside this one, even if it is empty.
func (m *message) message(field protowire.Number, write func(*message)) {
	var inner message
	write(&inner)
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), inner)
}

func (m *message) span(span *Span) {
	span.mu.Lock()
	defer span.mu.Unlock()
	m.bytes(1, span.context.traceID[:])
	m.bytes(2, span.context.spanID[:])
	m.text(3, span.context.state)
	if span.parent.valid() {
		m.bytes(4, span.parent.spanID[:])
	}
	m.text(5, span.name)
	m.varint(6, uint64(span.kind)) //nolint:gosec // one of the three constants
	m.fixed64(7, nanoseconds(span.began))
	m.fixed64(8, nanoseconds(span.ended))
	m.attributes(9, span.attributes)
	for _, event := range span.events {
		m.message(11, func(m *message) {
			m.fixed64(1, nanoseconds(event.at))
			m.text(2, event.name)
			m.attributes(3, event.attributes)
		})
	}
	m.varint(12, uint64(span.dropped)) //nolint:gosec // a count
	m.message(15, func(m *message) {
		m.text(2, span.failure)
		if span.failed {
			m.varint(3, statusError)
		}
	})
	flags := uint32(span.context.flags) | remoteKnown
	if span.parent.remote {
		flags |= remote
	}
	m.fixed32(16, flags)
}

// nanoseconds returns a time since 1970; earlier ones are 0.
func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func (m *message) attributes(field protowire.Number, attributes []Attribute) {
	for _, one := range attributes {
		m.message(field, func(m *message) {
			m.text(1, string(one.key))
			m.message(2, func(m *message) { m.value(one) })
		})
	}
}

// value writes an AnyValue, which tells zero from absent.
func (m *message) value(of Attribute) {
	switch of.kind {
	case kindText:
		m.string(1, of.text)
	case kindInteger:
		*m = protowire.AppendVarint(
			protowire.AppendTag(*m, 3, protowire.VarintType),
			uint64(of.integer), //nolint:gosec // protobuf's int64 is these bits
		)
	case kindFraction:
		m.fixed64(4, math.Float64bits(of.fraction))
	case kindTexts:
		m.message(5, func(m *message) {
			for _, one := range of.texts {
				m.message(1, func(m *message) { m.string(1, one) })
			}
		})
	}
}
