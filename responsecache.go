package parley

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// ResponseCacheSettings say that answers of an agent, or in a session, are kept
// and given again to equal requests of the same workspace, without asking the
// model. A session's settings replace its agent's.
type ResponseCacheSettings struct {
	TTLSeconds *int `json:"ttl_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How old an answer may be that is given again; default 3600. 0 turns the cache off, in a session whose agent has it."`
}

// The bounds of the response cache.
const (
	DefaultResponseTTL     = time.Hour
	MaxResponseTTL         = 30 * 24 * time.Hour // what is older is dropped
	MaxCachedResponses     = 1000                // of a workspace
	MaxResponseCacheBytes  = 32 << 20            // of a workspace
	MaxCachedResponseBytes = 512 << 10           // of one answer
)

// MarshalJSON writes null for what is absent.
func (s ResponseCacheSettings) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		TTLSeconds *int `json:"ttl_seconds"`
	}{s.TTLSeconds})
}

// Validate reports the field that breaks a rule. Nil breaks none.
func (s *ResponseCacheSettings) Validate() error {
	if s != nil && s.TTLSeconds != nil && (*s.TTLSeconds < 0 || *s.TTLSeconds > int(MaxResponseTTL.Seconds())) {
		return InvalidField("response_cache.ttl_seconds", "must lie between 0 (off) and %d", int(MaxResponseTTL.Seconds()))
	}
	return nil
}

// TTL is how old an answer may be; 0: the cache is off, as it is for nil.
func (s *ResponseCacheSettings) TTL() time.Duration {
	switch {
	case s == nil:
		return 0
	case s.TTLSeconds == nil:
		return DefaultResponseTTL
	}
	return time.Duration(*s.TTLSeconds) * time.Second
}

// CachedResponse is a complete answer of a model as it is kept.
type CachedResponse struct {
	Key    Hash   // of the request, its model and its encoder's version
	Chunks []byte // see EncodeChunks; at most MaxCachedResponseBytes
	Cost   *Money // what it cost; nil: unknown
}

// ResponseKey is what the answer to a request is kept by: the bytes that would be
// sent, the model and the encoder's version. Encode the request without its
// CacheKey, which may name the session and changes no answer.
func ResponseKey(encoded EncodedRequest) Hash {
	of := strconv.AppendQuote(nil, string(encoded.Model))
	of = append(strconv.AppendInt(append(of, ' '), int64(encoded.Version), 10), ' ')
	return HashOf(append(of, encoded.Body...))
}

// ResponseHit is an answer that was given again.
type ResponseHit struct {
	Key   Hash
	Saved Money // what it had cost; 0 when that is unknown
}

// ResponsesUsed is what a turn made of the response cache.
type ResponsesUsed struct {
	Hits   []ResponseHit
	Misses int
	Fresh  []CachedResponse
}

// IsZero reports that there is nothing to write down.
func (u *ResponsesUsed) IsZero() bool { return len(u.Hits) == 0 && u.Misses == 0 && len(u.Fresh) == 0 }

// ResponseCacheState is what a workspace's response cache holds and did.
type ResponseCacheState struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Hits    int64 `json:"hits"`    // answers that were given again
	Misses  int64 `json:"misses"`  // requests that the model had to be asked
	Stored  int64 `json:"stored"`  // answers that were kept
	Evicted int64 `json:"evicted"` // of them that went because of age or bounds
	Saved   Money `json:"saved"`   // US dollars that the hits had cost, as far as that is known
}

// ResponseCache keeps answers of models. A workspace sees its own alone.
type ResponseCache interface {
	// CachedResponse finds an answer by its key that is younger than age; nil
	// without one.
	CachedResponse(ctx context.Context, workspaceID ID, key Hash, age time.Duration) (*CachedResponse, error)
	// KeepResponses writes down what a turn made of the cache, in one transaction,
	// and drops what is older than MaxResponseTTL and then what was used longest ago
	// until the workspace is within its bounds. It tells how many it dropped.
	KeepResponses(ctx context.Context, workspaceID ID, used ResponsesUsed) (evicted int64, err error)
	// ResponseCacheState tells what the cache holds and did.
	ResponseCacheState(ctx context.Context, workspaceID ID) (ResponseCacheState, error)
	// ClearResponseCache drops all answers of the workspace; its counters stay.
	ClearResponseCache(ctx context.Context, workspaceID ID) (dropped int64, err error)
}

// ResponseCacheOutcome is what the response cache did.
type ResponseCacheOutcome string

// The outcomes.
const (
	ResponseHits    ResponseCacheOutcome = "hit"
	ResponseMisses  ResponseCacheOutcome = "miss"
	ResponseStored  ResponseCacheOutcome = "stored"
	ResponseEvicted ResponseCacheOutcome = "evicted"
)

// ResponseCacheOutcomes lists every outcome.
func ResponseCacheOutcomes() []ResponseCacheOutcome {
	return []ResponseCacheOutcome{ResponseHits, ResponseMisses, ResponseStored, ResponseEvicted}
}

// keptChunk is a chunk as it is kept. Usage is not: an answer that is given again
// uses nothing.
type keptChunk struct {
	Kind   ChunkKind    `json:"k"`
	Block  int          `json:"b,omitempty"`
	Text   string       `json:"t,omitempty"`
	CallID string       `json:"c,omitempty"`
	Name   string       `json:"n,omitempty"`
	Data   []byte       `json:"d,omitempty"`
	Finish FinishReason `json:"f,omitempty"`
}

// EncodeChunks is the form in which an answer's chunks are kept, without usage.
func EncodeChunks(chunks []Chunk) ([]byte, error) {
	kept := make([]keptChunk, 0, len(chunks))
	for i := range chunks {
		if c := &chunks[i]; c.Kind != ChunkUsage {
			kept = append(kept, keptChunk{c.Kind, c.Block, c.Text, c.CallID, c.Name, c.Data, c.Finish})
		}
	}
	return json.Marshal(kept)
}

// DecodeChunks reads what EncodeChunks wrote.
func DecodeChunks(data []byte) ([]Chunk, error) {
	var kept []keptChunk
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, WrapError(CodeInternal, err, "a kept answer cannot be read")
	}
	chunks := make([]Chunk, len(kept))
	for i, k := range kept {
		chunks[i] = Chunk{Kind: k.Kind, Block: k.Block, Text: k.Text, CallID: k.CallID, Name: k.Name, Data: k.Data, Finish: k.Finish}
	}
	return chunks, nil
}
