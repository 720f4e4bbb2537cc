package llmtest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"example.org/parley/model"
)

// RunContract checks what every Model, an adapter or the simulator, must do with a request that it answers with several
// chunks of text.
func RunContract(t *testing.T, adapter model.Model, request model.Request) {
	t.Run("encode is pure", func(t *testing.T) {
		first, second := encode(t, adapter, request), encode(t, adapter, request)
		if !bytes.Equal(first.Body, second.Body) || first.Version != second.Version {
			t.Error("the same request gave other bytes")
		}
		if first.Model != request.Model || first.Version < 1 || len(first.Body) == 0 {
			t.Errorf("model %q, version %d, %d bytes", first.Model, first.Version, len(first.Body))
		}
	})
	encoded := encode(t, adapter, request)
	t.Run("a whole answer", func(t *testing.T) {
		fold, err := Collect(adapter.Stream(t.Context(), encoded))
		if err != nil || fold.Error != nil || len(fold.Blocks) == 0 || fold.Finish == "" {
			t.Errorf("%+v, %v", fold, err)
		}
	})
	t.Run("the sequence can be ranged again", func(t *testing.T) {
		answer := adapter.Stream(t.Context(), encoded)
		for range 2 {
			if fold, err := Collect(answer); err != nil || fold.Error != nil {
				t.Errorf("%+v, %v", fold.Error, err)
			}
		}
	})
	t.Run("break", func(t *testing.T) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		for _, err := range adapter.Stream(t.Context(), encoded) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
	t.Run("cancel", func(t *testing.T) {
		defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
		cause := errors.New("the turn was cancelled")
		for _, after := range []int{0, 1, 2} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if after == 0 {
				cancel(cause)
			}
			seen, failures := 0, 0
			for chunk, err := range adapter.Stream(ctx, encoded) {
				switch {
				case err != nil:
					failures++
					if !errors.Is(err, cause) {
						t.Errorf("after %d chunks: %v, want the context's cause", after, err)
					}
				case chunk.Kind == model.ChunkFinish:
					t.Errorf("after %d chunks: the answer continued to its end", after)
				}
				if seen++; seen == after {
					cancel(cause)
				}
			}
			if failures != 1 {
				t.Errorf("after %d chunks: %d errors, want one", after, failures)
			}
			cancel(nil)
		}
	})
}
