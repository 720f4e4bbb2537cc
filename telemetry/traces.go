package telemetry

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.org/parley"
	"example.org/parley/internal/metric"
)

// The bounds.
const (
	// MaxContentBytes bounds each attribute that holds what people and models write.
	MaxContentBytes = 64 << 10
	// complainEvery is how often failing exports are logged.
	complainEvery = time.Minute
)

// scopeName is the instrumentation scope of every span.
const scopeName = "parley"

// traces makes the spans. The SDK itself reads the OTEL_* settings of sampler, resource and batches.
type traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	contents bool
}

// newTraces returns nil if the environment requests no traces.
func newTraces(ctx context.Context, options Options, failures *metric.Counter) (*traces, error) {
	env := options.Env
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	to, err := newCollector(env)
	if err != nil || to == nil {
		return nil, err
	}
	contents, err := strconv.ParseBool(orFalse(env(ContentEnv)))
	if err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "%s must be true or false", ContentEnv)
	}
	described, err := resource.New(
		ctx,
		resource.WithAttributes(
			attribute.String("service.name", "parley"),
			attribute.String("service.version", options.Version),
		),
		resource.WithHost(),
		resource.WithProcessPID(),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
	if err != nil && described == nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "OTEL_RESOURCE_ATTRIBUTES cannot be read")
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&exports{to: to, log: options.Log, failures: failures}),
		sdk.WithResource(described))
	return &traces{
		provider: provider, contents: contents,
		tracer: provider.Tracer(scopeName, trace.WithInstrumentationVersion(options.Version)),
	}, nil
}

func orFalse(setting string) string {
	if setting == "" {
		return "false"
	}
	return setting
}

// exports encodes and sends batches. It counts and logs refused ones, which the SDK would otherwise report through a
// global.
type exports struct {
	to        *collector
	log       *slog.Logger
	failures  *metric.Counter
	complains atomic.Int64 // when it last did, in Unix nanoseconds
}

// ExportSpans implements sdk.SpanExporter.
func (e *exports) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	err := e.to.upload(ctx, encodeSpans(spans))
	if err == nil {
		return nil
	}
	e.failures.Inc()
	now := time.Now().UnixNano()
	if last := e.complains.Load(); now-last >= int64(complainEvery) && e.complains.CompareAndSwap(last, now) {
		e.log.Warn(
			"spans could not be sent to the OTLP endpoint and are lost; turns continue",
			"spans",
			len(spans),
			"error",
			err,
		)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (e *exports) Shutdown(context.Context) error {
	e.to.close()
	return nil
}

// traceParent returns the W3C form of the span in ctx, "" for none.
func traceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get(parley.TraceParentField)
}

// withParent makes the span named by a traceparent the parent of those begun under ctx. An unreadable traceparent is
// ignored.
func withParent(ctx context.Context, traceParent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parley.TraceParentField: traceParent})
}
