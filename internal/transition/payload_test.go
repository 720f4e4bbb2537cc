package transition

import (
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley"
)

var update = flag.Bool("update", false, "write testdata/events.golden from what the code says now")

const goldenEvents = "testdata/events.golden"

// sampleID is an id that is the same in every run.
func sampleID(n byte) parley.ID {
	return parley.ID{0: 0x01, 1: 0x9c, 6: 0x70, 8: 0x80, 15: n}
}

// awkward is a text that JSON must escape, and some that it need not.
const awkward = "a \"quote\" \\ <b>&amp;\n\t\x01 naïve 日本語 \u2028 \xff"

// payload is one event as it is told, and as it is stored when that differs.
type payload struct {
	name   string
	data   json.RawMessage
	stored json.RawMessage
}

// samples are events of every type that transitions write, with what can be absent
// both there and absent.
func samples(t testing.TB) []payload {
	t.Helper()
	must := func(data json.RawMessage, err error) json.RawMessage {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	turnID, messageID, callID := sampleID(1), sampleID(2), sampleID(3)
	position, cost := int64(-4), parley.Money(1_500_000_000)
	failure := &parley.Failure{Class: parley.ClassNetwork, Sentence: awkward}
	fullFailure := &parley.Failure{Class: parley.ClassLimit, Sentence: "Stop.", Detail: "said <so>", Attempts: 3, RetryAt: 1_700_000_000_123}
	turn := &parley.Turn{ID: turnID, WorkspaceID: sampleID(9), SessionID: sampleID(8), TriggerMessageID: messageID, Status: parley.TurnCompleted, Attempt: 2, Step: 3,
		AgentID: sampleID(7), AgentVersion: 4, Usage: parley.Tokens{InputTokens: 5}, Cost: &cost, CreatedAt: 1_700_000_000_000, StartedAt: 1_700_000_000_001, FinishedAt: 1_700_000_000_002}
	failed := *turn
	failed.Status, failed.Error, failed.Cost = parley.TurnFailed, failure, nil
	message := &parley.Message{ID: messageID, TurnID: turnID, Role: parley.RoleAssistant, Sequence: 12}
	alone := &parley.Message{ID: messageID, Role: parley.RoleUser, Sequence: 1}
	queued := &parley.Message{ID: messageID, TurnID: turnID, Position: &position, Steer: true}
	placeless := &parley.Message{ID: messageID}
	call := &parley.Call{ID: callID, MessageID: messageID, Step: 2, Attempt: 3, Model: "sim/lorem-1"}
	outside := &parley.Call{MessageID: messageID, Step: 1, Attempt: 1}
	result := func(content string) *parley.Message {
		return &parley.Message{ID: messageID, TurnID: turnID, ToolCallID: awkward, ToolName: "current_time", Content: json.RawMessage(content)}
	}
	approval := parley.Approval{ID: sampleID(4), TurnID: turnID, SessionID: sampleID(8), RootID: sampleID(8), MessageID: messageID, ToolCallID: "call_1", ToolName: "write_file",
		Fingerprint: parley.HashOf([]byte("x")), State: parley.ApprovalPending, Approvers: 2, ExpiresAt: 1_700_000_000_000, Reason: parley.AskedByRule}
	answered := approval
	answered.State, answered.Scope, answered.Covers, answered.Comment = parley.ApprovalApproved, parley.ScopeSession, parley.CoversTool, awkward
	answered.DecidedBy, answered.RootID, answered.Reason = &parley.Author{Name: "Ada"}, sampleID(9), parley.AskedToolChange
	compaction := &parley.Compaction{ID: sampleID(5), CallID: callID, MessageID: messageID, Reason: parley.CompactTokens, Attempt: 1, CoversFrom: 1, CoversThrough: 40, Error: failure}
	early := &parley.Compaction{ID: sampleID(5), Attempt: 2, Error: fullFailure}
	rows := []parley.SettledMessage{
		{MessageID: messageID, Role: parley.RoleAssistant, Status: parley.MessageCompleted, End: 5, Content: json.RawMessage(`{"text":"Hello"}`)},
		{MessageID: sampleID(6), Role: parley.RoleToolCall, Status: parley.MessageCompleted, End: 2, Content: json.RawMessage(`{"arguments":{},"id":"c","name":"n"}`)},
	}
	out := []payload{
		{name: "session.started", data: startedData(turn)},
		{name: "session.completed", data: must(endedData(turn))},
		{name: "session.failed", data: must(endedData(&failed))},
		{name: "session.waiting", data: waitingData(turnID, parley.WaitApproval)},
		{name: "session.waiting refused", data: refusedData(turnID, &parley.Refusal{Reason: parley.WaitBudget, Limit: parley.LimitCost, Sentence: awkward})},
		{name: "session.waiting limited", data: refusedData(turnID, &parley.Refusal{Reason: parley.WaitRateLimit, Sentence: "Wait."})},
		{name: "message.created", data: createdData(message)},
		{name: "message.created alone", data: createdData(alone)},
		{name: "message.queued", data: queuedData(queued)},
		{name: "message.queued placeless", data: queuedData(placeless)},
		{name: "message.removed", data: removedData(messageID)},
		{name: "step.started", data: stepStartedData(call, turnID)},
		{name: "step.started outside", data: stepStartedData(outside, turnID)},
		{name: "step.retrying", data: retryingData(turnID, 2, parley.RetryNotice{Attempt: 3, Class: parley.ClassNetwork, Wait: 1500 * time.Millisecond})},
		{name: "limit.warning", data: warningData(turnID, parley.LimitWarning{Limit: parley.LimitSteps, Scope: parley.BudgetOfTurn, Spent: 8, Of: 10})},
		{name: "limit.warning money", data: warningData(turnID, parley.LimitWarning{Limit: parley.LimitDailyCost, Scope: parley.BudgetOfAgent, Spent: 1_234_500_000, Of: 1_500_000_000})},
		{name: "tool.started", data: toolStartedData(turnID, messageID, awkward, "current_time")},
		{name: "tool.progress", data: progressData(turnID, parley.ProgressNote{ToolCallID: "c", ToolName: "n", ToolProgress: parley.ToolProgress{Progress: 0.25, Total: 1e21, Message: awkward}})},
		{name: "tool.progress unknown", data: progressData(turnID, parley.ProgressNote{ToolCallID: "c", ToolName: "n", ToolProgress: parley.ToolProgress{Progress: 3}})},
		{name: "tool.completed", data: must(toolCompletedData(result(`{"execution_time_ms":1234,"success":true}`)))},
		{name: "tool.completed untimed", data: must(toolCompletedData(result(`{"execution_time_ms":null,"success":false}`)))},
		{name: "approval.created", data: approvalData(&approval)},
		{name: "approval.resolved", data: approvalData(&answered)},
		{name: "compaction.started", data: compactionStartedData(compaction, "sim/lorem-1")},
		{name: "compaction.completed", data: compactionCompletedData(compaction, true)},
		{name: "compaction.failed", data: compactionFailedData(compaction, true)},
		{name: "compaction.failed early", data: compactionFailedData(early, false)},
	}
	for _, of := range []struct {
		name    string
		failure *parley.Failure
		rows    []parley.SettledMessage
	}{{"step.generated", nil, rows}, {"step.generated empty", nil, nil}, {"step.error", fullFailure, rows[:1]}, {"step.error cancelled", nil, rows[:1]}} {
		complete, stored, err := settledData(turnID, 3, of.failure, of.rows)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, payload{of.name, complete, stored})
	}
	return append(out, inline(t)...)
}

// inline are the events whose data is made where they are told.
func inline(t testing.TB) []payload {
	t.Helper()
	tx := &Tx{now: 1_700_000_000_123}
	head := func() *Head {
		return &Head{Session: parley.Session{ID: sampleID(8), WorkspaceID: sampleID(9), Title: awkward, Metadata: json.RawMessage("{}")}}
	}
	event := func(name string, h *Head) payload { return payload{name: name, data: h.Changes.Events[0].Data} }
	status := func(name string, h *Head) payload {
		commit, _ := tx.complete(h)
		return payload{name: name, data: commit.Feed[0].Data}
	}
	feed := func(name string, h *Head) payload { return payload{name: name, data: h.hint.Feed[0].Data} }
	running, ended, waiting, idle, updated, deleted := head(), head(), head(), head(), head(), head()
	tx.progress(running, &parley.Loop{ID: sampleID(5), TurnID: sampleID(1), Iteration: 2, Max: 10, State: parley.LoopRunning})
	tx.progress(ended, &parley.Loop{ID: sampleID(5), TurnID: sampleID(1), Iteration: 3, Max: 10, State: parley.LoopCompleted, Reason: awkward})
	waiting.Status, waiting.WaitReason = parley.SessionWaiting, parley.WaitInput
	idle.Status = parley.SessionCompleted
	tx.updatedFeed(updated)
	tx.entombOne(deleted)
	cleared := tx.now.AppendJSON(append(make([]byte, 0, 64), `{"cleared_at":`...))
	marked := appendID(append(make([]byte, 0, 128), `{"message_id":`...), sampleID(2))
	marked = strconv.AppendBool(append(marked, `,"marks":{"pinned":`...), true)
	marked = strconv.AppendBool(append(marked, `,"context_edge":`...), false)
	marked = strconv.AppendBool(append(marked, `,"set_aside":`...), true)
	replayed, err := json.Marshal(struct {
		CallID  parley.ID          `json:"call_id"`
		OfID    parley.ID          `json:"replay_of_id"`
		Model   parley.ModelID     `json:"model"`
		Outcome parley.CallOutcome `json:"outcome"`
	}{sampleID(3), sampleID(4), "sim/lorem-1", parley.CallCompleted})
	if err != nil {
		t.Fatal(err)
	}
	return []payload{
		event("loop.progress", running), event("loop.progress ended", ended),
		{name: "context.cleared", data: append(cleared, '}')},
		{name: "message.marked", data: append(marked, "}}"...)},
		{name: "call.replayed", data: replayed},
		status("session.status_changed", waiting), status("session.status_changed idle", idle),
		feed("session.updated", updated), feed("session.deleted", deleted),
		{name: "session.activated", data: clientData(awkward)},
	}
}

// TestPayloadsStayAsTheyAre holds the data of every event against what was written
// before events were described: clients read it, and databases keep it.
func TestPayloadsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var now strings.Builder
	for _, p := range samples(t) {
		now.WriteString(p.name + "\t" + string(p.data) + "\n")
		if p.stored != nil {
			now.WriteString(p.name + ", stored\t" + string(p.stored) + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(goldenEvents, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(goldenEvents)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(golden), "\n"), strings.Split(now.String(), "\n")
	if len(was) != len(is) {
		t.Errorf("%d payloads, %d before", len(is), len(was))
	}
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Errorf("was %s\n is %s", was[i], is[i])
		}
	}
}
