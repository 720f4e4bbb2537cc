package anthropic

import (
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// writer writes the events of one message: its blocks one after the other, each of one text of the record.
type writer struct {
	frames *protocol.Frames
	pieces []piece // texts that the client has, in order; the last one's block is open
	open   bool
	blocks int    // that have begun
	text   []byte // all of it
}

// piece is how much of a message's text was sent.
type piece struct {
	message parley.ID
	kind    parley.ContentKind
	sent    int // bytes
}

// kindRefusal is the text with which a model refused: a text as well, but not the message's.
const kindRefusal parley.ContentKind = "refusal"

// event writes an event; members ends with the brace of its data.
func (w *writer) event(kind string, members []byte) {
	b := append(append(append(w.frames.Buffer, "event: "...), kind...), "\ndata: {\"type\":\""...)
	b = append(append(append(b, kind...), `",`...), members...)
	w.frames.Buffer = append(b, "\n\n"...)
}

func (w *writer) ping() {
	w.frames.Buffer = append(w.frames.Buffer, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

// begin begins a block.
func (w *writer) begin(block []byte) {
	b := append(w.index([]byte(nil)), `,"content_block":`...)
	w.event("content_block_start", append(append(b, block...), '}'))
}

// delta writes a piece of the open block.
func (w *writer) delta(kind, member, text string) {
	b := append(w.index([]byte(nil)), `,"delta":{"type":"`...)
	b = append(append(append(append(b, kind...), `","`...), member...), `":`...)
	w.event("content_block_delta", append(parley.AppendJSONString(b, text), "}}"...))
}

// index names the open block.
func (w *writer) index(to []byte) []byte {
	return strconv.AppendInt(append(to, `"index":`...), int64(w.blocks), 10)
}

// end ends the open block.
func (w *writer) end() {
	if !w.open {
		return
	}
	if last := &w.pieces[len(w.pieces)-1]; last.kind == parley.KindReasoning {
		signature := appendSignature([]byte(nil), last.message)
		w.delta("signature_delta", "signature", string(signature[1:len(signature)-1]))
	}
	w.stop()
	w.open = false
}

func (w *writer) stop() {
	w.event("content_block_stop", append(w.index([]byte(nil)), '}'))
	w.blocks++
}

// say sends what the client does not have yet of a message's text, of which some begins at an offset.
func (w *writer) say(message parley.ID, kind parley.ContentKind, offset int, text string) {
	at := len(w.pieces) - 1
	for at >= 0 && (w.pieces[at].message != message || w.pieces[at].kind != kind) {
		at--
	}
	sent := 0
	if at >= 0 {
		sent = w.pieces[at].sent
	}
	if offset > sent || offset+len(text) <= sent {
		return // a gap is filled when the step settles
	}
	text = text[sent-offset:]
	if at < 0 || at < len(w.pieces)-1 || !w.open {
		w.end()
		w.open = true
		w.pieces = append(w.pieces, piece{message: message, kind: kind, sent: sent})
		at = len(w.pieces) - 1
		if kind == parley.KindReasoning {
			w.begin([]byte(`{"type":"thinking","thinking":"","signature":""}`))
		} else {
			w.begin([]byte(`{"type":"text","text":"","citations":null}`))
			if len(w.text) > 0 {
				w.text = append(w.text, history.Gap...)
			}
		}
	}
	w.pieces[at].sent += len(text)
	if kind == parley.KindReasoning {
		w.delta("thinking_delta", "thinking", text)
		return
	}
	w.text = append(w.text, text...)
	w.delta("text_delta", "text", text)
}

// ends writes the events behind the text.
func (w *writer) ends(seen *history.Segment, stop string) {
	w.end()
	for i := range seen.Calls {
		c := &seen.Calls[i]
		w.begin(append(appendCall([]byte(nil), c), `,"input":{}}`...))
		w.delta("input_json_delta", "partial_json", history.Arguments(c))
		w.stop()
	}
	b := appendUsage(append(appendStop([]byte(`"delta":{`), stop), `},"usage":`...), seen, false)
	w.event("message_delta", append(b, '}'))
	w.frames.Buffer = append(w.frames.Buffer, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}
