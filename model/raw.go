package model

import "context"

// RawSink receives a provider's unprocessed text while an answer is read. An adapter that reads text from a wire calls
// it, from the goroutine that ranges over the answer.
type RawSink interface {
	// Wanted reports whether anybody reads the text now. It is cheap: adapters ask before each piece.
	Wanted() bool
	// Raw receives whole lines without credentials. offset and end count the provider's own bytes: text between the
	// end of one piece and the offset of the next was not wanted, or too long to show.
	Raw(offset, end int64, text string)
}

type rawKey struct{}

// WithRaw asks a model to pass its provider's unprocessed text on.
func WithRaw(ctx context.Context, sink RawSink) context.Context {
	return context.WithValue(ctx, rawKey{}, sink)
}

// RawFrom returns the sink of WithRaw, or nil.
func RawFrom(ctx context.Context) RawSink {
	sink, _ := ctx.Value(rawKey{}).(RawSink)
	return sink
}
