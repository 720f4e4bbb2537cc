// Package bench measures Parley against the two references that it brings
// along: the provider called directly, and a bare httputil.ReverseProxy in front
// of it. Every figure is a ratio of runs that alternate in one session of
// measuring, because machines differ and drift; absolute values are notes.
//
// It talks to whole processes over loopback: a fake provider and a load
// generator that are cheap enough not to be the limit, the proxy, and the real
// binary. bench/README.md has the figures and the command that makes them.
package bench
