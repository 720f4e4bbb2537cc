package transition

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/setting"
	"example.org/parley/store"
)

var update = flag.Bool("update", false, "rewrite testdata/events.golden from the current code")

const goldenEvents = "testdata/events.golden"

// sampleID returns an id that is the same in every run.
func sampleID(n byte) parley.ID {
	return parley.ID{0: 0x01, 1: 0x9c, 6: 0x70, 8: 0x80, 15: n}
}

// awkward has characters that JSON must escape, and some that it need not.
const awkward = "a \"quote\" \\ <b>&amp;\n\t\x01 naïve 日本語 \u2028 \xff"

// payload is the data of an event as told, and as stored if that differs. Its name is the event's type, plus what is
// special about it.
type payload struct {
	name         string
	kind         parley.EventType
	data, stored json.RawMessage
}

func told(name string, e event.Encoded) payload { return payload{name, e.Type(), e.Data(), e.Stored()} }

// samples returns events of every type that transitions write, with optional parts present and absent.
func samples(t testing.TB) []payload {
	t.Helper()
	must := func(told event.Encoded, err error) event.Encoded {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	turnID, messageID, callID := sampleID(1), sampleID(2), sampleID(3)
	position, cost := int64(-4), parley.Money(1_500_000_000)
	failure := &parley.Failure{Class: parley.ClassNetwork, Sentence: awkward}
	fullFailure := &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: "Stop.",
		Detail:   "said <so>",
		Attempts: 3,
		RetryAt:  1_700_000_000_123,
	}
	turn := &parley.Turn{
		ID:               turnID,
		WorkspaceID:      sampleID(9),
		SessionID:        sampleID(8),
		TriggerMessageID: messageID,
		Status:           parley.TurnCompleted,
		Attempt:          2,
		Step:             3,
		AgentID: sampleID(
			7,
		),
		AgentVersion: 4,
		Usage:        parley.Tokens{InputTokens: 5},
		Cost:         &cost,
		CreatedAt:    1_700_000_000_000,
		StartedAt:    1_700_000_000_001,
		FinishedAt:   1_700_000_000_002,
	}
	failed, stopped := *turn, *turn
	stopped.Status = parley.TurnCancelled
	failed.Status, failed.Error, failed.Cost = parley.TurnFailed, failure, nil
	message := &parley.Message{ID: messageID, TurnID: turnID, Role: parley.RoleAssistant, Sequence: 12}
	alone := &parley.Message{ID: messageID, Role: parley.RoleUser, Sequence: 1}
	queued := &parley.Message{ID: messageID, TurnID: turnID, Position: &position, Steer: true}
	placeless := &parley.Message{ID: messageID}
	call := &parley.Call{ID: callID, MessageID: messageID, Step: 2, Attempt: 3, Model: "sim/lorem-1"}
	outside := &parley.Call{MessageID: messageID, Step: 1, Attempt: 1}
	result := func(content string) *parley.Message {
		return &parley.Message{
			ID:         messageID,
			TurnID:     turnID,
			ToolCallID: awkward,
			ToolName:   "current_time",
			Content:    json.RawMessage(content),
		}
	}
	approval := parley.Approval{
		ID:         sampleID(4),
		TurnID:     turnID,
		SessionID:  sampleID(8),
		RootID:     sampleID(8),
		MessageID:  messageID,
		ToolCallID: "call_1",
		ToolName:   "write_file",
		Fingerprint: parley.HashOf(
			[]byte("x"),
		),
		State:     parley.ApprovalPending,
		Approvers: 2,
		ExpiresAt: 1_700_000_000_000,
		Reason:    parley.AskedByRule,
	}
	answered := approval
	answered.State, answered.Scope, answered.Covers, answered.Comment = parley.ApprovalApproved, parley.ScopeSession,
		parley.CoversTool, awkward
	answered.DecidedBy, answered.RootID, answered.Reason = &parley.Author{
		Name: "Ada",
	}, sampleID(
		9,
	), parley.AskedToolChange
	compaction := &parley.Compaction{
		ID:            sampleID(5),
		CallID:        callID,
		MessageID:     messageID,
		Reason:        parley.CompactTokens,
		Attempt:       1,
		CoversFrom:    1,
		CoversThrough: 40,
		Error:         failure,
	}
	early := &parley.Compaction{ID: sampleID(5), Attempt: 2, Error: fullFailure}
	rows := []event.SettledMessage{
		{
			MessageID: messageID,
			Role:      parley.RoleAssistant,
			Status:    parley.MessageCompleted,
			End:       5,
			Content:   json.RawMessage(`{"text":"Hello"}`),
		},
		{
			MessageID: sampleID(6),
			Role:      parley.RoleToolCall,
			Status:    parley.MessageCompleted,
			End:       2,
			Content:   json.RawMessage(`{"arguments":{},"id":"c","name":"n"}`),
		},
	}
	out := []payload{
		told("session.started", event.SessionStarted{TurnID: turn.ID, Attempt: turn.Attempt}.Encode()),
		told("session.completed", must(ended(turn))),
		told("session.failed", must(ended(&failed))),
		told("session.cancelled", must(ended(&stopped))),
		told("session.waiting", waiting(turnID, parley.WaitApproval)),
		told(
			"session.waiting refused",
			refused(turnID, &store.Refusal{Reason: parley.WaitBudget, Limit: parley.LimitCost, Sentence: awkward}),
		),
		told(
			"session.waiting limited",
			refused(turnID, &store.Refusal{Reason: parley.WaitRateLimit, Sentence: "Wait."}),
		),
		told("message.created", messageCreated(message)),
		told("message.created alone", messageCreated(alone)),
		told("message.queued", messageQueued(queued)),
		told("message.queued placeless", messageQueued(placeless)),
		told("message.removed", event.MessageRemoved{MessageID: messageID}.Encode()),
		told("step.started", stepStarted(call, turnID)),
		told("step.started outside", stepStarted(outside, turnID)),
		told(
			"step.retrying",
			stepRetrying(
				turnID,
				2,
				store.RetryNotice{Attempt: 3, Class: parley.ClassNetwork, Wait: 1500 * time.Millisecond},
			),
		),
		told(
			"limit.warning",
			limitWarning(
				turnID,
				parley.LimitWarning{Limit: parley.LimitSteps, Scope: parley.BudgetOfTurn, Spent: 8, Of: 10},
			),
		),
		told(
			"limit.warning money",
			limitWarning(
				turnID,
				parley.LimitWarning{
					Limit: parley.LimitDailyCost,
					Scope: parley.BudgetOfAgent,
					Spent: 1_234_500_000,
					Of:    1_500_000_000,
				},
			),
		),
		told("tool.started", toolStarted(turnID, messageID, awkward, "current_time")),
		told(
			"tool.progress",
			toolProgress(
				turnID,
				store.ProgressNote{
					ToolCallID:   "c",
					ToolName:     "n",
					ToolProgress: parley.ToolProgress{Progress: 0.25, Total: 1e21, Message: awkward},
				},
			),
		),
		told(
			"tool.progress unknown",
			toolProgress(
				turnID,
				store.ProgressNote{ToolCallID: "c", ToolName: "n", ToolProgress: parley.ToolProgress{Progress: 3}},
			),
		),
		told("tool.completed", must(toolCompleted(result(`{"execution_time_ms":1234,"success":true}`)))),
		told("tool.completed untimed", must(toolCompleted(result(`{"execution_time_ms":null,"success":false}`)))),
		told("approval.created", event.ApprovalCreated{Approval: approvalTold(&approval)}.Encode()),
		told("approval.approved", event.ApprovalApproved{Approval: approvalTold(&approval)}.Encode()),
		told("approval.resolved", event.ApprovalResolved{Approval: approvalTold(&answered)}.Encode()),
		told("context.dropped", news{dropped: []*parley.Dropped{{From: 2, To: 18, Count: 16, Reason: awkward}}}.events(
			turnID, &parley.Call{ID: callID, Model: "sim/lorem-1"})[0]),
		told("context.assumed", news{assumed: 32_000}.events(turnID, &parley.Call{Model: "sim/lorem-1"})[0]),
		told("compaction.started", compactionStarted(compaction, &store.CompactionBegin{
			Call: parley.Call{Model: "sim/lorem-1"}, Part: 2, Parts: 3,
		})),
		told("compaction.completed", compactionCompleted(compaction, true)),
		told("compaction.failed", must(compactionFailed(compaction, true))),
		told("compaction.failed early", must(compactionFailed(early, false))),
	}
	for _, of := range []struct {
		name    string
		failure *parley.Failure
		rows    []event.SettledMessage
	}{{"step.generated", nil, rows}, {"step.generated empty", nil, nil}, {"step.error", fullFailure, rows[:1]},
		{"step.error cancelled", nil, rows[:1]}} {
		kind, _, _ := strings.Cut(of.name, " ")
		settled := event.Settled{TurnID: turnID, Step: 3, Error: of.failure, Messages: of.rows}
		out = append(out, told(of.name, must(stepSettled(parley.EventType(kind), settled))))
	}
	return append(out, inline(t)...)
}

// inline returns the events whose data is built where they are written.
func inline(t testing.TB) []payload {
	t.Helper()
	tx := &Tx{now: 1_700_000_000_123}
	head := func() *Head {
		return &Head{
			Session: parley.Session{
				ID:          sampleID(8),
				WorkspaceID: sampleID(9),
				Title:       awkward,
				Metadata:    json.RawMessage("{}"),
			},
		}
	}
	durable := func(name string, h *Head) payload {
		e := &h.Changes.Events[0]
		return payload{name, e.Type, e.Data, e.Stored}
	}
	hint := func(name string, commit store.Commit) payload {
		return payload{name, commit.Feed[0].Type, commit.Feed[0].Data, nil}
	}
	status := func(name string, h *Head) payload {
		commit, _ := tx.complete(h)
		return hint(name, commit)
	}
	running, over, waits, idle, updated, deleted := head(), head(), head(), head(), head(), head()
	tx.progress(
		running,
		&parley.Loop{ID: sampleID(5), TurnID: sampleID(1), Iteration: 2, Max: 10, State: parley.LoopRunning},
	)
	tx.progress(
		over,
		&parley.Loop{
			ID:        sampleID(5),
			TurnID:    sampleID(1),
			Iteration: 3,
			Max:       10,
			State:     parley.LoopCompleted,
			Reason:    awkward,
		},
	)
	waits.Status, waits.WaitReason = parley.SessionWaiting, parley.WaitInput
	idle.Status = parley.SessionCompleted
	tx.updatedFeed(updated)
	tx.entombOne(deleted)
	return []payload{
		durable("loop.progress", running),
		durable("loop.progress ended", over),
		told("context.cleared", event.ContextCleared{ClearedAt: tx.now}.Encode()),
		told(
			"message.marked",
			event.MessageMarked{MessageID: sampleID(2), Marks: parley.Marks{Pinned: true, SetAside: true}}.Encode(),
		),
		told(
			"call.replayed",
			event.CallReplayed{
				CallID:   sampleID(3),
				ReplayOf: sampleID(4),
				Model:    "sim/lorem-1",
				Outcome:  parley.CallCompleted,
			}.Encode(),
		),
		status("session.status_changed", waits),
		status("session.status_changed idle", idle),
		hint("session.updated", updated.hint),
		hint("session.deleted", deleted.hint),
		told("session.activated", event.SessionActivated{ClientID: awkward}.Encode()),
		told("session.deactivated", event.SessionDeactivated{ClientID: "tab"}.Encode()),
	}
}

// withoutSince returns a payload without the settings that its golden form does not have, none of which is set.
func withoutSince(payload, golden string) string {
	for _, one := range setting.All(setting.Session) {
		if name := `"` + one.Describe().Name + `":`; !strings.Contains(golden, name) {
			payload = strings.Replace(payload, `,`+name+`null`, "", 1)
		}
	}
	return payload
}

// TestPayloadsStayAsTheyAre compares the data of events with a golden file that predates the events' descriptions,
// because clients read this data and databases store it. Later events need no sample here: their data follows from
// their struct, event.TestEncodersMatchTheStructs compares the two, and the API's document shows every change of them.
func TestPayloadsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var now strings.Builder
	for _, p := range samples(t) {
		if kind, _, _ := strings.Cut(p.name, " "); kind != string(p.kind) {
			t.Errorf("%s was encoded as %s", p.name, p.kind)
		}
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
		t.Errorf("%d payloads, want %d", len(is), len(was))
	}
	for i := range min(len(was), len(is)) {
		if was[i] != withoutSince(is[i], was[i]) {
			t.Errorf("was %s\n is %s", was[i], is[i])
		}
	}
}
