package transition

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// BenchmarkPayloads encodes the events of a turn with one tool call.
func BenchmarkPayloads(b *testing.B) {
	turnID, messageID := sampleID(1), sampleID(2)
	message := &parley.Message{ID: messageID, TurnID: turnID, Role: parley.RoleAssistant, Sequence: 12}
	result := &parley.Message{
		ID:         messageID,
		TurnID:     turnID,
		ToolCallID: "call_1",
		ToolName:   "current_time",
		Content:    json.RawMessage(`{"execution_time_ms":12,"success":true}`),
	}
	turn := &parley.Turn{ID: turnID, TriggerMessageID: messageID, Status: parley.TurnCompleted, Attempt: 1, Step: 2}
	call := &parley.Call{ID: sampleID(3), MessageID: messageID, Step: 2, Attempt: 3, Model: "sim/lorem-1"}
	approval := &parley.Approval{
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
		Approvers: 1,
		ExpiresAt: 1_700_000_000_000,
	}
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
	for _, of := range []struct {
		name string
		make func() (event.Encoded, error)
	}{
		{"session.started", func() (event.Encoded, error) {
			return event.SessionStarted{TurnID: turn.ID, Attempt: turn.Attempt}.Encode(), nil
		}},
		{"message.created", func() (event.Encoded, error) { return messageCreated(message), nil }},
		{"step.started", func() (event.Encoded, error) { return stepStarted(call, turnID), nil }},
		{"step.generated", func() (event.Encoded, error) {
			return stepSettled(parley.EventStepGenerated, event.Settled{TurnID: turnID, Step: 2, Messages: rows})
		}},
		{"tool.started", func() (event.Encoded, error) {
			return toolStarted(turnID, messageID, "call_1", "current_time"), nil
		}},
		{"tool.progress", func() (event.Encoded, error) {
			return toolProgress(turnID, store.ProgressNote{ToolCallID: "call_1", ToolName: "fetch",
				ToolProgress: parley.ToolProgress{Progress: 0.5, Total: 1, Message: "half"}}), nil
		}},
		{"tool.completed", func() (event.Encoded, error) { return toolCompleted(result) }},
		{"approval.created", func() (event.Encoded, error) {
			return event.ApprovalCreated{Approval: approvalTold(approval)}.Encode(), nil
		}},
		{"session.completed", func() (event.Encoded, error) { return ended(turn) }},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := of.make(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
