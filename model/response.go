package model

import (
	"encoding/json"
	"strconv"

	"example.org/parley"
)

// ResponseKey is the key under which the answer to a request is cached: the bytes to send, the model and the encoder's
// version. Encode the request without its CacheKey, which may name the session and changes no answer.
func ResponseKey(encoded EncodedRequest) parley.Hash {
	of := strconv.AppendQuote(nil, string(encoded.Model))
	of = append(strconv.AppendInt(append(of, ' '), int64(encoded.Version), 10), ' ')
	return parley.HashOf(append(of, encoded.Body...))
}

// keptChunk is a chunk as cached. Usage is left out: a cached answer uses nothing.
type keptChunk struct {
	Kind   ChunkKind           `json:"k"`
	Block  int                 `json:"b,omitempty"`
	Text   string              `json:"t,omitempty"`
	CallID string              `json:"c,omitempty"`
	Name   string              `json:"n,omitempty"`
	Data   []byte              `json:"d,omitempty"`
	Finish parley.FinishReason `json:"f,omitempty"`
	Cited  *parley.Citation    `json:"s,omitempty"`
}

// EncodeChunks encodes an answer's chunks for the cache, without usage.
func EncodeChunks(chunks []Chunk) ([]byte, error) {
	kept := make([]keptChunk, 0, len(chunks))
	for i := range chunks {
		if c := &chunks[i]; c.Kind != ChunkUsage {
			kept = append(kept, keptChunk{c.Kind, c.Block, c.Text, c.CallID, c.Name, c.Data, c.Finish, c.Citation})
		}
	}
	return json.Marshal(kept)
}

// DecodeChunks reads the output of EncodeChunks.
func DecodeChunks(data []byte) ([]Chunk, error) {
	var kept []keptChunk
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, parley.WrapError(parley.CodeInternal, err, "a cached answer cannot be read")
	}
	chunks := make([]Chunk, len(kept))
	for i, k := range kept {
		chunks[i] = Chunk{
			Kind:     k.Kind,
			Block:    k.Block,
			Text:     k.Text,
			CallID:   k.CallID,
			Name:     k.Name,
			Data:     k.Data,
			Finish:   k.Finish,
			Citation: k.Cited,
		}
	}
	return chunks, nil
}
