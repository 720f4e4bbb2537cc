// Package metric counts what a process does and writes the counts in Prometheus' text format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). It knows nothing of Parley.
//
// It stands in for Prometheus' own client, which brings protobuf's reflection into the program: 1.9 MB
// (docs/adr/0064-metrics-and-spans-without-protobuf.md). Its tests read its text with that client's parser and compare
// the metrics of the runtime and the process with those that the client collects.
package metric
