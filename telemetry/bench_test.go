package telemetry

import (
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

// BenchmarkTurn measures what metrics cost the worker of a plain turn with one call: nothing is per delta.
func BenchmarkTurn(b *testing.B) {
	told, err := New(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	input, output := int64(1000), int64(200)
	claim := &store.Claim{Turn: parley.Turn{Attempt: 1, StartedAt: 2, CreatedAt: 1}}
	call := &parley.Call{Provider: "openai", Model: "openai/gpt-5"}
	settled := &store.CallSettled{
		Outcome: parley.CallCompleted,
		Usage:   parley.Usage{InputTokens: &input, OutputTokens: &output},
	}
	b.ReportAllocs()
	b.RunParallel(func(each *testing.PB) {
		for each.Next() {
			told.Claimed(1, true)
			ctx := told.TurnBegan(b.Context(), claim)
			ctx = told.StepBegan(ctx, 1)
			ctx = told.CallBegan(ctx, observe.CallBegun{Call: call})
			told.Stored(observe.OperationBeginStep, time.Millisecond, nil)
			told.CallEnded(
				ctx,
				observe.CallEnded{Call: call, Settled: settled, FirstToken: time.Second, Took: time.Second},
			)
			told.Stored(observe.OperationSettleStep, time.Millisecond, nil)
			told.StepEnded(ctx, nil)
			told.TurnEnded(ctx, observe.TurnRun{Claim: claim, Outcome: observe.RunCompleted, Took: time.Second})
		}
	})
}
