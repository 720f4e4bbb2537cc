// Package bench measures Parley against two references: the provider called directly, and a bare
// httputil.ReverseProxy in front of it. Every figure is a ratio of runs that alternate in one
// measuring session, because machines differ and drift; absolute values are only notes.
//
// It runs whole processes over loopback: a fake provider and a load generator that are too cheap to
// be the bottleneck, the proxy, and the real binary. bench/README.md has the figures and the
// commands that measure them.
package bench
