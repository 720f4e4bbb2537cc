package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/llm/sse"
)

type frame struct{ Event, Data string }

// room is without an end, and counts nothing.
type room struct{}

func (room) Take(int64) bool { return true }
func (room) Give(int64)      {}

// small is room for little.
type small struct{ left int64 }

func (s *small) Take(n int64) bool {
	if n > s.left {
		return false
	}
	s.left -= n
	return true
}

func (s *small) Give(n int64) { s.left += n }

// TestLongFramesTakeRoom: a short frame takes none, a long one what its buffers hold, and
// one without room ends its stream.
func TestLongFramesTakeRoom(t *testing.T) {
	t.Parallel()
	const all = 8 << 20
	s := &small{left: all}
	short := sse.NewReader(strings.NewReader("data: "+strings.Repeat("x", 100<<10)+"\n\n"), s)
	if _, err := short.Next(); err != nil || s.left != all {
		t.Errorf("a short frame takes %d, %v", all-s.left, err)
	}
	long := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	first := sse.NewReader(strings.NewReader(long), s)
	if _, err := first.Next(); err != nil || all-s.left < 2<<20 {
		t.Errorf("a long frame takes %d, %v", all-s.left, err)
	}
	second, third := sse.NewReader(strings.NewReader(long), s), sse.NewReader(strings.NewReader(long), s)
	if _, err := second.Next(); err != nil {
		t.Error(err)
	}
	if _, err := third.Next(); !errors.Is(err, sse.ErrNoRoom) {
		t.Errorf("without room: %v", err)
	}
	for _, r := range []*sse.Reader{short, first, second, third, third} {
		r.Release()
	}
	if s.left != all {
		t.Errorf("%d of %d bytes came back", s.left, all)
	}
}

// readAll copies every frame and returns the error that ended the stream.
func readAll(source io.Reader) ([]frame, error) {
	reader := sse.NewReader(source, room{})
	var frames []frame
	for {
		f, err := reader.Next()
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame{string(f.Event), string(f.Data)})
	}
}

func TestFrames(t *testing.T) {
	cases := map[string]struct {
		wire string
		want []frame
	}{
		"lf":   {"data: a\n\ndata: b\n\n", []frame{{"", "a"}, {"", "b"}}},
		"crlf": {"event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []frame{{"x", "a"}, {"", "b"}}},
		"cr":   {"event: x\rdata: a\r\rdata: b\r\r", []frame{{"x", "a"}, {"", "b"}}},
		"mixed ends": {
			"data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n",
			[]frame{{"", "a\nb\nc"}, {"", "d"}},
		},
		"no space, two spaces":     {"data:a\n\ndata:  b\n\n", []frame{{"", "a"}, {"", " b"}}},
		"comments":                 {": ping\n\n: x\ndata: a\n: y\n\n:\n\n", []frame{{"", "a"}}},
		"multi-line data":          {"data: a\ndata:\ndata: c\n\n", []frame{{"", "a\n\nc"}}},
		"field without colon":      {"data\n\n", []frame{{"", ""}}},
		"unknown fields":           {"id: 7\nretry: 10\ndata: a\n\n", []frame{{"", "a"}}},
		"event alone":              {"event: ping\n\ndata: a\n\n", []frame{{"ping", ""}, {"", "a"}}},
		"event after data":         {"data: a\nevent: x\n\n", []frame{{"x", "a"}}},
		"byte order mark":          {"\xef\xbb\xbfdata: a\n\n", []frame{{"", "a"}}},
		"mark only at the start":   {"data: a\n\n\xef\xbb\xbfdata: b\n\n", []frame{{"", "a"}}},
		"end without blank line":   {"data: a\n\ndata: b\n", []frame{{"", "a"}, {"", "b"}}},
		"end without any line end": {"data: a\n\ndata: [DONE]", []frame{{"", "a"}, {"", "[DONE]"}}},
		"colons in the value":      {"data: a: b\n\n", []frame{{"", "a: b"}}},
		"nothing":                  {"", nil},
		"blank lines":              {"\n\n\r\n\r", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for border, source := range map[string]io.Reader{
				"whole":        strings.NewReader(c.wire),
				"byte by byte": iotest.OneByteReader(strings.NewReader(c.wire)),
				"halves":       iotest.HalfReader(strings.NewReader(c.wire)),
				"data and end": iotest.DataErrReader(strings.NewReader(c.wire)),
			} {
				got, err := readAll(source)
				if !errors.Is(err, io.EOF) {
					t.Fatalf("%s: ended with %v, want io.EOF", border, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: frames (-want +got)\n%s", border, diff)
				}
			}
		})
	}
}

func TestLineBounds(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	got, err := readAll(strings.NewReader("data: a\n\ndata: " + long + "\n\ndata: b\n\n"))
	if !errors.Is(err, io.EOF) || len(got) != 3 || got[1].Data != long || got[2].Data != "b" {
		t.Fatalf("a line of 2 MB: %d frames, %v", len(got), err)
	}

	edge := "data: " + strings.Repeat("x", parley.MaxStreamLine-len("data: "))
	if got, err = readAll(strings.NewReader(edge + "\n\n")); !errors.Is(err, io.EOF) || len(got) != 1 {
		t.Fatalf("a line at the bound: %d frames, %v", len(got), err)
	}
	wires := map[string]string{
		"ended":      edge + "x\n\n",
		"endless":    edge + strings.Repeat("x", 1<<20),
		"many lines": strings.Repeat("data: "+long+"\n", 3) + "\n",
		"many junk":  "data: a\n" + strings.Repeat("junk: "+long+"\n", 9) + "\n",
	}
	for name, wire := range wires {
		_, err := readAll(strings.NewReader(wire))
		var tooLong *sse.TooLongError
		if !errors.As(err, &tooLong) || tooLong.Limit != parley.MaxStreamLine {
			t.Errorf("%s: %v, want a TooLongError of %d", name, err, parley.MaxStreamLine)
		}
	}
}

func TestSourceError(t *testing.T) {
	broken := errors.New("connection reset")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v and %v, want the one whole frame and the source's error", got, err)
	}
	if _, err := readAll(noProgress{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that returns nothing: %v", err)
	}
}

type noProgress struct{}

func (noProgress) Read([]byte) (int, error) { return 0, nil }

// Any frames, written with any line ends and cut anywhere, are read back.
func TestAnyFramesAnyBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r", "\r\n"}).Draw(t, "end")
		var wire bytes.Buffer
		var want []frame
		for range rapid.IntRange(0, 20).Draw(t, "frames") {
			f := frame{Event: rapid.StringMatching(`[a-z_]{0,8}`).Draw(t, "event")}
			if f.Event != "" {
				wire.WriteString("event: " + f.Event + end)
			}
			lines := rapid.SliceOfN(rapid.StringMatching(`[ -~é😀]{0,30}`), 1, 3).Draw(t, "lines")
			for _, line := range lines {
				wire.WriteString("data: " + line + end)
			}
			f.Data = strings.Join(lines, "\n")
			wire.WriteString(end)
			want = append(want, f)
		}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 10).Draw(t, "sizes")
		got, err := readAll(&pieces{data: wire.Bytes(), sizes: sizes})
		if !errors.Is(err, io.EOF) {
			t.Fatalf("ended with %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("frames (-want +got)\n%s", diff)
		}
	})
}

// pieces returns its data in reads of the given sizes, repeatedly.
type pieces struct {
	data  []byte
	sizes []int
	turn  int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := min(p.sizes[p.turn%len(p.sizes)], len(p.data), len(b))
	p.turn++
	copy(b, p.data[:n])
	p.data = p.data[n:]
	return n, nil
}

func BenchmarkNext(b *testing.B) {
	one := `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1700000000,"model":"gpt-5",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	wire := strings.Repeat(one, 1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(one)))
	for i := 0; i < b.N; i += 1000 {
		reader := sse.NewReader(strings.NewReader(wire), room{})
		for {
			if _, err := reader.Next(); err != nil {
				break
			}
		}
	}
}
