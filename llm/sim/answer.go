package sim

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
)

// maxPiece bounds a piece of text in bytes: text without spaces is cut too.
const maxPiece = 16

// answer is one answer being sent. Its methods return false when nothing more may be sent: the reader is gone, ctx
// ended, or max_tokens is reached.
type answer struct {
	ctx     context.Context //nolint:containedctx // lives only for one call of Stream
	request *request
	yield   func(model.Chunk, error) bool

	block  int                     // the number of the block being written, -1 before the first
	kind   model.ChunkKind         // of that block
	pieces int                     // sent so far: text and reasoning
	most   int                     // pieces allowed
	bytes  map[model.ChunkKind]int // text sent, by kind
	calls  int
	over   bool

	pace  time.Duration // between pieces
	next  time.Time     // when the next one is due
	timer *time.Timer   // nil until first needed
}

func newAnswer(ctx context.Context, r request, yield func(model.Chunk, error) bool) *answer {
	a := &answer{ctx: ctx, request: &r, yield: yield, block: -1, most: maxTokens, bytes: map[model.ChunkKind]int{}}
	if limit := r.Parameters.MaxTokens; limit != nil {
		a.most = min(a.most, *limit)
	}
	return a
}

func (a *answer) close() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// send yields one chunk unless the answer is over.
func (a *answer) send(chunk model.Chunk) bool {
	if a.over {
		return false
	}
	if a.ctx.Err() != nil {
		return a.fail(context.Cause(a.ctx))
	}
	if !a.yield(chunk, nil) {
		a.over = true
	}
	return !a.over
}

// fail ends the answer with an error.
func (a *answer) fail(err error) bool {
	if !a.over {
		a.over = true
		a.yield(model.Chunk{}, err)
	}
	return false
}

// wait pauses; the end of ctx ends it immediately, and the answer with it.
func (a *answer) wait(d time.Duration) bool {
	if a.over {
		return false
	}
	if d <= 0 {
		return true
	}
	if a.timer == nil {
		a.timer = time.NewTimer(d)
	} else {
		a.timer.Reset(d)
	}
	select {
	case <-a.timer.C:
		return true
	case <-a.ctx.Done():
		return a.fail(context.Cause(a.ctx))
	}
}

// paced waits until the next piece is due. Pieces follow a schedule, so that late timers do not add up.
func (a *answer) paced() bool {
	if a.pace <= 0 {
		return !a.over
	}
	now := time.Now()
	if a.next.IsZero() {
		a.next = now
	}
	a.next = a.next.Add(a.pace)
	return a.wait(a.next.Sub(now))
}

// piece sends one piece of text in the current block of its kind.
func (a *answer) piece(kind model.ChunkKind, text string) bool {
	if a.pieces >= a.most {
		a.finish(parley.FinishLength)
		return false
	}
	if !a.paced() {
		return false
	}
	if a.kind != kind {
		a.block++
		a.kind = kind
	}
	a.pieces++
	a.bytes[kind] += len(text)
	return a.send(model.Chunk{Kind: kind, Block: a.block, Text: text})
}

// say sends a text in token-sized pieces.
func (a *answer) say(kind model.ChunkKind, text string) bool {
	for len(text) > 0 {
		n := pieceEnd(text, maxPiece)
		if !a.piece(kind, text[:n]) {
			return false
		}
		text = text[n:]
	}
	return true
}

// call sends one tool call, its arguments in pieces of at most size bytes, at the answer's pace.
func (a *answer) call(id, name, arguments string, size int) bool {
	a.block++
	a.kind = model.ChunkToolCall
	a.calls++
	if !a.send(model.Chunk{Kind: model.ChunkToolCall, Block: a.block, CallID: id, Name: name}) {
		return false
	}
	for len(arguments) > 0 {
		if !a.paced() {
			return false
		}
		n := cut(arguments, size)
		a.bytes[model.ChunkArguments] += n
		if !a.send(model.Chunk{Kind: model.ChunkArguments, Block: a.block, Text: arguments[:n]}) {
			return false
		}
		arguments = arguments[n:]
	}
	return true
}

// usage returns what a provider would count for the answer so far.
func (a *answer) usage() parley.Usage {
	input, cached := a.request.input, a.request.cached
	reasoning := estimate(a.bytes[model.ChunkReasoning])
	output := reasoning + estimate(
		a.bytes[model.ChunkText],
	) + estimate(
		a.bytes[model.ChunkRefusal],
	) + estimate(
		a.bytes[model.ChunkArguments],
	)
	return parley.Usage{InputTokens: &input, OutputTokens: &output, CachedTokens: &cached, ReasoningTokens: &reasoning}
}

// finish sends the usage and the end.
func (a *answer) finish(reason parley.FinishReason) {
	a.finishWith(a.usage(), reason)
}

func (a *answer) finishWith(usage parley.Usage, reason parley.FinishReason) {
	if !usage.IsZero() && !a.send(model.Chunk{Kind: model.ChunkUsage, Usage: usage}) {
		return
	}
	a.send(model.Chunk{Kind: model.ChunkFinish, Finish: reason})
	a.over = true
}

// pieceEnd finds the end of the next piece: after a word and the white space before it, at most size bytes, never
// inside a rune.
func pieceEnd(text string, size int) int {
	i := 0
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	if end := strings.IndexAny(text[i:], " \n\t"); end >= 0 {
		i += end
	} else {
		i = len(text)
	}
	if i > size {
		return cut(text, size)
	}
	return max(i, 1)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// cut returns the end of the first size bytes of a text, moved to a rune's border; at least one rune.
func cut(text string, size int) int {
	if size <= 0 || size >= len(text) {
		return len(text)
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	if size == 0 {
		_, size = utf8.DecodeRuneInString(text)
	}
	return size
}
