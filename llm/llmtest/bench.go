package llmtest

import (
	"testing"

	"example.org/parley/model"
)

// Bench measures the relaying of one chunk of a long answer: connection, frames and decoding, while the consumer does
// nothing. wire is the answer, chunks the number of its text chunks.
func Bench(b *testing.B, format Format, factory Factory, wire string, chunks int) {
	whole := []byte(wire)
	adapter := factory(b, Options{BaseURL: serve(b, Serve(whole, all(whole)))})
	encoded, err := adapter.Encode(Request(format))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += chunks {
		seen := 0
		for chunk, err := range adapter.Stream(b.Context(), encoded) {
			if err != nil {
				b.Fatal(err)
			}
			if chunk.Kind == model.ChunkText {
				seen++
			}
		}
		if seen != chunks {
			b.Fatalf("%d chunks, want %d", seen, chunks)
		}
	}
}
