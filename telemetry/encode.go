package telemetry

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// The flags of a span, above those of W3C: whether its parent is in another process is known, and is so.
const (
	remoteKnown = 1 << 8
	remote      = 1 << 9
)

// encodeSpans returns spans as OTLP's TracesData in protobuf. All are of one tracer: they share resource and scope. It
// stands in for OpenTelemetry's own encoder, which needs protobuf's reflection (ADR 0064); the tests compare the two.
func encodeSpans(spans []sdk.ReadOnlySpan) []byte {
	resource, scope := spans[0].Resource(), spans[0].InstrumentationScope()
	var body message
	body.message(1, func(of *message) { // resource_spans
		of.message(1, func(m *message) { m.attributes(1, resource.Attributes()) })
		of.message(2, func(scoped *message) { // scope_spans
			scoped.message(1, func(m *message) {
				m.text(1, scope.Name)
				m.text(2, scope.Version)
				m.attributes(3, scope.Attributes.ToSlice())
			})
			for _, span := range spans {
				scoped.message(2, func(m *message) { m.span(span) })
			}
			scoped.text(3, scope.SchemaURL)
		})
		of.text(3, resource.SchemaURL())
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
		*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), value)
	}
}

func (m *message) varint(field protowire.Number, value uint64) {
	if value != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), value)
	}
}

// dropped writes a count of what the SDK left out.
func (m *message) dropped(field protowire.Number, n int) {
	m.varint(field, uint64(min(max(n, 0), math.MaxUint32)))
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

func (m *message) span(span sdk.ReadOnlySpan) {
	is, parent, status := span.SpanContext(), span.Parent(), span.Status()
	traceID, spanID, parentID := is.TraceID(), is.SpanID(), parent.SpanID()
	m.bytes(1, traceID[:])
	m.bytes(2, spanID[:])
	m.text(3, is.TraceState().String())
	if parentID.IsValid() {
		m.bytes(4, parentID[:])
	}
	m.text(5, span.Name())
	m.varint(6, uint64(span.SpanKind())) //nolint:gosec // OTLP numbers the kinds as the SDK does
	m.fixed64(7, nanoseconds(span.StartTime().UnixNano()))
	m.fixed64(8, nanoseconds(span.EndTime().UnixNano()))
	m.attributes(9, span.Attributes())
	m.dropped(10, span.DroppedAttributes())
	for _, event := range span.Events() {
		m.message(11, func(m *message) {
			m.fixed64(1, nanoseconds(event.Time.UnixNano()))
			m.text(2, event.Name)
			m.attributes(3, event.Attributes)
			m.dropped(4, event.DroppedAttributeCount)
		})
	}
	m.dropped(12, span.DroppedEvents())
	for _, link := range span.Links() {
		m.message(13, func(m *message) {
			traceID, spanID := link.SpanContext.TraceID(), link.SpanContext.SpanID()
			m.bytes(1, traceID[:])
			m.bytes(2, spanID[:])
			m.attributes(4, link.Attributes)
			m.dropped(5, link.DroppedAttributeCount)
			m.fixed32(6, flags(link.SpanContext.TraceFlags(), link.SpanContext))
		})
	}
	m.dropped(14, span.DroppedLinks())
	m.message(15, func(m *message) {
		m.text(2, status.Description)
		switch status.Code {
		case codes.Ok:
			m.varint(3, 1)
		case codes.Error:
			m.varint(3, 2)
		case codes.Unset:
		}
	})
	m.fixed32(16, flags(is.TraceFlags(), parent))
}

// nanoseconds returns a time since 1970; earlier ones are 0.
func nanoseconds(t int64) uint64 { return uint64(max(0, t)) }

func flags(own trace.TraceFlags, parent trace.SpanContext) uint32 {
	if parent.IsRemote() {
		return uint32(own) | remoteKnown | remote
	}
	return uint32(own) | remoteKnown
}

func (m *message) attributes(field protowire.Number, attributes []attribute.KeyValue) {
	for _, one := range attributes {
		m.message(field, func(m *message) {
			m.text(1, string(one.Key))
			m.message(2, func(m *message) { m.value(one.Value) })
		})
	}
}

// value writes an AnyValue, which tells zero from absent.
func (m *message) value(value attribute.Value) {
	switch value.Type() {
	case attribute.STRING:
		*m = protowire.AppendString(protowire.AppendTag(*m, 1, protowire.BytesType), value.AsString())
	case attribute.BOOL:
		*m = protowire.AppendVarint(
			protowire.AppendTag(*m, 2, protowire.VarintType),
			protowire.EncodeBool(value.AsBool()),
		)
	case attribute.INT64:
		*m = protowire.AppendVarint(
			protowire.AppendTag(*m, 3, protowire.VarintType),
			uint64(value.AsInt64()), //nolint:gosec // protobuf's int64 is these bits
		)
	case attribute.FLOAT64:
		m.fixed64(4, math.Float64bits(value.AsFloat64()))
	case attribute.STRINGSLICE:
		array(m, value.AsStringSlice(), attribute.StringValue)
	case attribute.BOOLSLICE:
		array(m, value.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		array(m, value.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		array(m, value.AsFloat64Slice(), attribute.Float64Value)
	case attribute.SLICE:
		array(m, value.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		m.message(6, func(m *message) { m.attributes(1, value.AsMap()) })
	case attribute.BYTESLICE:
		*m = protowire.AppendBytes(protowire.AppendTag(*m, 7, protowire.BytesType), value.AsByteSlice())
	case attribute.EMPTY:
	default: // of a later SDK
		*m = protowire.AppendString(protowire.AppendTag(*m, 1, protowire.BytesType), "INVALID")
	}
}

func array[T any](m *message, values []T, of func(T) attribute.Value) {
	m.message(5, func(m *message) {
		for _, one := range values {
			m.message(1, func(m *message) { m.value(of(one)) })
		}
	})
}
