package openai

import "bytes"

// repeated remembers the previous frame if it carried only a piece of text. An answer's frames commonly differ only in
// that piece: a frame with the same bytes around it means the same, and need not be parsed again, which is most of the
// time of decoding.
type repeated struct {
	head, tail []byte // bytes around the text, with its quotes; no head: nothing is remembered
	from, to   int    // position of the text in the frame being read
	texts      int    // number of texts in this frame; only one can be remembered
}

// maxRepeated bounds the remembered bytes.
const maxRepeated = 4 << 10

// match returns the text of a frame that otherwise equals the previous one.
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

// content reports a text: the indexes of its quotes, the last one exclusive.
func (r *repeated) content(from, to int, ok bool) {
	r.from, r.to = from+1, to-1
	if r.texts += 1; !ok {
		r.other()
	}
}

// other reports anything else that adds to the answer.
func (r *repeated) other() { r.texts += 2 }

// keep remembers a frame that was read without an error.
func (r *repeated) keep(data []byte) {
	r.head, r.tail = r.head[:0], r.tail[:0]
	if r.texts != 1 || len(data)-(r.to-r.from) > maxRepeated || bytes.IndexByte(data[r.from:r.to], '\\') >= 0 {
		return
	}
	r.head, r.tail = append(r.head, data[:r.from]...), append(r.tail, data[r.to:]...)
}
