package event

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
)

// TestSettledStepsReadAlike: the data that this program encodes is read quickly, and as encoding/json reads it.
func TestSettledStepsReadAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := Settled{TurnID: parley.NewID(), Step: rapid.Int().Draw(t, "step"), Messages: []SettledMessage{}}
		if rapid.Bool().Draw(t, "failed") {
			said.Error = &parley.Failure{Sentence: rapid.String().Draw(t, "sentence")}
		}
		if rapid.Bool().Draw(t, "of a call") {
			said.Finish, said.Usage = new(
				parley.FinishLength,
			), &StepUsage{
				InputTokens: new(rapid.Int64().Draw(t, "input")),
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "messages") {
			content := json.RawMessage("null")
			if rapid.Bool().Draw(t, "kept") {
				stored, err := parley.EncodeContent(parley.AssistantContent{Text: rapid.String().Draw(t, "text")})
				if err != nil {
					t.Fatal(err)
				}
				content = parley.AppendContent(nil, parley.RoleAssistant, stored)
			}
			said.Messages = append(said.Messages, SettledMessage{
				MessageID: parley.NewID(), Role: parley.RoleAssistant, Status: parley.MessageCompleted,
				End: rapid.Int().Draw(t, "end"), Content: content,
			})
		}
		encoded, err := StepGenerated{said}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var quick, long Settled
		if !quick.readQuickly(encoded.Data()) {
			t.Fatalf("%s is not read quickly", encoded.Data())
		}
		if err := json.Unmarshal(encoded.Data(), &long); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(long, quick); diff != "" {
			t.Fatalf("%s reads differently:\n%s", encoded.Data(), diff)
		}
	})
}

// TestOtherSettledStepsAreDecoded: data that this program would not have written is read, or refused, as any JSON.
func TestOtherSettledStepsAreDecoded(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"step":2}`, ` {"turn_id":"01890a5d-ac96-774b-bcce-b302099a8057","step":2,"error":null,"messages":[]}`,
		`{"turn_id":"01890a5d-ac96-774b-bcce-b302099a8057","step":2,"error":null,"messages":[{"end":3}],"more":1}`,
		`{"turn_id":"01890a5d-ac96-774b-bcce-b302099a8057","step":2,"error":null,"messages":null}`,
		`{"turn_id":"x","step":2,"error":null,"messages":[]}`, `{"step":`, `[]`, ``,
	} {
		var long Settled
		wanted := json.Unmarshal([]byte(data), &long)
		got, err := Read[Settled](&parley.Event{Data: json.RawMessage(data)})
		if (err == nil) != (wanted == nil) {
			t.Errorf("%s: %v, want %v", data, err, wanted)
		}
		if diff := cmp.Diff(&long, got); diff != "" {
			t.Errorf("%s reads differently:\n%s", data, diff)
		}
	}
}
