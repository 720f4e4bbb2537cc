// Package sse reads server-sent event frames from a provider's response.
//
// It owns only the framing: lines, comments, the event and data fields, and their bounds. It does
// not know what a frame means, and it has no timeouts. The bytes of a frame belong to the Reader
// and are valid until the next call of Next.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"example.org/parley"
)

// firstBuffer is the initial buffer of a Reader in bytes; it doubles when a frame needs more.
const firstBuffer = 4 << 10

// maxFrame bounds one frame in bytes: its longest line, and the data of all its
// lines together.
const maxFrame = parley.MaxStreamLine

// freeBuffer is how long a Reader's buffer may grow, in bytes, without counting.
const freeBuffer = 256 << 10

// Room is what the long frames of many Readers may hold together, in bytes.
type Room interface {
	// Take counts n more bytes; false, and nothing counted, where there is no room.
	Take(n int64) bool
	// Give gives them back.
	Give(n int64)
}

// ErrNoRoom reports a frame that is long, and for which other Readers' frames leave no
// room. The Reader is of no further use.
var ErrNoRoom = errors.New("sse: long frames of other streams hold as much memory as they may")

// maxEmptyReads is how many empty reads in a row mark a source as broken, as in bufio.
const maxEmptyReads = 100

// Frame is one event of a stream. Both slices are valid until the next call of Next.
type Frame struct {
	Event []byte // the event field, empty if absent
	Data  []byte // the data lines, joined by newlines
	Cut   bool   // the stream ended before the blank line: Data may lack its end
}

// TooLongError reports a line or frame beyond the bound. The Reader cannot be used any more.
type TooLongError struct {
	Limit int // bytes
}

// Error names the bound.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("a line of the event stream is longer than %d bytes", e.Limit)
}

// span is a piece of the buffer, relative to Reader.start.
type span struct{ from, to int }

// Reader splits a stream into frames. It belongs to one goroutine.
type Reader struct {
	source  io.Reader
	room    Room
	held    int64 // of room
	buffer  []byte
	start   int // first byte of the unfinished frame
	line    int // first byte of the unfinished line
	scanned int // bytes before it contain no line end
	end     int // first byte not yet read
	event   span
	data    span
	joined  []byte // data of a frame with more than one data line
	lines   int    // data lines of the unfinished frame
	skipLF  bool   // a CR ended the last line: a following LF belongs to it
	began   bool   // past the byte order mark, if any
	fault   error  // what ended the source
}

// NewReader reads frames from source, which the caller closes. Long ones take room.
func NewReader(source io.Reader, room Room) *Reader {
	return &Reader{source: source, room: room}
}

// Release gives back the room that the Reader has taken, after its last frame.
func (r *Reader) Release() {
	r.room.Give(r.held)
	r.held = 0
}

// Next returns the next frame with data or an event name. It skips comments and frames without either. A last frame
// without a blank line is still a frame, because some servers end that way. Errors: io.EOF at the end, *TooLongError,
// or the source's own.
func (r *Reader) Next() (Frame, error) {
	r.reset()
	for {
		line, ok, err := r.nextLine()
		if err != nil {
			return Frame{}, err
		}
		if !ok { // the source has ended
			if r.lines > 0 && errors.Is(r.fault, io.EOF) {
				f := r.frame()
				f.Cut = true
				return f, nil
			}
			return Frame{}, r.fault
		}
		if line.from == line.to {
			if r.lines > 0 || r.event.to > r.event.from {
				return r.frame(), nil
			}
			r.reset()
			continue
		}
		if err := r.field(line); err != nil {
			return Frame{}, err
		}
	}
}

// reset begins a frame at the current line.
func (r *Reader) reset() {
	r.start = r.line
	r.event, r.data, r.lines = span{}, span{}, 0
	r.joined = r.joined[:0]
}

func (r *Reader) frame() Frame {
	f := Frame{Event: r.buffer[r.start+r.event.from : r.start+r.event.to]}
	if r.lines > 1 {
		f.Data = r.joined
	} else {
		f.Data = r.buffer[r.start+r.data.from : r.start+r.data.to]
	}
	return f
}

// field reads one non-empty line.
func (r *Reader) field(at span) error {
	line := r.buffer[r.start+at.from : r.start+at.to]
	name := bytes.IndexByte(line, ':')
	value := name + 1
	switch {
	case name == 0: // a comment
		if r.lines == 0 && r.event.from == r.event.to {
			r.start = r.line // drop it
		}
		return nil
	case name < 0:
		name, value = len(line), len(line)
	case value < len(line) && line[value] == ' ':
		value++
	}
	switch string(line[:name]) {
	case "data":
		r.lines++
		switch r.lines {
		case 1:
			r.data = span{at.from + value, at.to}
			return nil
		case 2:
			r.joined = append(r.joined, r.buffer[r.start+r.data.from:r.start+r.data.to]...)
		}
		if len(r.joined)+1+len(line)-value > maxFrame {
			return &TooLongError{Limit: maxFrame}
		}
		r.joined = append(append(r.joined, '\n'), line[value:]...)
	case "event":
		r.event = span{at.from + value, at.to}
	}
	return nil
}

// nextLine finds the next line, without its end. ok is false if the source has ended and nothing is left.
func (r *Reader) nextLine() (line span, ok bool, err error) {
	for {
		if r.skipLF && r.line < r.end {
			r.skipLF = false
			if r.buffer[r.line] == '\n' {
				if r.start == r.line {
					r.start++
				}
				r.line++
				r.scanned = max(r.scanned, r.line)
			}
		}
		if at := lineEnd(r.buffer[r.scanned:r.end]); at >= 0 {
			at += r.scanned
			line = span{r.line - r.start, at - r.start}
			r.skipLF = r.buffer[at] == '\r'
			r.line, r.scanned = at+1, at+1
			if at-r.start-line.from > maxFrame {
				return span{}, false, &TooLongError{Limit: maxFrame}
			}
			return line, true, nil
		}
		r.scanned = r.end
		if r.fault != nil {
			if r.line == r.end || !errors.Is(r.fault, io.EOF) {
				return span{}, false, nil
			}
			line = span{r.line - r.start, r.end - r.start} // a last line without a line end
			r.line = r.end
			return line, true, nil
		}
		if r.end-r.line > maxFrame {
			return span{}, false, &TooLongError{Limit: maxFrame}
		}
		if err := r.fill(); err != nil {
			return span{}, false, err
		}
	}
}

// lineEnd returns the index of the first CR or LF, -1 if there is none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once, after making room. It keeps the unfinished frame, which may be up to twice maxFrame long if it
// contains lines of unknown fields.
func (r *Reader) fill() error {
	if r.end == len(r.buffer) {
		switch {
		case r.start > 0 && r.end-r.start <= len(r.buffer)/2:
			r.shift(r.buffer)
		case r.end-r.start > 2*maxFrame:
			return &TooLongError{Limit: maxFrame}
		default:
			size := max(firstBuffer, 2*len(r.buffer))
			if more := int64(2*(size-freeBuffer)) - r.held; more > 0 { // joined may become as long
				if !r.room.Take(more) {
					return ErrNoRoom
				}
				r.held += more
			}
			r.shift(make([]byte, size))
		}
	}
	for range maxEmptyReads {
		if r.read() {
			return nil
		}
	}
	r.fault = io.ErrNoProgress
	return nil
}

// read reads once; false if that returned nothing.
func (r *Reader) read() bool {
	n, err := r.source.Read(r.buffer[r.end:])
	r.end += n
	r.fault = err
	if n > 0 && !r.began {
		r.skipMark()
	}
	return n > 0 || err != nil
}

// skipMark drops a UTF-8 byte order mark at the very beginning.
func (r *Reader) skipMark() {
	const mark = "\xef\xbb\xbf"
	have := r.buffer[:r.end]
	if len(have) < len(mark) && string(have) == mark[:len(have)] && r.fault == nil {
		return // too early to tell
	}
	r.began = true
	if bytes.HasPrefix(have, []byte(mark)) {
		copy(r.buffer, have[len(mark):])
		r.end -= len(mark)
	}
	r.scanned = 0
}

// shift moves what is still needed to the front of target.
func (r *Reader) shift(target []byte) {
	n := copy(target, r.buffer[r.start:r.end])
	r.line -= r.start
	r.scanned -= r.start
	r.start, r.end = 0, n
	r.buffer = target
}
