package openai

import "bytes"

// repeated remembers the frame before, when a piece of text was all that it
// said. The frames of an answer commonly differ in nothing but that piece: one
// with the same bytes around it says the same, and need not be read again. That
// is most of the time that decoding takes.
type repeated struct {
	head, tail []byte // around the text, its quotes included; no head: nothing is remembered
	from, to   int    // of the text in the frame that is being read
	texts      int    // that this frame had; only one can be remembered
}

// maxRepeated bounds the bytes that are remembered.
const maxRepeated = 4 << 10

// match finds the text of a frame that is otherwise the one before.
func (r *repeated) match(data []byte) (text []byte, ok bool) {
	if len(r.head) == 0 || len(data) < len(r.head)+len(r.tail) || !bytes.HasPrefix(data, r.head) ||
		!bytes.HasSuffix(data, r.tail) {
		return nil, false
	}
	text = data[len(r.head) : len(data)-len(r.tail)]
	for _, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return nil, false
		}
	}
	return text, true
}

// begin is called before a frame is read.
func (r *repeated) begin() { r.from, r.to, r.texts = 0, 0, 0 }

// content is told of a text: the indexes of its quotes, the last one exclusive.
func (r *repeated) content(from, to int, ok bool) {
	r.from, r.to = from+1, to-1
	if r.texts += 1; !ok {
		r.other()
	}
}

// other is told of anything else that adds to the answer.
func (r *repeated) other() { r.texts += 2 }

// keep is called with a frame that was read without an error.
func (r *repeated) keep(data []byte) {
	r.head, r.tail = r.head[:0], r.tail[:0]
	if r.texts != 1 || len(data)-(r.to-r.from) > maxRepeated || bytes.IndexByte(data[r.from:r.to], '\\') >= 0 {
		return
	}
	r.head, r.tail = append(r.head, data[:r.from]...), append(r.tail, data[r.to:]...)
}
