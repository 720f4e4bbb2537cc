package worker

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/tool"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string","minLength":2},"size":{"type":"integer"}},` +
	`"required":["city"]}`

// wanting returns overrides that ask for an object.
func wanting(change func(*parley.Output)) parley.Settings {
	raw := json.RawMessage(citySchema)
	output := &parley.Output{Schema: &raw}
	if change != nil {
		change(output)
	}
	return parley.Settings{Model: scriptedID, Output: output}
}

// lastAnswer returns the content of a session's last message.
func (r *rig) lastAnswer(sessionID parley.ID) (m parley.Message, content parley.AssistantContent) {
	r.Helper()
	all := r.messages(sessionID)
	m = all[len(all)-1]
	r.must(json.Unmarshal(m.Content, &content))
	return m, content
}

// ending returns the text of a request's last message.
func ending(request model.Request) string {
	last := request.Messages[len(request.Messages)-1]
	return last.Parts[len(last.Parts)-1].Text
}

// A model that has a format is asked in it; the object stands beside the text, as canonical JSON.
func TestAnswersAreObjects(t *testing.T) {
	for name, c := range map[string]struct{ text, object string }{
		"alone":                {`{"size": 2, "city": "Bonn"}`, `{"city":"Bonn","size":2}`},
		"in a fence":           {"Here it is:\n```json\n{\"city\":\"Bonn\"}\n```\n", `{"city":"Bonn"}`},
		"with fences in texts": {"{\"city\":\"```a```\"}", "{\"city\":\"```a```\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.model.output = model.OutputSchema
			r.start(nil)
			r.model.play(says(c.text))
			sessionID, turn := r.converse(wanting(func(o *parley.Output) { o.Strict = true }), "Which?")
			if turn.Status != parley.TurnCompleted {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
			}
			_, content := r.lastAnswer(sessionID)
			if content.Text != c.text || string(content.Object) != c.object {
				t.Errorf("the answer is %+v", content)
			}
			format := r.model.asked()[0].Parameters.ResponseFormat
			if format == nil || format.Type != parley.FormatJSONSchema || format.Name != "answer" || format.Strict {
				t.Fatalf("the model was asked for %+v; not every member is required, so it cannot be strict", format)
			}
			if string(*format.Schema) != citySchema {
				t.Errorf("the schema is %s", *format.Schema)
			}
		})
	}
}

// An object that does not satisfy the schema is asked for again with what is wrong; the answer that was refused stays
// in the record with its text, out of later requests.
func TestWrongObjectsAreAskedForAgain(t *testing.T) {
	for name, c := range map[string]struct{ text, wrong string }{
		"a rule that providers do not enforce": {`{"city":"B"}`, "/city: "},
		"a member that is missing":             {`{"size":1}`, `"city" is missing`},
		"no JSON":                              {`Bonn, I think.`, "JSON"},
		"a list":                               {`[{"city":"Bonn"}]`, "must be object"},
		"a name twice":                         {`{"city":"Bonn","city":"Berlin"}`, "city"},
		"an object that is cut":                {`{"city":"Bonn"`, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.model.output = model.OutputSchema
			r.start(nil)
			r.model.play(says(c.text), says(`{"city":"Bonn"}`), says("Later."))
			sessionID, turn := r.converse(wanting(nil), "Which?")
			if turn.Status != parley.TurnCompleted || turn.Step != 1 {
				t.Fatalf("the turn is %s in step %d: %+v", turn.Status, turn.Step, turn.Error)
			}
			want := []line{
				{parley.RoleUser, parley.MessageCompleted, "Which?"},
				{parley.RoleAssistant, parley.MessageFailed, c.text},
				{parley.RoleAssistant, parley.MessageCompleted, `{"city":"Bonn"}`},
			}
			if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
			refused := r.messages(sessionID)[1]
			if refused.Error == nil || refused.Error.Class != parley.ClassSchema ||
				!strings.Contains(refused.Error.Detail, c.wrong) {
				t.Errorf("the refused answer's error is %+v, want %s", refused.Error, c.wrong)
			}
			asked := r.model.asked()
			if told := ending(asked[1]); !strings.Contains(told, refused.Error.Detail) ||
				len(asked[1].Messages) != len(asked[0].Messages)+1 {
				t.Errorf("the second request ends with %q, after %d messages", told, len(asked[1].Messages))
			}
			calls := r.callLog(sessionID)
			if len(calls) != 2 || calls[0].Step != 1 || calls[1].Step != 1 || calls[0].Attempt+calls[1].Attempt != 3 {
				t.Errorf("the calls are %+v", calls)
			}
			for _, call := range calls {
				told := call.Manifest.Rejected
				if (call.Attempt == 2) != (told != nil) || (call.Attempt == 1) != (call.Error != nil) {
					t.Errorf("attempt %d says %+v and failed with %+v", call.Attempt, told, call.Error)
				}
			}
			posted := r.said("And?", "")
			posted.Settings = parley.Settings{Output: &parley.Output{}} // plain text, for once
			again, err := r.postNew(sessionID, posted)
			r.must(err)
			r.ended(again.Turn.ID)
			if last := r.model.asked()[2]; ending(last) != "And?" || last.Parameters.ResponseFormat != nil {
				t.Errorf("the next turn's request is %+v", last)
			}
		})
	}
}

// After the last retry the turn fails with class schema and keeps the text.
func TestObjectsThatNeverFit(t *testing.T) {
	for name, c := range map[string]struct {
		retries  *int
		finish   parley.FinishReason
		attempts int
	}{
		"by default":          {nil, parley.FinishStop, 3},
		"without retries":     {new(0), parley.FinishStop, 1},
		"cut: another is too": {nil, parley.FinishLength, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.start(nil)
			wrong := chunks(text(0, `{"size":1}`), done(c.finish))
			r.model.play(wrong, wrong, wrong, says(`{"city":"Bonn"}`))
			sessionID, turn := r.converse(wanting(func(o *parley.Output) { o.Retries = c.retries }), "Which?")
			if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassSchema ||
				turn.Error.Attempts != c.attempts || len(r.callLog(sessionID)) != c.attempts {
				t.Fatalf("after %d calls the turn is %s: %+v", len(r.callLog(sessionID)), turn.Status, turn.Error)
			}
			m, content := r.lastAnswer(sessionID)
			if m.Status != parley.MessageFailed || content.Text != `{"size":1}` || content.Object != nil {
				t.Errorf("the last answer is %s: %+v", m.Status, content)
			}
		})
	}
}

// A model without a format calls a tool whose arguments are the answer, after reasoning and other tools.
func TestObjectsOfModelsWithoutAFormat(t *testing.T) {
	r := newRig(t)
	r.model.output = model.OutputTool
	r.tools = fakeTools{{
		"look", readOnly(),
		func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil },
	}}
	r.start(nil)
	r.model.play(
		calls(parley.FinishToolCalls, "look", `{}`),
		chunks(
			model.Chunk{Kind: model.ChunkReasoning, Text: "Bonn, then."},
			model.Chunk{Kind: model.ChunkToolCall, Block: 1, CallID: "a", Name: "answer"},
			model.Chunk{Kind: model.ChunkArguments, Block: 1, Text: `{"city":`},
			model.Chunk{Kind: model.ChunkArguments, Block: 1, Text: `"Bonn"}`},
			model.Chunk{Kind: model.ChunkProviderData, Block: 1, Data: []byte("signed")},
			model.Chunk{Kind: model.ChunkToolCall, Block: 2, CallID: "b", Name: "answer"},
			model.Chunk{Kind: model.ChunkArguments, Block: 2, Text: `{"city":"Berlin"}`},
			done(parley.FinishToolCalls),
		),
	)
	settings := wanting(nil)
	settings.Tools = tooled("look").Tools
	sessionID, turn := r.converse(settings, "Which?")
	if turn.Status != parley.TurnCompleted {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	_, content := r.lastAnswer(sessionID)
	if content.Reasoning != "Bonn, then." || content.Text != `{"city":"Bonn"}` ||
		string(content.Object) != `{"city":"Bonn"}` {
		t.Errorf("the answer is %+v", content)
	}
	asked := r.model.asked()
	if choice := asked[0].Parameters.ToolChoice; choice == nil || *choice != parley.ToolChoiceRequired ||
		len(asked[0].Tools) != 2 || asked[0].Tools[0].Name != "answer" || asked[0].Parameters.ResponseFormat != nil {
		t.Errorf("the model was asked with %+v and %v", asked[0].Parameters, asked[0].Tools)
	}
}

// An equal request is answered from the response cache with the same object; an answer that was refused is not cached.
func TestObjectsFromTheResponseCache(t *testing.T) {
	r := newRig(t)
	r.model.output = model.OutputTool
	r.start(nil)
	answer := func(arguments string) answerFunc { return calls(parley.FinishToolCalls, "answer", arguments) }
	r.model.play(answer(`{"size":1}`), answer(`{"city":"Bonn"}`), answer(`{"city":"Berlin"}`))
	settings := wanting(nil)
	settings.ResponseCache = &parley.ResponseCacheSettings{}
	r.converse(settings, "Which?")
	if state := r.cacheState(); state.Stored != 1 {
		t.Errorf("the cache is %+v; only the accepted answer belongs there", state)
	}
	sessionID, turn := r.converse(settings, "Which?")
	if _, content := r.lastAnswer(sessionID); turn.Status != parley.TurnCompleted ||
		string(content.Object) != `{"city":"Berlin"}` || r.model.sent() != 3 {
		t.Errorf("after %d requests the answer is %+v", r.model.sent(), content)
	}
	sessionID, turn = r.converse(settings, "Which?")
	if _, content := r.lastAnswer(sessionID); turn.Status != parley.TurnCompleted ||
		string(content.Object) != `{"city":"Berlin"}` || r.model.sent() != 3 {
		t.Errorf("from the cache, after %d requests, the answer is %+v", r.model.sent(), content)
	}
}

// A process that dies between a refused answer and the next attempt: the next process says what was wrong, and counts
// the attempts of the first.
func TestTakeOverOfARefusedAnswer(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	r.model.play(says(`{"size":1}`), says(`{"size":2}`), says(`{"size":3}`))
	dead := dying.killBefore("BeginStep", 2)
	sessionID := r.session(wanting(func(o *parley.Output) { o.Retries = new(1) }), nil)
	turnID := r.post(sessionID, "Which?", "").Turn.ID
	r.wait("the crash", dead)
	r.takeOver()
	turn := r.ended(turnID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassSchema {
		t.Fatalf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	asked := r.model.asked()
	if told := ending(asked[len(asked)-1]); !strings.Contains(told, `"city" is missing`) {
		t.Errorf("the request after the crash ends with %q", told)
	}
	if got := len(r.callLog(sessionID)); got != 2 {
		t.Errorf("%d calls, want 2: the first process has used one", got)
	}
}
