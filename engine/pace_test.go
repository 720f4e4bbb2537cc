package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// One piece of work runs at a time, and the next one begins after a rest as long as it took.
func TestImportsRestBetweenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := newPace(), time.Now()
		done, err := p.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := p.enter(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside another: %v", err)
		}
		time.Sleep(2 * time.Second) // of the bubble
		done()                      // after 3 s
		short, stop = context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := p.enter(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("right after another: %v", err)
		}
		done, err = p.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if took := time.Since(begun); took != 6*time.Second {
			t.Errorf("the next one began after %s, want 6s", took)
		}
	})
}
