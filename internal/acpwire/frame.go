package acpwire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"example.org/parley"
)

const (
	// MaxFrameBytes bounds one message, which is one line, unless a connection says otherwise.
	MaxFrameBytes = 8 << 20
	// largeFrame is the size from which messages are decoded one at a time per runtime: decoded, a message takes
	// several times its size.
	largeFrame = 256 << 10
	// maxIDBytes bounds the id of a request.
	maxIDBytes = 256
	// maxMethodBytes bounds the name of a method.
	maxMethodBytes = 256
	// maxErrorBytes bounds the sentence of an error.
	maxErrorBytes = 4 << 10
)

// Frame is a message of JSON-RPC 2.0: a request, a notification or a response.
type Frame struct {
	ID     json.RawMessage `json:"id,omitempty"` // absent: a notification
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Fault          `json:"error,omitempty"`
}

// Fault is the error of a response.
type Fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns the other side's message.
func (e *Fault) Error() string {
	return fmt.Sprintf("%s (%d)", parley.Clip(e.Message, 512), e.Code)
}

// The error codes that Parley answers with.
const (
	CodeUnreadable    = -32700
	CodeNoMethod      = -32601
	CodeInvalidParams = -32602
	CodeInternal      = -32603
	CodeCancelled     = -32800
	CodeAuthenticate  = -32000
	CodeNotFound      = -32002
)

// The reasons to refuse a line.
var (
	ErrLongFrame = errors.New("a message is longer than the bound")
	ErrNoFrame   = errors.New("its output is not the Agent Client Protocol: a line is not a JSON-RPC 2.0 message")
)

// nextLine reads the next line that is not empty. An error other than io.EOF says why the line is not a message.
func nextLine(reader *bufio.Reader, longest int) ([]byte, error) {
	for {
		line, err := readLine(reader, longest)
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// readLine reads a line within its bound. A line that the end of the stream cuts off does not count.
func readLine(reader *bufio.Reader, longest int) ([]byte, error) {
	var line []byte
	for {
		piece, err := reader.ReadSlice('\n') // at most the reader's buffer
		if len(line)+len(piece) > longest {
			return nil, fmt.Errorf("%w of %d bytes", ErrLongFrame, longest)
		}
		line = append(line, piece...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// unreadable replaces bytes and characters that text cannot contain.
const unreadable = "\uFFFD"

// mended returns a line whose texts can be stored: invalid UTF-8, and NUL, escaped or not, become U+FFFD. The output of
// a program's tools often contains them, and that must not fail the turn. It may change the line in place.
func mended(line []byte) []byte {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte(unreadable))
	}
	if bytes.IndexByte(line, 0) >= 0 {
		line = bytes.ReplaceAll(line, []byte{0}, []byte(unreadable))
	}
	const escaped, instead = "u0000", "ufffd"
	for at := 0; ; at += 2 { // behind the escape, which may be that of a backslash
		next := bytes.IndexByte(line[min(at, len(line)):], '\\')
		if next < 0 {
			return line
		}
		if at += next; bytes.HasPrefix(line[at+1:], []byte(escaped)) {
			copy(line[at+1:], instead)
		}
	}
}

func parseFrame(line []byte) (Frame, error) {
	line = mended(line)
	if line[0] != '{' || parley.CheckJSONBounds(line) != nil {
		return Frame{}, ErrNoFrame
	}
	read := struct {
		Version string `json:"jsonrpc"`
		Frame
	}{}
	if err := json.Unmarshal(line, &read); err != nil || read.Version != "2.0" {
		return Frame{}, ErrNoFrame
	}
	f := read.Frame
	if bytes.Equal(f.ID, []byte("null")) {
		f.ID = nil
	}
	switch {
	case len(f.ID) > maxIDBytes, len(f.Method) > maxMethodBytes,
		len(f.ID) > 0 && (f.ID[0] == '{' || f.ID[0] == '[' || f.ID[0] == 't' || f.ID[0] == 'f'),
		f.Method == "" && len(f.ID) == 0:
		return Frame{}, ErrNoFrame
	}
	return f, nil
}

// encode writes a message as a line.
func (f *Frame) encode() ([]byte, error) {
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		*Frame
	}{"2.0", f})
	return append(line, '\n'), err
}
