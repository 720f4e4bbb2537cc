package model

import (
	"context"
	"iter"
	"strings"

	"example.org/parley"
)

// Middleware stands between Parley and the models: it may change a request before it is encoded, and the chunks of its
// answer before they are stored. Parley has some of its own (see MiddlewareSettings); a program that embeds Parley may
// add more. Implementations are safe for concurrent use.
//
// The order is fixed: requests pass user_context, the program's own middleware in the given order, think_tags, and last
// redact, so that nothing reaches a provider without it; answers pass the same list backwards.
type Middleware interface {
	// Name is a name with a version, such as "redact@1", listed in the manifests of calls. Under one name, Request must
	// always do the same to the same request, because recorded calls are rebuilt with it.
	Name() string

	// Request may change a request. It is a pure function of its arguments, except that the end of ctx ends it with an
	// error: the turn's time is over, it was cancelled, or nobody waits for the answer any more. The contents of the
	// request's slices and byte strings are shared: replace them, do not write to them. The returned filter reads the
	// answers; nil leaves them unchanged. CodeInvalid ends the turn with its message.
	Request(ctx context.Context, exchange Exchange, request *Request) (AnswerFilter, error)
}

// AnswerFilter reads the chunks of an answer and yields their replacements. It is called once per attempt at a request.
// The output follows the rules of Model.Stream: blocks are numbered from 0 in order of appearance, texts are whole
// runes, and anything held back is yielded before ChunkFinish or the error that ends the answer.
type AnswerFilter func(chunks iter.Seq2[Chunk, error]) iter.Seq2[Chunk, error]

// Exchange says whose request a Middleware sees. It is the same when a recorded request is rebuilt.
type Exchange struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
}

// ValidateMiddleware reports why a program's own middleware cannot be used: a name is invalid, used by Parley, or used
// twice.
func ValidateMiddleware(own []Middleware) error {
	if len(own) > parley.MaxMiddleware {
		return parley.InvalidField("middleware", "at most %d", parley.MaxMiddleware)
	}
	seen := map[string]bool{}
	for _, m := range own {
		full := m.Name()
		name, version, found := strings.Cut(full, "@")
		if !found || name == "" || version == "" || len(full) > parley.MaxMiddlewareName ||
			strings.ContainsAny(full, " ,\"\\") {
			return parley.InvalidField(
				"middleware",
				"%q is not a valid middleware name: write name@version in at most %d bytes, such as audit@1",
				parley.Clip(full, parley.MaxMiddlewareName),
				parley.MaxMiddlewareName,
			)
		}
		switch name {
		case "user_context", "think_tags", "redact":
			return parley.InvalidField("middleware", "%q is Parley's own", name)
		}
		if seen[full] {
			return parley.InvalidField("middleware", "%q is listed twice", full)
		}
		seen[full] = true
	}
	return nil
}
