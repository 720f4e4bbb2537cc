package wire

import (
	"bytes"
	"io"

	"example.org/parley/model"
)

// maxRawLine bounds a line of unprocessed text, in bytes; longer lines are left out.
const maxRawLine = 64 << 10

// maxRawPiece is the size in bytes from which finished lines are passed on.
const maxRawPiece = 64 << 10

// rawBody passes the text of a body on while it is read. It passes whole lines, because a credential can only be
// recognised as a whole.
type rawBody struct {
	io.ReadCloser
	sink   model.RawSink
	secret string
	at     int64  // where held begins in the body
	held   []byte // not passed on yet
	whole  int    // bytes of held that are finished lines
	skips  bool   // the rest of the current line is left out
}

// Read implements io.Reader.
func (b *rawBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.take(p[:n])
	if err != nil {
		b.end()
	}
	return n, err
}

// Close implements io.Closer.
func (b *rawBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *rawBody) take(read []byte) {
	if len(read) == 0 {
		return
	}
	if !b.sink.Wanted() {
		b.drop(len(read))
		b.skips = read[len(read)-1] != '\n'
		return
	}
	for line := range bytes.Lines(read) {
		switch {
		case b.skips:
			b.drop(len(line))
		case len(b.held)-b.whole+len(line) > maxRawLine:
			b.pass()
			b.drop(len(line))
			b.skips = true
		default:
			b.held = append(b.held, line...)
		}
		if line[len(line)-1] != '\n' {
			break
		}
		b.skips, b.whole = false, len(b.held)
		if b.whole >= maxRawPiece {
			b.pass()
		}
	}
	b.pass()
}

// drop leaves out what is held, and n bytes more.
func (b *rawBody) drop(n int) {
	b.at += int64(len(b.held) + n)
	b.held, b.whole = b.held[:0], 0
}

// pass hands on the finished lines.
func (b *rawBody) pass() {
	if b.whole == 0 {
		return
	}
	end := b.at + int64(b.whole)
	b.sink.Raw(b.at, end, Redact(string(b.held[:b.whole]), b.secret))
	b.held = append(b.held[:0], b.held[b.whole:]...)
	b.at, b.whole = end, 0
}

// end hands on a last line without an end.
func (b *rawBody) end() {
	if len(b.held) > 0 && b.sink.Wanted() {
		b.whole = len(b.held)
		b.pass()
	}
	b.drop(0)
}
