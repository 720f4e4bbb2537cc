package model

import "example.org/parley"

// ChunkKind says which fields of a Chunk are set.
type ChunkKind uint8

// The kinds of chunk. Adapters number blocks from 0 in order of appearance; a
// block is a contiguous run of reasoning, of text, or one tool call. Text after
// a call, or reasoning after text, is a new block. Deltas of calls may
// interleave and name their block.
const (
	ChunkReasoning    ChunkKind = iota + 1 // Block, Text
	ChunkText                              // Block, Text
	ChunkRefusal                           // Block, Text
	ChunkToolCall                          // Block, CallID (the provider's), Name: begins a call
	ChunkArguments                         // Block, Text
	ChunkProviderData                      // Block, Data: replaces the block's earlier data
	ChunkUsage                             // Usage: replaces earlier usage
	ChunkFinish                            // Finish: the last chunk
	ChunkCitation                          // Block, Citation: of a text block that there is
)

// Chunk is one piece of a streamed answer. Text is valid UTF-8: adapters hold
// back the bytes of a split rune.
type Chunk struct {
	Kind   ChunkKind
	Block  int
	Text   string
	CallID string
	Name   string
	Data   []byte
	Usage  parley.Usage
	Finish parley.FinishReason
	// Citation counts Start and End in characters of the block's text, not in bytes, which
	// middleware may change; an End beyond the text is its end.
	Citation *parley.Citation
}
