package worker

import (
	"context"
	"iter"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// turnResponses bounds the answers that one run of a turn keeps for the cache.
const turnResponses = 16

// responses is what a turn makes of the response cache; only turns whose agent or
// session asks for it have one. What is to be written is written when the run is over.
type responses struct {
	age  time.Duration // how old an answer may be
	used store.ResponsesUsed
}

// served is a kept answer that takes the place of a model's.
type served struct {
	chunks []model.Chunk
	cost   *parley.Money // that it had; nil: unknown
}

// useResponses opens the response cache to a turn whose settings ask for it.
func (t *turn) useResponses() {
	if age := setting.ResponseCache.Nearest(&t.claim.Agent.Settings, &t.claim.Session.Settings).
		TTL(); age > 0 &&
		t.w.responses != nil {
		t.responses = &responses{age: age}
	}
}

// responseKey is the key of a request that was encoded.
func (t *turn) responseKey(request *model.Request, encoded model.EncodedRequest) (parley.Hash, error) {
	if request.CacheKey != "" {
		plain := *request
		plain.CacheKey = ""
		var err error
		if encoded, err = t.model.Encode(plain); err != nil {
			return parley.Hash{}, err
		}
	}
	encoded.Model = t.settings.Model
	return model.ResponseKey(encoded), nil
}

// lookUp looks for the answer to a question. A cache that fails is one without it.
func (t *turn) lookUp(q *question) {
	if t.responses == nil {
		return
	}
	found, err := t.w.responses.CachedResponse(t.writes, t.fence.WorkspaceID, q.key, t.responses.age)
	if err == nil && found != nil {
		var chunks []model.Chunk
		if chunks, err = model.DecodeChunks(found.Chunks); err == nil {
			q.served = &served{chunks: chunks, cost: found.Cost}
			q.call.Manifest.CachedResponse = true
			t.w.observer.CachedResponses(observe.ResponseHits, 1)
			return
		}
	}
	if err != nil {
		t.log().WarnContext(t.ctx, "the response cache could not be read; the model is asked", "error", err)
	}
	t.responses.used.Misses++
	t.w.observer.CachedResponses(observe.ResponseMisses, 1)
}

// stream is the answer to a question: a kept one, or the model's, of which the
// chunks are noted if it may be kept.
func (t *turn) stream(ctx context.Context, a *answer, q *question) iter.Seq2[model.Chunk, error] {
	switch {
	case q.served != nil:
		return q.served.stream(ctx)
	case t.responses != nil:
		return a.noting(t.model.Stream(ctx, q.encoded))
	}
	return t.model.Stream(ctx, q.encoded)
}

// stream plays a kept answer as a model's. It uses no tokens.
func (s *served) stream(ctx context.Context) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var none int64
		usage := parley.Usage{InputTokens: &none, OutputTokens: &none}
		if !yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}, nil) {
			return
		}
		for i := range s.chunks {
			if ctx.Err() != nil {
				yield(model.Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(s.chunks[i], nil) {
				return
			}
		}
	}
}

// noting notes the chunks of an answer as the model gave them, before middleware
// reads them: what one session hides from the provider is so in no other's answer.
func (a *answer) noting(chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a.noted, a.noteBytes = nil, 0
		for chunk, err := range chunks {
			if a.noteBytes += len(
				chunk.Text,
			) + len(
				chunk.Data,
			); err == nil &&
				a.noteBytes <= parley.MaxCachedResponseBytes {
				a.noted = append(a.noted, chunk)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// remember notes what a step that has settled makes of the cache: only whole and
// final answers are kept.
func (t *turn) remember(a *answer) {
	if t.responses == nil || a.failure != nil || a.finish != parley.FinishStop && a.finish != parley.FinishToolCalls {
		return
	}
	used := &t.responses.used
	if a.question.served != nil {
		hit := store.ResponseHit{Key: a.question.key}
		if a.call.Saved != nil {
			hit.Saved = *a.call.Saved
		}
		used.Hits = append(used.Hits, hit)
		return
	}
	if a.noteBytes > parley.MaxCachedResponseBytes || len(used.Fresh) >= turnResponses {
		return
	}
	kept, err := model.EncodeChunks(a.noted)
	if err == nil && len(kept) <= parley.MaxCachedResponseBytes {
		used.Fresh = append(used.Fresh, store.CachedResponse{Key: a.question.key, Chunks: kept, Cost: a.call.Cost})
	}
}

// keepResponses writes down what the run made of the cache, when its steps have
// settled and nobody waits for it.
func (t *turn) keepResponses() {
	if t.responses == nil || t.responses.used.IsZero() || t.writes.Err() != nil {
		return
	}
	evicted, err := t.w.responses.KeepResponses(t.writes, t.fence.WorkspaceID, t.responses.used)
	if err != nil {
		t.log().WarnContext(t.ctx, "the response cache could not be written", "error", err)
		return
	}
	if n := len(t.responses.used.Fresh); n > 0 {
		t.w.observer.CachedResponses(observe.ResponseStored, n)
	}
	if evicted > 0 {
		t.w.observer.CachedResponses(observe.ResponseEvicted, int(evicted))
	}
}
