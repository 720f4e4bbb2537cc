package model

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

type patienceKey struct{}

// WithLessPatience tells a model that an attempt at the same request has just brought
// nothing: it waits less long for the first content.
func WithLessPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// LessPatience reports what WithLessPatience told.
func LessPatience(ctx context.Context) bool {
	less, _ := ctx.Value(patienceKey{}).(bool)
	return less
}
