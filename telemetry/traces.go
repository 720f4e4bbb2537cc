package telemetry

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/internal/metric"
	"example.org/parley/internal/span"
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

// traces makes the spans.
type traces struct {
	tracer   *span.Tracer
	to       *collector
	contents bool
}

// newTraces returns nil if the environment requests no traces.
func newTraces(options Options, failures *metric.Counter) (*traces, error) {
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
	settings, err := span.ReadSettings(env)
	if err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "%s", err.Error())
	}
	resource, err := span.ReadResource(env, process(options.Version)...)
	if err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "%s", err.Error())
	}
	return &traces{
		tracer: span.NewTracer(settings, &exports{to: to, log: options.Log, failures: failures},
			scopeName, options.Version, resource),
		to: to, contents: contents,
	}, nil
}

// process describes this process.
func process(version string) []span.Attribute {
	described := []span.Attribute{
		span.Key("service.name").String("parley"),
		span.Key("service.version").String(version),
		span.Key("process.pid").Int(os.Getpid()),
		span.Key("telemetry.sdk.name").String("parley"),
		span.Key("telemetry.sdk.language").String("go"),
		span.Key("telemetry.sdk.version").String(version),
	}
	if host, err := os.Hostname(); err == nil {
		described = append(described, span.Key("host.name").String(host))
	}
	return described
}

func orFalse(setting string) string {
	if setting == "" {
		return "false"
	}
	return setting
}

// shutdown sends the waiting spans, within ctx.
func (t *traces) shutdown(ctx context.Context) error {
	defer t.to.close()
	return t.tracer.Shutdown(ctx)
}

// exports sends batches. It counts and logs refused ones.
type exports struct {
	to        *collector
	log       *slog.Logger
	failures  *metric.Counter
	complains atomic.Int64 // when it last did, in Unix nanoseconds
}

// Export implements span.Exporter.
func (e *exports) Export(ctx context.Context, batch []byte, n int) {
	err := e.to.upload(ctx, batch)
	if err == nil {
		return
	}
	e.failures.Inc()
	now := time.Now().UnixNano()
	if last := e.complains.Load(); now-last >= int64(complainEvery) && e.complains.CompareAndSwap(last, now) {
		e.log.Warn(
			"spans could not be sent to the OTLP endpoint and are lost; turns continue",
			"spans",
			n,
			"error",
			err,
		)
	}
}
