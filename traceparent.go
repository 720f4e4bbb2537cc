package parley

import "context"

type traceParentKey struct{}

// WithTraceParent carries the W3C traceparent of the request that ctx belongs
// to. A message posted under it has it in its metadata, as TraceParentField, so
// that its turn joins that trace on whichever process it runs.
func WithTraceParent(ctx context.Context, traceParent string) context.Context {
	return context.WithValue(ctx, traceParentKey{}, traceParent)
}

// TraceParentFrom is the traceparent that ctx carries, "" for none.
func TraceParentFrom(ctx context.Context) string {
	traceParent, _ := ctx.Value(traceParentKey{}).(string)
	return traceParent
}

// TraceParentField is the name under which a message's metadata holds the
// traceparent of the request that posted it.
const TraceParentField = "traceparent"
