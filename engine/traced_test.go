package engine

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func TestTracedMessages(t *testing.T) {
	t.Parallel()
	const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, c := range map[string]struct {
		carried, metadata, want string
		turn                    bool
	}{
		"without a trace": {"", `{"a":1}`, `{"a":1}`, true},
		"nothing else":    {traceParent, `{}`, `{"traceparent":"` + traceParent + `"}`, true},
		"beside other metadata": {traceParent, `{"z":[1],"a":"x"}`,
			`{"a":"x","traceparent":"` + traceParent + `","z":[1]}`, true},
		"the client's own stays": {traceParent, `{"traceparent":7}`, `{"traceparent":7}`, true},
		"starts no turn":         {traceParent, `{}`, `{}`, false},
	} {
		ctx := parley.WithTraceParent(t.Context(), c.carried)
		message := store.NewMessage{Metadata: json.RawMessage(c.metadata)}
		if c.turn {
			message.TurnID = parley.NewID()
		}
		if err := traced(ctx, &message); err != nil || string(message.Metadata) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, message.Metadata, err, c.want)
		}
	}
}
