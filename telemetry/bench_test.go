package telemetry

import (
	"testing"
	"time"

	"parley"
)

// BenchmarkTurn is what a plain turn of one call costs its worker in telling of
// it, metrics alone: nothing of it is per delta.
func BenchmarkTurn(b *testing.B) {
	told, err := New(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	input, output := int64(1000), int64(200)
	claim := &parley.Claim{Turn: parley.Turn{Attempt: 1, StartedAt: 2, CreatedAt: 1}}
	call := &parley.Call{Provider: "openai", Model: "openai/gpt-5"}
	settled := &parley.CallSettled{Outcome: parley.CallCompleted, Usage: parley.Usage{InputTokens: &input, OutputTokens: &output}}
	b.ReportAllocs()
	b.RunParallel(func(each *testing.PB) {
		for each.Next() {
			told.Claimed(1, true)
			ctx := told.TurnBegan(b.Context(), claim)
			ctx = told.StepBegan(ctx, 1)
			ctx = told.CallBegan(ctx, parley.CallBegun{Call: call})
			told.Stored(parley.OperationBeginStep, time.Millisecond, nil)
			told.CallEnded(ctx, parley.CallEnded{Call: call, Settled: settled, FirstToken: time.Second, Took: time.Second})
			told.Stored(parley.OperationSettleStep, time.Millisecond, nil)
			told.StepEnded(ctx, nil)
			told.TurnEnded(ctx, parley.TurnRun{Claim: claim, Outcome: parley.RunCompleted, Took: time.Second})
		}
	})
}
