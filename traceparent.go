package parley

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
)

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

// w3cTraceParent is a traceparent of any version, without what later ones may add.
var w3cTraceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceParentOf is the traceparent in a message's metadata, "" for none and for what
// is not one: a client may have put there what it likes.
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
