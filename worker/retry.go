package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// retryable says whether and when an attempt's failure allows another.
type retryable struct {
	helps bool
	after time.Duration // the provider's minimum; 0 if it named none
}

// fail notes why an attempt gave no answer.
func (a *answer) fail(err error) {
	var failed *model.Error
	if !errors.As(err, &failed) {
		a.turn.log().ErrorContext(a.turn.at, "a model adapter failed in an unknown way",
			"call_id", a.call.CallID, "model", a.turn.settings.Model, "error", err)
		failed = model.NewError(parley.ClassInternal, false, "", err)
	}
	a.failure = &parley.Failure{
		Class:    failed.Class,
		Sentence: a.turn.settings.Retry.Sentence(failed.Class),
		Detail:   failed.Message,
		Attempts: a.attempt,
	}
	a.status = failed.Status
	a.retry = retryable{helps: failed.Retryable, after: failed.RetryAfter}
	if failed.Class == parley.ClassRateLimit && failed.RetryAfter > 0 {
		a.failure.RetryAt = parley.TimeOf(a.turn.w.options.now().Add(failed.RetryAfter))
		if failed.RetryAfter > parley.LongestRetryAfter {
			a.failure.Sentence += " It asks to wait until " + a.failure.RetryAt.String() + "."
		}
	}
}

// pause reports whether another attempt follows the given number of tries, and after which wait. An attempt that has
// shown something is never repeated.
func (a *answer) pause(policy parley.RetryPolicy, tries int) (time.Duration, bool) {
	retries := parley.DefaultRetries
	if policy.Retries != nil {
		retries = *policy.Retries
	}
	if !a.retry.helps || a.shown || tries > retries || a.retry.after > parley.LongestRetryAfter {
		return 0, false
	}
	return max(backoff(policy, tries, a.turn.w.options.jitter), a.retry.after), true
}

// backoff returns Parley's own wait after the given number of tries: exponential with full jitter, or linear; capped.
func backoff(policy parley.RetryPolicy, tries int, jitter func(time.Duration) time.Duration) time.Duration {
	longest := parley.DefaultMaxWait
	if policy.MaxWaitMS > 0 {
		longest = time.Duration(policy.MaxWaitMS) * time.Millisecond
	}
	if policy.Backoff == parley.BackoffLinear {
		return min(longest, time.Duration(tries)*parley.BaseWait)
	}
	wait := parley.BaseWait
	for i := 1; i < tries && wait < longest; i++ {
		wait *= 2
	}
	return jitter(min(wait, longest))
}

// pauses hold back requests to a provider that asked for a pause: its Retry-After applies to every turn that uses the
// same credential.
type pauses struct {
	mu    sync.Mutex // guards until
	until map[string]time.Time
}

// set extends the pause of a credential.
func (p *pauses) set(credential string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if until.After(p.until[credential]) {
		p.until[credential] = until
	}
}

// left returns how much of a pause remains.
func (p *pauses) left(credential string, now func() time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, ok := p.until[credential]
	if !ok {
		return 0
	}
	left := until.Sub(now())
	if left <= 0 {
		delete(p.until, credential)
	}
	return left
}

// wait returns when no pause holds the credential; false if ctx ended first.
func (p *pauses) wait(ctx context.Context, credential string, options *Options) bool {
	for {
		left := p.left(credential, options.now)
		if left <= 0 {
			return ctx.Err() == nil
		}
		if !options.sleep(ctx, left) {
			return false
		}
	}
}

// Waits for a store that cannot write at the moment.
const (
	persistPause       = 50 * time.Millisecond // doubled with each try
	persistTries       = 6
	giveUpPause        = 500 * time.Millisecond
	longestGiveUpPause = 5 * time.Second
)

// transient reports whether an error may pass by itself: the disk is full, or the database unreachable.
func transient(err error) bool {
	code := parley.ErrorCode(err)
	return code == parley.CodeStorageFull || code == parley.CodeUnavailable
}

// persist makes a write that must survive passing trouble of the store. A write whose answer was lost may have
// succeeded: its repetition may then be refused, which is not an error of the turn, and the turn resumes from its
// record.
func (c *claimed) persist(write func() error) error {
	err := write()
	for try, wait := 1, persistPause; try < persistTries && transient(err); try, wait = try+1, wait*2 {
		if !c.w.options.sleep(c.writes, wait) {
			return err
		}
		again := write()
		if parley.ErrorCode(again) == parley.CodeConflict {
			return err
		}
		err = again
	}
	return err
}
