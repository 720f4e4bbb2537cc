package worker

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
)

func TestBackoff(t *testing.T) {
	longest := func(limit time.Duration) time.Duration { return limit }
	for _, c := range []struct {
		name   string
		policy parley.RetryPolicy
		want   []time.Duration
	}{
		{"exponential by default, capped at 10 s", parley.RetryPolicy{},
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
				10 * time.Second, 10 * time.Second}},
		{"linear", parley.RetryPolicy{Backoff: parley.BackoffLinear, MaxWaitMS: 1200},
			[]time.Duration{500 * time.Millisecond, time.Second, 1200 * time.Millisecond, 1200 * time.Millisecond}},
		{"own cap", parley.RetryPolicy{Backoff: parley.BackoffExponential, MaxWaitMS: 700},
			[]time.Duration{500 * time.Millisecond, 700 * time.Millisecond, 700 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []time.Duration
			for tries := range len(c.want) {
				got = append(got, backoff(c.policy, tries+1, longest))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJitterIsFull(t *testing.T) {
	options := Options{}.withDefaults()
	low, high := false, false
	for range 1000 {
		wait := backoff(parley.RetryPolicy{}, 5, options.jitter)
		if wait < 0 || wait > 8*time.Second {
			t.Fatalf("a wait of %s", wait)
		}
		low, high = low || wait < 2*time.Second, high || wait > 6*time.Second
	}
	if !low || !high {
		t.Error("1000 waits never came near both ends of the range")
	}
}

func TestPauseHoldsEveryTurnOfACredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := Options{}.withDefaults()
		var p pauses
		start := time.Now()
		p.set("a", start.Add(5*time.Second))
		p.set("a", start.Add(3*time.Second)) // a shorter pause does not cut it
		if !p.wait(t.Context(), "b", &options) || time.Since(start) != 0 {
			t.Errorf("another credential waited %s", time.Since(start))
		}
		if !p.wait(t.Context(), "a", &options) || time.Since(start) != 5*time.Second {
			t.Errorf("waited %s", time.Since(start))
		}
		p.set("a", time.Now().Add(time.Hour))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrCancelled) })
		if p.wait(ctx, "a", &options) {
			t.Error("a cancelled wait continued")
		}
	})
}

// TestRetryAfterIsAFloorForAll: one turn is told to wait; another that begins meanwhile waits too.
func TestRetryAfterIsAFloorForAll(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex // guards waits and clock
	var waits []time.Duration
	clock := time.Unix(1_800_000_000, 0)
	second := make(chan struct{})
	release := make(chan struct{})
	r.options.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}
	r.options.jitter = func(time.Duration) time.Duration { return 0 }
	r.options.sleep = func(ctx context.Context, d time.Duration) bool {
		mu.Lock()
		waits = append(waits, d)
		n := len(waits)
		mu.Unlock()
		if n == 2 {
			close(second)
		}
		<-release
		return ctx.Err() == nil
	}
	r.start(nil)
	limited := model.NewError(parley.ClassRateLimit, true, "slow down", nil)
	limited.RetryAfter = 7 * time.Second
	r.model.play(fails(limited), says("one"), says("two"))
	first := r.session(parley.Settings{}, nil)
	turn1 := r.post(first, "Hi", "").Turn.ID
	event := r.happened(first, parley.EventStepRetrying)
	turn2 := r.post(r.session(parley.Settings{}, nil), "Hi", "").Turn.ID
	r.wait("the second turn's pause", second)
	if r.model.sent() != 1 {
		t.Errorf("%d requests were sent during the pause", r.model.sent())
	}
	mu.Lock()
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 7 * time.Second}, waits); diff != "" {
		t.Error(diff)
	}
	clock = clock.Add(8 * time.Second)
	mu.Unlock()
	close(release)
	if got := string(
		event.Data,
	); !jsonHas(got, `"wait_ms":7000`) || !jsonHas(got, `"class":"rate_limit"`) ||
		!jsonHas(got, `"attempt":2`) {
		t.Errorf("step.retrying says %s", got)
	}
	for _, id := range []parley.ID{turn1, turn2} {
		if turn := r.ended(id); turn.Status != parley.TurnCompleted {
			t.Errorf("turn %s", turn.Status)
		}
	}
}
