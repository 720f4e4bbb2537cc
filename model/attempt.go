package model

import "context"

type attemptKey struct{}

// WithAttempt tells a model which attempt of its turn a request is, from 1. Only the simulator uses it, to fail the
// first attempts and then answer.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// AttemptFrom returns the number of the attempt, 1 if unknown.
func AttemptFrom(ctx context.Context) int {
	if attempt, ok := ctx.Value(attemptKey{}).(int); ok {
		return attempt
	}
	return 1
}

type patienceKey struct{}

// WithLessPatience tells a model that the previous attempt at the request was fruitless: it then waits less for the
// first content.
func WithLessPatience(ctx context.Context) context.Context {
	return context.WithValue(ctx, patienceKey{}, true)
}

// LessPatience reports whether WithLessPatience was used.
func LessPatience(ctx context.Context) bool {
	less, _ := ctx.Value(patienceKey{}).(bool)
	return less
}
