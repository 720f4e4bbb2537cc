package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"example.org/parley/internal/metric"
	"example.org/parley/observe"
)

// The bounds.
const (
	// MaxScrapes is how many scrapes are answered at once; more get 503.
	MaxScrapes = 4
	// ShutdownTime is how long Shutdown waits for spans to be sent.
	ShutdownTime = 5 * time.Second
)

// ContentEnv names the setting that lets spans contain what people and models write.
const ContentEnv = "PARLEY_TRACE_CONTENT"

// Options configure New. Zero fields are fine.
type Options struct {
	Version string
	Log     *slog.Logger
	Env     func(string) string // the environment; nil: nothing is set
}

// Telemetry is the metrics and traces of one process. It is safe for concurrent use.
type Telemetry struct {
	registry *metric.Registry
	metrics  *metrics
	gauges   *gauges
	traces   *traces // nil without
	log      *slog.Logger
}

var _ observe.Observer = (*Telemetry)(nil)

// New sets up metrics and, if the environment names an OTLP endpoint, traces, which Shutdown ends. It returns
// CodeInvalid for an unusable setting.
func New(ctx context.Context, options Options) (*Telemetry, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Env == nil {
		options.Env = func(string) string { return "" }
	}
	t := &Telemetry{registry: &metric.Registry{}, gauges: newGauges(), log: options.Log}
	t.metrics = newMetrics()
	t.registry.Register(metric.NewRuntime(), metric.NewProcess(), t.gauges)
	t.registry.Register(t.metrics.all()...)
	t.metrics.begin()
	t.metrics.build.With(options.Version, runtime.Version()).Set(1)
	var err error
	if t.traces, err = newTraces(ctx, options, t.metrics.exportFailures.With()); err != nil {
		return nil, err
	}
	return t, nil
}

// Watch sets the sources of a scrape. Call it before the first one.
func (t *Telemetry) Watch(sources Sources) { t.gauges.sources = sources }

// Shutdown sends the waiting spans, within ctx and ShutdownTime, and ends the goroutine that sends them. Spans that
// cannot be sent are lost, which only the log reports.
func (t *Telemetry) Shutdown(ctx context.Context) {
	if t.traces == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, ShutdownTime)
	defer stop()
	if err := t.traces.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last spans could not be sent to the OTLP endpoint", "error", err)
	}
}

// Metrics answers a scrape. The caller decides who may ask.
func (t *Telemetry) Metrics() http.Handler { return t.registry.Handler(MaxScrapes) }
