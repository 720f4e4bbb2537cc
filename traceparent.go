package parley

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
)

type traceParentKey struct{}

// WithTraceParent attaches the W3C traceparent of a request to its ctx. A message posted under it carries it in its
// metadata, as TraceParentField, so that its turn joins that trace in whatever process it runs.
func WithTraceParent(ctx context.Context, traceParent string) context.Context {
	return context.WithValue(ctx, traceParentKey{}, traceParent)
}

// TraceParentFrom returns the traceparent in ctx, "" for none.
func TraceParentFrom(ctx context.Context) string {
	traceParent, _ := ctx.Value(traceParentKey{}).(string)
	return traceParent
}

// TraceParentField is the name under which a message's metadata holds the traceparent of the request that posted it.
const TraceParentField = "traceparent"

// w3cTraceParent matches a traceparent of any version, without later additions.
var w3cTraceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceParentOf returns the traceparent in a message's metadata, "" if it is absent or invalid: clients may put
// anything there.
func TraceParentOf(metadata json.RawMessage) string {
	if !bytes.Contains(metadata, []byte(`"`+TraceParentField+`"`)) {
		return ""
	}
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(metadata, &fields) != nil || json.Unmarshal(fields[TraceParentField], &text) != nil ||
		!w3cTraceParent.MatchString(text) {
		return ""
	}
	return text
}
