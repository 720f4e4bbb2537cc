package wire

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// heardRaw is a sink that listens only at times.
type heardRaw struct {
	t      *rapid.T
	source string
	wanted []bool // answers in turn, the last one for good
	end    int64
	text   strings.Builder
}

func (h *heardRaw) Wanted() bool {
	now := h.wanted[0]
	if len(h.wanted) > 1 {
		h.wanted = h.wanted[1:]
	}
	return now
}

func (h *heardRaw) Raw(offset, end int64, text string) {
	if offset < h.end || h.source[offset:end] != text {
		h.t.Fatalf("%d–%d after %d is told as %q", offset, end, h.end, text)
	}
	if offset > 0 && h.source[offset-1] != '\n' {
		h.t.Fatalf("a piece begins within a line, at %d", offset)
	}
	h.end = end
	h.text.WriteString(text)
}

// TestRawIsWholeLines: however a body arrives, and whoever begins or ends to listen meanwhile, pieces are whole lines
// at their place; who listens all the time gets all of it but lines that are too long.
func TestRawIsWholeLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxRawLine+1) + "\n"
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 5000).Draw(t, "read")
		var source, all string
		for _, line := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "data: b", "long"}), 0, 10).
			Draw(t, "lines") {
			if line == "long" && most > 200 { // else it takes long
				source += long
				continue
			}
			source, all = source+line+"\n", all+line+"\n"
		}
		if rapid.Bool().Draw(t, "open end") {
			source, all = source+"c", all+"c"
		}
		always := rapid.Bool().Draw(t, "always")
		heard := &heardRaw{t: t, source: source, wanted: []bool{true}}
		if !always {
			heard.wanted = rapid.SliceOfN(rapid.Bool(), 1, 40).Draw(t, "wanted")
		}
		body := &rawBody{ReadCloser: io.NopCloser(strings.NewReader(source)), sink: heard}
		for buffer := make([]byte, most); ; {
			if _, err := body.Read(buffer); err != nil {
				break
			}
		}
		if err := body.Close(); err != nil {
			t.Fatal(err)
		}
		if always && heard.text.String() != all {
			t.Fatalf("%d bytes are told, want %d", heard.text.Len(), len(all))
		}
	})
}
