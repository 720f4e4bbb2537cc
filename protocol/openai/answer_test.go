package openai

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/protocol"
)

// A client that has no stream left is refused before anything is done: it sends its request again, and would pay for
// two turns. Nothing else is there: whatever began would panic.
func TestRoomIsTakenBeforeTheTurnBegins(t *testing.T) {
	t.Parallel()
	refusal := parley.TooManyStreams("You have", 1, time.Second)
	err := new(api).complete(&protocol.Exchange{
		Body: []byte(`{"model":"parley","messages":[{"role":"user","content":"Hello"}]}`),
		Room: func() (func(), error) { return nil, refusal },
	})
	if err != refusal { //nolint:errorlint // this one
		t.Errorf("the request was answered with %v; want %v", err, refusal)
	}
}
