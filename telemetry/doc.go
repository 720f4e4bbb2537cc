// Package telemetry shows operators what a process does: metrics for Prometheus and, if the OTEL_*
// environment asks for them, traces over OTLP. It implements observe.Observer for the worker, wraps
// the HTTP handler, and reads gauges from the store, the hub and the worker when it is scraped.
//
// It decides nothing and is authoritative for nothing: losing it loses no turn. Its output is
// bounded: no label contains an id, and names of models, providers and tools beyond a bound become
// "other". Text that people and models write appears in no metric and no log line, and in spans
// only if PARLEY_TRACE_CONTENT is true.
package telemetry
