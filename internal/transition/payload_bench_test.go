package transition

import (
	"encoding/json"
	"testing"

	"parley"
)

// BenchmarkPayloads makes the data of the events of a turn with one tool call.
func BenchmarkPayloads(b *testing.B) {
	turnID, messageID := sampleID(1), sampleID(2)
	message := &parley.Message{ID: messageID, TurnID: turnID, Role: parley.RoleAssistant, Sequence: 12}
	result := &parley.Message{ID: messageID, TurnID: turnID, ToolCallID: "call_1", ToolName: "current_time", Content: json.RawMessage(`{"execution_time_ms":12,"success":true}`)}
	turn := &parley.Turn{ID: turnID, TriggerMessageID: messageID, Status: parley.TurnCompleted, Attempt: 1, Step: 2}
	call := &parley.Call{ID: sampleID(3), MessageID: messageID, Step: 2, Attempt: 3, Model: "sim/lorem-1"}
	approval := &parley.Approval{ID: sampleID(4), TurnID: turnID, SessionID: sampleID(8), RootID: sampleID(8), MessageID: messageID, ToolCallID: "call_1", ToolName: "write_file",
		Fingerprint: parley.HashOf([]byte("x")), State: parley.ApprovalPending, Approvers: 1, ExpiresAt: 1_700_000_000_000}
	rows := []parley.SettledMessage{
		{MessageID: messageID, Role: parley.RoleAssistant, Status: parley.MessageCompleted, End: 5, Content: json.RawMessage(`{"text":"Hello"}`)},
		{MessageID: sampleID(6), Role: parley.RoleToolCall, Status: parley.MessageCompleted, End: 2, Content: json.RawMessage(`{"arguments":{},"id":"c","name":"n"}`)},
	}
	for _, of := range []struct {
		name string
		make func() error
	}{
		{"session.started", func() error { startedData(turn); return nil }},
		{"message.created", func() error { createdData(message); return nil }},
		{"step.started", func() error { stepStartedData(call, turnID); return nil }},
		{"step.generated", func() error { _, _, err := settledData(turnID, 2, nil, rows); return err }},
		{"tool.started", func() error { toolStartedData(turnID, messageID, "call_1", "current_time"); return nil }},
		{"tool.progress", func() error {
			progressData(turnID, parley.ProgressNote{ToolCallID: "call_1", ToolName: "fetch", ToolProgress: parley.ToolProgress{Progress: 0.5, Total: 1, Message: "half"}})
			return nil
		}},
		{"tool.completed", func() error { _, err := toolCompletedData(result); return err }},
		{"approval.created", func() error { approvalData(approval); return nil }},
		{"session.completed", func() error { _, err := endedData(turn); return err }},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := of.make(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
