package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One piece of work runs at a time, and the next one begins after a rest as long as it took, also if it panicked.
func TestImportsRestBetweenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := newPace(), time.Now()
		waits := func(when string) {
			short, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			err := p.run(short, func() error { return nil })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", when, err)
			}
		}
		func() {
			defer func() { _ = recover() }()
			_ = p.run(t.Context(), func() error {
				waits("beside another")
				time.Sleep(2 * time.Second) // of the bubble
				panic("after 3 s")
			})
		}()
		waits("right after another")
		if err := p.run(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 6*time.Second {
			t.Errorf("the next one began after %s, want 6s", took)
		}
	})
}
