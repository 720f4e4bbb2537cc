package span

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// caught is a client of OpenTelemetry's exporter that keeps what it encodes.
type caught struct{ spans []*otlp.ResourceSpans }

func (*caught) Start(context.Context) error { return nil }
func (*caught) Stop(context.Context) error  { return nil }
func (c *caught) UploadTraces(_ context.Context, spans []*otlp.ResourceSpans) error {
	c.spans = append(c.spans, spans...)
	return nil
}

// The bytes of spans say what OpenTelemetry's own exporter says, for every field of a span and type of value.
func TestSpansAreEncodedAsOpenTelemetryDoes(t *testing.T) {
	t.Parallel()
	began := time.Unix(1_700_000_000, 123_456_789)
	identity := func(id byte, remote bool) (Context, trace.SpanContext) {
		const text = "vendor=state"
		state, err := trace.ParseTraceState(text)
		if err != nil {
			t.Fatal(err)
		}
		ours := Context{
			traceID: [16]byte{1, id}, spanID: [8]byte{2, id}, flags: sampledFlag, state: text, remote: remote,
		}
		return ours, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID:    ours.traceID,
			SpanID:     ours.spanID,
			TraceFlags: trace.FlagsSampled,
			TraceState: state,
			Remote:     remote,
		})
	}
	everyType := []Attribute{
		Key("text").String("größer"), Key("empty").String(""), Key("negative").Int64(-1), Key("zero").Int(0),
		Key("large").Int64(math.MaxInt64), Key("fraction").Float64(0.25), Key("none").Float64(0),
		Key("texts").Strings("a", "", "b"), Key("no texts").Strings(),
	}
	theirTypes := []attribute.KeyValue{
		attribute.String("text", "größer"), attribute.String("empty", ""), attribute.Int64("negative", -1),
		attribute.Int("zero", 0), attribute.Int64("large", math.MaxInt64), attribute.Float64("fraction", 0.25),
		attribute.Float64("none", 0), attribute.StringSlice("texts", []string{"a", "", "b"}),
		attribute.StringSlice("no texts", nil),
	}
	var ours []*Span
	var theirs tracetest.SpanStubs
	for i, kind := range []Kind{KindInternal, KindServer, KindClient} {
		id := byte(kind)
		own, theirOwn := identity(id, false)
		span := &Span{context: own, kind: kind, name: "span", began: began, ended: began.Add(time.Second)}
		stub := tracetest.SpanStub{
			Name: "span", SpanKind: trace.SpanKind(kind), SpanContext: theirOwn, StartTime: began,
			EndTime:              began.Add(time.Second),
			Resource:             resource.NewSchemaless(attribute.String("service.name", "parley")),
			InstrumentationScope: instrumentation.Scope{Name: "parley", Version: "v"},
		}
		switch i {
		case 1:
			span.parent, stub.Parent = identity(100, true)
			span.attributes, stub.Attributes = everyType, theirTypes
			span.failed, span.failure = true, "what failed"
			stub.Status = sdk.Status{Code: codes.Error, Description: "what failed"}
			span.dropped, stub.DroppedEvents = 4, 4
			span.events = []event{{name: "event", at: began, attributes: everyType}, {}}
			stub.Events = []sdk.Event{{Name: "event", Time: began, Attributes: theirTypes}, {}}
		case 2:
			span.parent, stub.Parent = identity(103, false)
			span.began, stub.StartTime = time.Time{}, time.Time{}
		}
		ours, theirs = append(ours, span), append(theirs, stub)
	}
	var want caught
	exporter, err := otlptrace.New(t.Context(), &want)
	if err != nil {
		t.Fatal(err)
	}
	if err := exporter.ExportSpans(t.Context(), theirs.Snapshots()); err != nil {
		t.Fatal(err)
	}
	var got otlp.TracesData
	of := scope{name: "parley", version: "v", resource: []Attribute{Key("service.name").String("parley")}}
	if err := proto.Unmarshal(encode(&of, ours), &got); err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(&otlp.TracesData{ResourceSpans: want.spans}, &got, protocmp.Transform())
	if diff != "" || len(want.spans) != 1 {
		t.Errorf("OpenTelemetry's exporter and ours differ (-want +got):\n%s", diff)
	}
}

// One text that is not UTF-8 would cost its whole batch.
func TestTextsAreEncodedAsUTF8(t *testing.T) {
	t.Parallel()
	var got otlp.TracesData
	span := &Span{name: "a\xff", attributes: []Attribute{Key("key").Strings("\xfe")}}
	if err := proto.Unmarshal(encode(&scope{}, []*Span{span}), &got); err != nil {
		t.Error(err)
	}
}
