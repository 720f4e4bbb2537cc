package acpwire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.org/parley"
)

// next reads a message.
func next(reader *bufio.Reader) (Frame, error) {
	line, err := nextLine(reader, MaxFrameBytes)
	if err != nil {
		return Frame{}, err
	}
	return parseFrame(line)
}

func TestFrames(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for line, want := range map[string]error{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                    nil,
		`{"jsonrpc":"2.0","method":"session/update","params":{}}`: nil,
		"\n \n" + `{"jsonrpc":"2.0","id":"a","method":"x"}`:       nil,
		`{"jsonrpc":"2.0"}`:                                                    ErrNoFrame,
		`{"jsonrpc":"1.0","id":1,"result":{}}`:                                 ErrNoFrame,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`:                               ErrNoFrame,
		`{"jsonrpc":"2.0","id":true,"method":"x"}`:                             ErrNoFrame,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 257) + `"}`: ErrNoFrame,
		`[]`:    ErrNoFrame,
		`hello`: ErrNoFrame,
		`{"jsonrpc":"2.0","method":"x","params":` + deep + `}`: ErrNoFrame,
		"":                                   io.EOF,
		strings.Repeat("x", MaxFrameBytes+1): ErrLongFrame,
	} {
		_, err := next(bufio.NewReader(iotest.HalfReader(strings.NewReader(line + "\n"))))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", parley.Clip(line, 64), err, want)
		}
	}
}

// TestFramesThatNoTextMayHold: NUL and bytes that are not UTF-8 become U+FFFD, and the rest of the message is what it
// was. Outside texts they make a line that is no message.
func TestFramesThatNoTextMayHold(t *testing.T) {
	t.Parallel()
	const before, after = `{"jsonrpc":"2.0","method":"x","params":"`, `"}`
	for said, want := range map[string]string{
		`a\u0000b`:       "a\uFFFDb",
		"a\x00b":         "a\uFFFDb",
		"a\xffb":         "a\uFFFDb",
		`a\\u0000b`:      `a\u0000b`,
		`\\\u0000`:       "\\\uFFFD",
		`\u0001\n\u00e9`: "\x01\n\u00e9",
	} {
		f, err := next(bufio.NewReader(strings.NewReader(before + said + after + "\n")))
		var got string
		if err == nil {
			err = json.Unmarshal(f.Params, &got)
		}
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", said, got, err, want)
		}
	}
	for _, line := range []string{before + after + "\x00", "\xff" + before + after, "{\x00}", before + `\`} {
		if _, err := next(bufio.NewReader(strings.NewReader(line + "\n"))); !errors.Is(err, ErrNoFrame) {
			t.Errorf("%q: %v, want %v", line, err, ErrNoFrame)
		}
	}
}

// What is cut off at the end of the stream is no message.
func TestACutFrameIsNone(t *testing.T) {
	t.Parallel()
	if _, err := next(bufio.NewReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{}}`))); err == nil {
		t.Error("a line without an end was read")
	}
}

// FuzzFrames: what is read from a program keeps within its bounds, can be written, and
// is the same then.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"session/request_permission","params":{"options":[]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan"}}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":"a\u0000b\\u0000\\\u0000"}`,
		"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"a\x00b\xff\"}", "\x00\\", "{\"\\\n",
		"{}\n[]\n", "\xff\n", `{"jsonrpc":"2.0","id":1e400,"method":"x"}`,
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		reader := bufio.NewReaderSize(bytes.NewReader(input), 16)
		for {
			read, err := next(reader)
			if err != nil {
				return
			}
			if len(read.ID) > maxIDBytes || len(read.Method) > maxMethodBytes {
				t.Fatalf("beyond its bounds: %+v", read)
			}
			line, err := read.encode()
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Count(line, []byte("\n")) != 1 {
				t.Fatalf("more than a line: %q", line)
			}
			again, err := next(bufio.NewReader(bytes.NewReader(line)))
			if err != nil || again.Method != read.Method || !sameJSON(again.ID, read.ID) {
				t.Fatalf("%+v became %+v, %v", read, again, err)
			}
		}
	})
}

func sameJSON(a, b json.RawMessage) bool {
	var left, right bytes.Buffer
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && left.String() == right.String()
}
