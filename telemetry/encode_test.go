package telemetry

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
	at := func(id byte, remote bool) trace.SpanContext {
		state, err := trace.ParseTraceState("vendor=state")
		if err != nil {
			t.Fatal(err)
		}
		return trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1, id}, SpanID: trace.SpanID{2, id}, TraceFlags: trace.FlagsSampled,
			TraceState: state, Remote: remote,
		})
	}
	everyType := []attribute.KeyValue{
		attribute.String("text", "größer"), attribute.String("empty", ""),
		attribute.Bool("true", true), attribute.Bool("false", false),
		attribute.Int64("negative", -1), attribute.Int64("zero", 0), attribute.Int64("large", math.MaxInt64),
		attribute.Float64("fraction", 0.25), attribute.Float64("none", 0),
		attribute.StringSlice("texts", []string{"a", "", "b"}), attribute.BoolSlice("bools", []bool{true, false}),
		attribute.Int64Slice("numbers", []int64{1, -2, 0}), attribute.Float64Slice("fractions", []float64{0, 1.5}),
		attribute.StringSlice("no texts", nil),
		{Key: "bytes", Value: attribute.ByteSliceValue([]byte{0, 255})},
		{Key: "mixed", Value: attribute.SliceValue(attribute.StringValue("a"), attribute.Int64Value(1))},
		{Key: "map", Value: attribute.MapValue(attribute.String("inner", "value"), attribute.Bool("set", true))},
		{Key: "nothing"},
	}
	kinds := []trace.SpanKind{
		trace.SpanKindUnspecified, trace.SpanKindInternal, trace.SpanKindServer, trace.SpanKindClient,
		trace.SpanKindProducer, trace.SpanKindConsumer,
	}
	described := resource.NewWithAttributes("of the resource", attribute.String("service.name", "parley"))
	var stubs tracetest.SpanStubs
	for i, kind := range kinds {
		stub := tracetest.SpanStub{
			Name: "span", SpanKind: kind, SpanContext: at(byte(i), false), StartTime: began,
			EndTime: began.Add(time.Second), Status: sdk.Status{Code: codes.Code(i % 3)}, //nolint:gosec // one of three
			Resource:             described,
			InstrumentationScope: instrumentation.Scope{Name: "parley", Version: "v", SchemaURL: "of the scope"},
		}
		if i == 1 {
			stub.Parent = at(100, true)
			stub.Attributes, stub.DroppedAttributes, stub.DroppedEvents, stub.DroppedLinks = everyType, 3, 4, 5
			stub.Status.Description = "what failed"
			stub.Events = []sdk.Event{{Name: "event", Time: began, Attributes: everyType, DroppedAttributeCount: 6}, {}}
			stub.Links = []sdk.Link{{SpanContext: at(101, true), Attributes: everyType, DroppedAttributeCount: 7},
				{SpanContext: at(102, false)}}
		}
		if i == 2 {
			stub.Parent = at(103, false)
			stub.StartTime = time.Time{}
		}
		stubs = append(stubs, stub)
	}
	var want caught
	exporter, err := otlptrace.New(t.Context(), &want)
	if err != nil {
		t.Fatal(err)
	}
	if err := exporter.ExportSpans(t.Context(), stubs.Snapshots()); err != nil {
		t.Fatal(err)
	}
	var got otlp.TracesData
	if err := proto.Unmarshal(encodeSpans(stubs.Snapshots()), &got); err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(&otlp.TracesData{ResourceSpans: want.spans}, &got, protocmp.Transform())
	if diff != "" || len(want.spans) != 1 {
		t.Errorf("OpenTelemetry's exporter and ours differ (-want +got):\n%s", diff)
	}
}
