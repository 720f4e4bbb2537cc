package inflight

import (
	"context"
	"errors"
	"testing"

	"example.org/parley"
)

// A line is dropped with its last piece of work, whether that ran or only waited.
func TestLinesEnd(t *testing.T) {
	t.Parallel()
	const most = 8
	p, id := NewPlaces(most), parley.NewID()
	var leaves []func()
	for range most {
		leave, err := p.Enter(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	ctx, gone := context.WithCancel(t.Context())
	gone()
	if _, err := p.Enter(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("a place beyond them: %v", err)
	}
	for _, leave := range leaves {
		leave()
		leave() // twice does no harm
	}
	if len(p.of) != 0 {
		t.Errorf("%d lines are left", len(p.of))
	}
}
