package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// traced puts the traceparent in ctx into the metadata of a message that starts a turn, so that the turn joins the
// trace of its request wherever and whenever it runs. A traceparent written by the client stays.
func traced(ctx context.Context, message *store.NewMessage) error {
	traceParent := parley.TraceParentFrom(ctx)
	if traceParent == "" || message.TurnID.IsZero() {
		return nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(message.Metadata, &fields); err != nil {
		return parley.WrapError(parley.CodeInternal, err, "a message's metadata cannot be read back")
	}
	if _, given := fields[parley.TraceParentField]; given {
		return nil
	}
	fields[parley.TraceParentField] = parley.AppendJSONString(nil, traceParent)
	raw, err := parley.EncodeJSON(fields)
	if err != nil {
		return err
	}
	message.Metadata, err = parley.CanonicalJSON(raw)
	return err
}

// AdmitMetrics checks that a principal may read the server's metrics, which cover all workspaces.
func (e *Engine) AdmitMetrics(ctx context.Context, principal parley.Principal) error {
	return e.enterUnaudited(ctx, principal, ReadMetrics)
}
