package acp

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
	// MaxFrameBytes bounds one message of a program, which is one line.
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

// frame is a message of JSON-RPC 2.0: a request, a notification or a response.
type frame struct {
	ID     json.RawMessage `json:"id,omitempty"` // absent: a notification
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *wireError      `json:"error,omitempty"`
}

// wireError is the error of a response.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the other side's message.
func (e *wireError) Error() string {
	return fmt.Sprintf("%s (%d)", parley.Clip(e.Message, 512), e.Code)
}

// The error codes that Parley answers with.
const (
	codeNoMethod      = -32601
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// The reasons to refuse a line.
var (
	errLongFrame = fmt.Errorf("a message is longer than %d bytes", MaxFrameBytes)
	errNoFrame   = errors.New("its output is not the Agent Client Protocol: a line is not a JSON-RPC 2.0 message")
)

// nextLine reads the next line that is not empty. An error other than io.EOF says why the line is not a message.
func nextLine(reader *bufio.Reader) ([]byte, error) {
	for {
		line, err := readLine(reader)
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// readLine reads a line within its bound. A line that the end of the stream cuts off does not count.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := reader.ReadSlice('\n') // at most the reader's buffer
		if len(line)+len(piece) > MaxFrameBytes {
			return nil, errLongFrame
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

func parseFrame(line []byte) (frame, error) {
	line = mended(line)
	if line[0] != '{' || parley.CheckJSONBounds(line) != nil {
		return frame{}, errNoFrame
	}
	read := struct {
		Version string `json:"jsonrpc"`
		frame
	}{}
	if err := json.Unmarshal(line, &read); err != nil || read.Version != "2.0" {
		return frame{}, errNoFrame
	}
	f := read.frame
	if bytes.Equal(f.ID, []byte("null")) {
		f.ID = nil
	}
	switch {
	case len(f.ID) > maxIDBytes, len(f.Method) > maxMethodBytes,
		len(f.ID) > 0 && (f.ID[0] == '{' || f.ID[0] == '[' || f.ID[0] == 't' || f.ID[0] == 'f'),
		f.Method == "" && len(f.ID) == 0:
		return frame{}, errNoFrame
	}
	return f, nil
}

// encode writes a message as a line.
func (f *frame) encode() ([]byte, error) {
	line, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		*frame
	}{"2.0", f})
	return append(line, '\n'), err
}
