// Package telemetry tells operators what a process does: metrics for Prometheus
// and, when the OTEL_* environment asks for them, traces over OTLP. It implements
// observe.Observer for the worker, wraps the HTTP handler, and reads gauges from
// the store, the hub and the worker when it is scraped.
//
// It decides nothing and owns no truth: losing it loses no turn. What it shows
// is bounded. No label holds an id; names of models, providers and tools are
// counted up to a bound and are "other" beyond it. What people and models write
// is in no metric and no log line, and in spans only when PARLEY_TRACE_CONTENT
// is true.
package telemetry
