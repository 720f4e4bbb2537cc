package sse_test

import (
	"bytes"
	"strings"
	"testing"

	"example.org/parley/llm/sse"
)

// FuzzReader: any bytes are frames followed by an end or an error.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"data: a\n\ndata: b\r\n\r\n", "\ufeffevent: x\ndata\ndata: y\n\n",
		": ping\n\nid: 1\nretry: 5\ndata: [", strings.Repeat("data: x\n", 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		reader := sse.NewReader(bytes.NewReader(raw), room{})
		for frames := 0; ; frames++ {
			frame, err := reader.Next()
			if err != nil {
				return
			}
			if frames > len(raw) || len(frame.Data) > len(raw) {
				t.Fatalf("%q gives frame %d of %d bytes", raw, frames, len(frame.Data))
			}
		}
	})
}
