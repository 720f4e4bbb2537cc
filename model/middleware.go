package model

import (
	"context"
	"iter"
	"strings"

	"example.org/parley"
)

// Middleware stands between Parley and the models: it may change a request
// before it is encoded, and the chunks of its answer before they are kept. Parley
// has some of its own (see MiddlewareSettings); a program that embeds Parley may
// add others. Implementations are safe for concurrent use.
//
// The order is fixed: requests pass user_context, the program's own in the order
// in which they were given, think_tags, and last redact, so that nothing reaches
// a provider behind its back; answers pass the same list backwards.
type Middleware interface {
	// Name is a name and a version, as "redact@1": what the manifests of calls list.
	// What Request does to the same request may never change under the same name,
	// for a recorded call is made again by it.
	Name() string

	// Request may change a request. It is a pure function of its arguments, but for
	// ctx, whose end ends it with an error: the turn's time is over, it was cancelled,
	// or nobody waits for the answer any more. What the request's slices and byte strings hold belongs to others:
	// replace, do not
	// write. The filter that it returns reads the answers; nil leaves them alone.
	// CodeInvalid ends the turn with its message.
	Request(ctx context.Context, exchange Exchange, request *Request) (AnswerFilter, error)
}

// AnswerFilter reads the chunks of an answer and yields those that take their
// place. It is called once for each attempt at a request. Chunks keep the rules of
// Model.Stream: blocks are numbered from 0 in order of appearance, texts are whole
// runes, and what is held back is yielded before ChunkFinish or the error with
// which an answer ends.
type AnswerFilter func(chunks iter.Seq2[Chunk, error]) iter.Seq2[Chunk, error]

// Exchange says whose request a Middleware sees. It is the same when a recorded
// request is made again.
type Exchange struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
}

// ValidateMiddleware reports why a program's own middleware cannot be listed:
// names that are none, that Parley's own have, or that are there twice.
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
