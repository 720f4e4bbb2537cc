package parley

import "context"

type attemptKey struct{}

// WithAttempt tells a model which attempt of its turn a request is, from 1. Only
// the simulator listens, so that it can fail the first attempts and then answer.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// AttemptFrom is the attempt of the turn that a request is, 1 when unknown.
func AttemptFrom(ctx context.Context) int {
	if attempt, ok := ctx.Value(attemptKey{}).(int); ok {
		return attempt
	}
	return 1
}
