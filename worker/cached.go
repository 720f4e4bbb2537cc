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

// responses is a turn's use of the response cache; only turns whose agent or session asks for it have one. Writes
// happen when the run is over.
type responses struct {
	*claimed

	age  time.Duration // the oldest answer to use; 0: the cache is off
	used store.ResponsesUsed
}

// open reports whether answers may be kept and reused.
func (r *responses) open() bool { return r.age > 0 }

// served is a cached answer that replaces a call to the model.
type served struct {
	chunks []model.Chunk
	cost   *parley.Money // of the original call; nil: unknown
}

// choose turns the response cache on if the turn's settings ask for it.
func (r *responses) choose() {
	if age := setting.ResponseCache.Nearest(&r.claim.Agent.Settings, &r.claim.Session.Settings).
		TTL(); age > 0 &&
		r.w.responses != nil {
		r.age = age
	}
}

// key returns the cache key of an encoded request.
func (r *responses) key(request *model.Request, encoded model.EncodedRequest) (parley.Hash, error) {
	if request.CacheKey != "" {
		plain := *request
		plain.CacheKey = ""
		var err error
		if encoded, err = r.model.Encode(plain); err != nil {
			return parley.Hash{}, err
		}
	}
	encoded.Model = r.settings.Model
	return model.ResponseKey(encoded), nil
}

// lookUp looks for the answer to a question. If the cache fails, the model is asked.
func (r *responses) lookUp(q *question) {
	if !r.open() {
		return
	}
	found, err := r.w.responses.CachedResponse(r.writes, r.fence.WorkspaceID, q.key, r.age)
	if err == nil && found != nil {
		var chunks []model.Chunk
		if chunks, err = model.DecodeChunks(found.Chunks); err == nil {
			q.served = &served{chunks: chunks, cost: found.Cost}
			q.call.Manifest.CachedResponse = true
			r.w.observer.CachedResponses(observe.ResponseHits, 1)
			return
		}
	}
	if err != nil {
		r.log().WarnContext(r.ctx, "the response cache could not be read; the model is asked", "error", err)
	}
	r.used.Misses++
	r.w.observer.CachedResponses(observe.ResponseMisses, 1)
}

// stream returns the answer to a question: a cached one, or the model's, whose chunks are noted if it may be cached.
func (r *responses) stream(ctx context.Context, a *answer, q *question) iter.Seq2[model.Chunk, error] {
	switch {
	case q.served != nil:
		return q.served.stream(ctx)
	case q.speech != nil:
		return q.speech(ctx)
	case r.open():
		return a.noting(r.model.Stream(ctx, q.encoded))
	}
	return r.model.Stream(ctx, q.encoded)
}

// stream plays a cached answer as a model's. It uses no tokens.
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

// noting notes the chunks of an answer as received, before middleware reads them: text that middleware hides in one
// session must not be hidden in another's answer.
func (a *answer) noting(chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		a.noted, a.noteBytes = nil, 0
		for chunk, err := range chunks {
			a.noteBytes += len(chunk.Text) + len(chunk.Data)
			if chunk.Citation != nil {
				a.noteBytes += chunk.Citation.Size()
			}
			if err == nil && a.noteBytes <= parley.MaxCachedResponseBytes {
				a.noted = append(a.noted, chunk)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// remember notes a settled step for the cache. Only whole and final answers are cached.
func (r *responses) remember(a *answer) {
	if !r.open() || a.failure != nil || a.finish != parley.FinishStop && a.finish != parley.FinishToolCalls {
		return
	}
	used := &r.used
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

// keep writes the run's answers to the cache after its steps have settled, when nobody waits.
func (r *responses) keep() {
	if !r.open() || r.used.IsZero() || r.writes.Err() != nil {
		return
	}
	evicted, err := r.w.responses.KeepResponses(r.writes, r.fence.WorkspaceID, r.used)
	if err != nil {
		r.log().WarnContext(r.ctx, "the response cache could not be written", "error", err)
		return
	}
	if n := len(r.used.Fresh); n > 0 {
		r.w.observer.CachedResponses(observe.ResponseStored, n)
	}
	if evicted > 0 {
		r.w.observer.CachedResponses(observe.ResponseEvicted, int(evicted))
	}
}
