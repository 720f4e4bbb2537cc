package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/tool"
)

func TestPlainTurn(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("Hello."))
	sessionID := r.session(parley.Settings{}, nil)
	turn := r.ended(r.post(sessionID, "Hi", "").Turn.ID)
	if turn.Status != parley.TurnCompleted || turn.Step != 1 || turn.Attempt != 1 {
		t.Errorf("turn %+v", turn)
	}
	want := []line{
		{parley.RoleUser, parley.MessageCompleted, "Hi"},
		{parley.RoleAssistant, parley.MessageCompleted, "Hello."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	log := r.callLog(sessionID)
	if len(log) != 1 || log[0].Outcome != parley.CallCompleted || log[0].Finish != parley.FinishStop ||
		log[0].Cost == nil || log[0].Cost.String() != "0.002" || log[0].FirstTokenMS == nil || log[0].TotalMS == nil {
		t.Errorf("call %+v", log)
	}
	body, err := json.Marshal(r.model.asked()[0])
	r.must(err)
	if log[0].RequestHash != parley.HashOf(body) {
		t.Error("request_hash is not the hash of the bytes sent")
	}
	answer := r.messages(sessionID)[1]
	if answer.Usage == nil || *answer.Usage.OutputTokens != 500 || answer.Model != scriptedID ||
		answer.TokenEstimate == 0 ||
		answer.Author.Kind != parley.AuthorAgent {
		t.Errorf("answer %+v", answer)
	}
	if got, want := r.told(
		sessionID,
	), "message.created session.started message.created step.started step.generated session.completed"; got != want {
		// the store decides the order of the first two; each must be there once
		for _, one := range strings.Fields(want) {
			if strings.Count(got, one) != strings.Count(want, one) {
				t.Errorf("events %q, want those of %q", got, want)
			}
		}
	}
}

func TestBlocksBecomeRows(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{name: "look", annotations: parley.ToolAnnotations{ReadOnly: true},
		call: func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`"seen"`), nil }}}
	r.start(nil)
	reasoning := func(block int, s string) model.Chunk {
		return model.Chunk{Kind: model.ChunkReasoning, Block: block, Text: s}
	}
	r.model.play(chunks(
		reasoning(0, "think "), reasoning(0, "first"),
		model.Chunk{Kind: model.ChunkProviderData, Block: 0, Data: []byte("signed")},
		text(1, "Then "), text(1, "say."),
		reasoning(2, "again"),
		model.Chunk{Kind: model.ChunkToolCall, Block: 3, CallID: "a", Name: "look"},
		model.Chunk{Kind: model.ChunkToolCall, Block: 4, CallID: "a", Name: "look"},
		model.Chunk{Kind: model.ChunkArguments, Block: 3, Text: `{"x"`},
		model.Chunk{Kind: model.ChunkArguments, Block: 4, Text: ``},
		model.Chunk{Kind: model.ChunkArguments, Block: 3, Text: `: 1}`},
		text(5, "After the calls."),
		done(parley.FinishToolCalls),
	), says("Done."))
	sessionID := r.session(tooled("look"), nil)
	turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn.Status != parley.TurnCompleted || turn.Step != 2 {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, ok, "think first|Then say."},
		{parley.RoleAssistant, ok, "again"},
		{parley.RoleToolCall, ok, `look {"x":1}`},
		{parley.RoleToolCall, ok, `look {}`},
		{parley.RoleAssistant, ok, "After the calls."},
		{parley.RoleToolResult, ok, `"seen"`},
		{parley.RoleToolResult, ok, `"seen"`},
		{parley.RoleAssistant, ok, "Done."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	rows := r.messages(sessionID)
	if string(rows[1].ProviderData) != "signed" {
		t.Errorf("provider data %q", rows[1].ProviderData)
	}
	if rows[3].ToolCallID == rows[4].ToolCallID || !strings.HasPrefix(rows[3].ToolCallID, "call_") ||
		len(rows[3].ToolCallID) > 64 {
		t.Errorf("call ids %q and %q", rows[3].ToolCallID, rows[4].ToolCallID)
	}
	if got := len(r.model.asked()[1].Messages); got != 3 {
		t.Errorf("the second request has %d messages, want user, assistant, tool", got)
	}
}

func TestFailures(t *testing.T) {
	rateLimited := model.NewError(parley.ClassRateLimit, true, "slow down", nil)
	network := model.NewError(parley.ClassNetwork, true, "connection refused", nil)
	badKey := model.NewError(parley.ClassAuth, false, "bad key", nil)
	broken := model.NewError(parley.ClassStream, true, "cut", nil)
	late := model.NewError(parley.ClassRateLimit, true, "quota", nil)
	late.RetryAfter = parley.LongestRetryAfter + 1
	ok, failed := parley.MessageCompleted, parley.MessageFailed
	for _, c := range []struct {
		name    string
		answers []answerFunc
		status  parley.TurnStatus
		class   parley.ErrorClass
		calls   int
		last    line
	}{
		{"retried before anything was shown", []answerFunc{fails(rateLimited), fails(network), says("Here.")},
			parley.TurnCompleted, "", 3, line{parley.RoleAssistant, ok, "Here."}},
		{"retries come to an end", []answerFunc{fails(network), fails(network), fails(network), fails(network),
			says("no")},
			parley.TurnFailed, parley.ClassNetwork, 4, line{parley.RoleAssistant, failed, ""}},
		{"a permanent error is not retried", []answerFunc{fails(badKey), says("no")},
			parley.TurnFailed, parley.ClassAuth, 1, line{parley.RoleAssistant, failed, ""}},
		{"an error after a delta", []answerFunc{fails(broken, text(0, "Half an an")), says("no")},
			parley.TurnFailed, parley.ClassStream, 1, line{parley.RoleAssistant, failed, "Half an an"}},
		{"an error after an opened call",
			[]answerFunc{fails(broken, model.Chunk{Kind: model.ChunkToolCall, Name: "x"}), says("no")},
			parley.TurnFailed, parley.ClassStream, 1, line{parley.RoleToolCall, failed, "x null"}},
		{"a stream without an end", []answerFunc{chunks(text(0, "Half"))},
			parley.TurnFailed, parley.ClassStream, 1, line{parley.RoleAssistant, failed, "Half"}},
		{"a longer Retry-After than we wait", []answerFunc{fails(late), says("no")},
			parley.TurnFailed, parley.ClassRateLimit, 1, line{parley.RoleAssistant, failed, ""}},
		{"an empty answer once", []answerFunc{chunks(text(0, " \n"), done(parley.FinishStop))},
			parley.TurnFailed, parley.ClassModel, 1, line{parley.RoleAssistant, failed, " \n"}},
		{"empty answers", []answerFunc{chunks(done(parley.FinishStop)), chunks(done(parley.FinishStop)),
			says("At last.")},
			parley.TurnCompleted, "", 3, line{parley.RoleAssistant, ok, "At last."}},
		{"nothing but empty answers",
			[]answerFunc{chunks(done(parley.FinishStop)), chunks(done(parley.FinishStop)),
				chunks(done(parley.FinishStop)), chunks(done(parley.FinishStop)), says("no")},
			parley.TurnFailed, parley.ClassModel, 4, line{parley.RoleAssistant, failed, ""}},
		{"a refusal", []answerFunc{chunks(model.Chunk{Kind: model.ChunkRefusal, Text: "I will not."},
			done(parley.FinishRefusal)), says("no")},
			parley.TurnFailed, parley.ClassContentFilter, 1, line{parley.RoleAssistant, failed, "I will not."}},
		{"a filter that says nothing", []answerFunc{chunks(done(parley.FinishRefusal)), says("no")},
			parley.TurnFailed, parley.ClassContentFilter, 1, line{parley.RoleAssistant, failed, ""}},
		{"cut at the token limit", []answerFunc{chunks(text(0, "Long"), done(parley.FinishLength))},
			parley.TurnCompleted, "", 1, line{parley.RoleAssistant, ok, "Long"}},
		{"cut before it began", []answerFunc{chunks(done(parley.FinishLength)), says("no")},
			parley.TurnFailed, parley.ClassModel, 1, line{parley.RoleAssistant, failed, ""}},
		{"a NUL", []answerFunc{says("a\x00b")}, parley.TurnCompleted, "", 1,
			line{parley.RoleAssistant, ok, "a\uFFFDb"}},
		{"an adapter that breaks its contract", []answerFunc{fails(errors.New("secret detail"))},
			parley.TurnFailed, parley.ClassInternal, 1, line{parley.RoleAssistant, failed, ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.start(nil)
			r.model.play(c.answers...)
			sessionID := r.session(parley.Settings{}, nil)
			turn := r.ended(r.post(sessionID, "Hi", "").Turn.ID)
			if turn.Status != c.status {
				t.Errorf("the turn is %s, want %s", turn.Status, c.status)
			}
			if (turn.Error == nil) != (c.class == "") ||
				turn.Error != nil && (turn.Error.Class != c.class || turn.Error.Attempts != c.calls) {
				t.Errorf("the turn's error is %+v, want class %q after %d attempts", turn.Error, c.class, c.calls)
			}
			if turn.Error != nil && strings.Contains(turn.Error.Sentence+turn.Error.Detail, "secret") {
				t.Errorf("the error shows an inner detail: %+v", turn.Error)
			}
			log := r.callLog(sessionID)
			if len(log) != c.calls || r.model.sent() != c.calls {
				t.Errorf("%d calls recorded, %d sent, want %d", len(log), r.model.sent(), c.calls)
			}
			for i, call := range log {
				if call.Attempt != i+1 || call.MessageID != log[0].MessageID || call.Outcome == parley.CallOpen {
					t.Errorf("call %d: %+v", i, call)
				}
			}
			record := r.record(sessionID)
			if diff := cmp.Diff(c.last, record[len(record)-1]); diff != "" {
				t.Error(diff)
			}
			if got := strings.Count(
				r.told(sessionID),
				string(parley.EventStepRetrying),
			); got != max(
				0,
				min(c.calls, len(log))-1,
			) {
				t.Errorf("%d step.retrying events for %d calls", got, c.calls)
			}
			// The session stays usable.
			r.model.mu.Lock()
			r.model.answers = nil
			r.model.mu.Unlock()
			r.model.play(says("Again."))
			if turn := r.ended(r.post(sessionID, "More", "").Turn.ID); turn.Status != parley.TurnCompleted {
				t.Errorf("the next turn is %s", turn.Status)
			}
		})
	}
}

func TestOwnSentenceOfAnErrorClass(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(fails(model.NewError(parley.ClassAuth, false, "bad key", nil)))
	retry := parley.RetryPolicy{Sentences: map[parley.ErrorClass]string{parley.ClassAuth: "Ask Ada for a key."}}
	sessionID := r.session(parley.Settings{}, func(s *parley.Session) { s.Retry = &retry })
	if turn := r.ended(
		r.post(sessionID, "Hi", "").Turn.ID,
	); turn.Error == nil ||
		turn.Error.Sentence != "Ask Ada for a key." {
		t.Errorf("error %+v", turn.Error)
	}
}

func TestTurnsThatCannotBegin(t *testing.T) {
	for _, c := range []struct {
		name      string
		overrides parley.Settings
		runtime   string
		want      string
	}{
		{"an unknown provider", parley.Settings{Model: "nowhere/x"}, "", "nowhere"},
		{"an unknown runtime", parley.Settings{}, "dreams", "dreams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.runtime != "" {
				r.agent.Runtime = c.runtime
				var err error
				r.agent, err = r.store.UpdateAgent(t.Context(), r.agent)
				r.must(err)
			}
			r.start(nil)
			sessionID := r.session(c.overrides, nil)
			turn := r.ended(r.post(sessionID, "Hi", "").Turn.ID)
			if turn.Status != parley.TurnFailed || turn.Error == nil ||
				!strings.Contains(turn.Error.Sentence+turn.Error.Detail, c.want) {
				t.Errorf("turn %s, error %+v; want it to name %q", turn.Status, turn.Error, c.want)
			}
		})
	}
}
