package anthropic

import (
	"bytes"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/llm/sse"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// none stands for the absence of a block number.
const none = -1

// decoder folds the events of one message. Blocks of the wire become blocks of the answer, except that consecutive text
// blocks become one: the wire splits text where citations begin.
type decoder struct {
	scan    wire.Scanner
	blocks  int
	run     int // the current text block, or none
	slots   []*slot
	usage   counted
	called  bool
	cited   int // citations of the answer
	finish  parley.FinishReason
	stopped bool // message_stop has come
}

// slot is one content block of the wire.
type slot struct {
	index  int64
	kind   blockKind
	block  int  // none for a block that Parley does not show
	closed bool // its stop has arrived; later text is still accepted
	runes  wire.Runes

	thinking, signature []byte // unchanged, to be sent back
	redacted            string
	id                  string
	characters          int // of its text that have gone into chunks
	cited               []parley.Citation
	arguments           []byte
	given               []byte // the input in the block's start, if not empty
}

// blockKind is the kind of a content block.
type blockKind uint8

const (
	blockOther blockKind = iota // not shown: the provider's own tools
	blockText
	blockThinking
	blockRedacted
	blockToolUse
)

// event holds the fields of any event. Its slices are valid until the next event.
type event struct {
	kind, deltaKind                    []byte
	index                              int64
	text, thinking, signature, partial []byte
	stopReason                         []byte
	cited                              wire.Cited
	block                              startedBlock
}

// startedBlock is the content_block of a content_block_start.
type startedBlock struct {
	kind, id, name, text, thinking, signature, data, input []byte
}

// Decode reads one event.
func (d *decoder) Decode(frame sse.Frame, chunks []model.Chunk) ([]model.Chunk, bool, error) {
	data := bytes.TrimSpace(frame.Data)
	if len(data) == 0 {
		return chunks, false, nil
	}
	if string(frame.Event) == "error" {
		return chunks, false, &wire.FailureError{Failure: wire.ParseFailure(data)}
	}
	d.scan.Reset(data)
	var e event
	d.read(&e)
	if !d.scan.Valid() {
		return chunks, false, wire.ErrMalformed
	}
	switch string(e.kind) {
	case "content_block_delta":
		return d.delta(chunks, &e), false, nil
	case "content_block_start":
		return d.begin(chunks, &e), false, nil
	case "content_block_stop":
		return d.stop(chunks, e.index), false, nil
	case "message_start":
		if started := d.usage.started(); !started.IsZero() {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkUsage, Usage: started})
		}
	case "message_delta":
		if len(e.stopReason) > 0 {
			d.finish = finishOf(string(e.stopReason))
		}
	case "message_stop":
		d.stopped = true
		return d.end(chunks), true, nil
	case "error":
		return chunks, false, &wire.FailureError{Failure: wire.ParseFailure(data)}
	}
	return chunks, false, nil
}

// Complete is false until message_stop, which ends the answer anyway.
func (d *decoder) Complete() bool { return d.stopped }

// End refuses a wire without message_stop, after yielding what was held back.
func (d *decoder) End(chunks []model.Chunk) ([]model.Chunk, error) {
	for _, s := range d.slots {
		chunks = s.flush(chunks)
	}
	return chunks, wire.ErrUnfinished
}

// begin opens a content block.
func (d *decoder) begin(chunks []model.Chunk, e *event) []model.Chunk {
	b := &e.block
	chunks = d.stop(chunks, e.index) // the previous block was never stopped
	s := &slot{index: e.index, kind: kindOf(b.kind), block: none}
	d.slots = append(d.slots, s)
	switch s.kind {
	case blockText:
		if d.run != none {
			s.block = d.run
		}
		return d.text(chunks, s, b.text)
	case blockThinking:
		s.signature = bytes.Clone(b.signature)
		return d.thinking(chunks, s, b.thinking)
	case blockRedacted:
		d.number(s)
		s.redacted = string(b.data)
		return append(chunks, model.Chunk{Kind: model.ChunkReasoning, Block: s.block})
	case blockToolUse:
		d.called = true
		d.number(s)
		s.id = valid(b.id)
		if trimmed := bytes.Trim(b.input, "{} \t\r\n"); len(trimmed) > 0 {
			s.given = bytes.Clone(b.input)
		}
		return append(chunks, model.Chunk{Kind: model.ChunkToolCall, Block: s.block, CallID: s.id, Name: valid(b.name)})
	}
	return chunks
}

// number gives a slot the next block number, which ends a run of text.
func (d *decoder) number(s *slot) {
	s.block = d.blocks
	d.blocks++
	d.run = none
}

func (d *decoder) delta(chunks []model.Chunk, e *event) []model.Chunk {
	s := d.slot(e.index)
	if s == nil || s.closed && s.kind != blockText {
		return chunks
	}
	switch string(e.deltaKind) {
	case "text_delta":
		if s.kind == blockText {
			chunks = d.text(chunks, s, e.text)
		}
	case "input_json_delta":
		if s.kind == blockToolUse && len(e.partial) > 0 {
			s.arguments = append(s.arguments, e.partial...)
			chunks = s.append(chunks, model.ChunkArguments, e.partial)
		}
	case "thinking_delta":
		if s.kind == blockThinking {
			chunks = d.thinking(chunks, s, e.thinking)
		}
	case "signature_delta":
		s.signature = append(s.signature, e.signature...)
	case "citations_delta":
		if cited, ok := e.cited.Citation(
			0,
			0,
		); ok && s.kind == blockText && !s.closed &&
			d.cited < parley.MaxCitations {
			d.cited++
			s.cited = append(s.cited, cited)
		}
	}
	return chunks
}

// text appends to a text block, which gets its number with its first text.
func (d *decoder) text(chunks []model.Chunk, s *slot, fragment []byte) []model.Chunk {
	if len(fragment) == 0 {
		return chunks
	}
	if s.block == none {
		d.number(s)
		d.run = s.block
	}
	return s.append(chunks, model.ChunkText, fragment)
}

// thinking appends to a thinking block.
func (d *decoder) thinking(chunks []model.Chunk, s *slot, fragment []byte) []model.Chunk {
	if s.block == none {
		d.number(s)
	}
	if len(fragment) == 0 {
		return chunks
	}
	s.thinking = append(s.thinking, fragment...)
	return s.append(chunks, model.ChunkReasoning, fragment)
}

// append appends the text completed by a fragment.
func (s *slot) append(chunks []model.Chunk, kind model.ChunkKind, fragment []byte) []model.Chunk {
	if text := s.runes.Join(fragment); text != "" {
		s.count(text)
		chunks = append(chunks, model.Chunk{Kind: kind, Block: s.block, Text: text})
	}
	return chunks
}

// count counts what has gone into chunks of a text.
func (s *slot) count(text string) {
	if s.kind == blockText {
		s.characters += utf8.RuneCountInString(text)
	}
}

// flush appends what was held back.
func (s *slot) flush(chunks []model.Chunk) []model.Chunk {
	text := s.runes.End()
	if text == "" {
		return chunks
	}
	s.count(text)
	kind := model.ChunkText
	switch s.kind {
	case blockThinking:
		kind = model.ChunkReasoning
	case blockToolUse:
		kind = model.ChunkArguments
	}
	return append(chunks, model.Chunk{Kind: kind, Block: s.block, Text: text})
}

func (d *decoder) slot(index int64) *slot {
	for i := len(d.slots) - 1; i >= 0; i-- {
		if d.slots[i].index == index {
			return d.slots[i]
		}
	}
	return nil
}

// stop closes the content block at an index, if one is open there.
func (d *decoder) stop(chunks []model.Chunk, index int64) []model.Chunk {
	s := d.slot(index)
	if s == nil {
		return chunks
	}
	return d.cite(s.close(chunks), s)
}

// cite appends the citations of a text block of the wire that is closed: they are of all of
// it. It is a piece of a block of the answer, behind those before it.
func (d *decoder) cite(chunks []model.Chunk, s *slot) []model.Chunk {
	if len(s.cited) == 0 || s.block == none {
		return chunks
	}
	start := 0
	for _, before := range d.slots {
		if before == s {
			break
		}
		if before.block == s.block {
			start += before.characters
		}
	}
	for i := range s.cited {
		c := &s.cited[i]
		c.Start, c.End = start, start+s.characters
		chunks = append(chunks, model.Chunk{Kind: model.ChunkCitation, Block: s.block, Citation: c})
	}
	s.cited = nil
	return chunks
}

// close appends the rest of a block, and the data to send back.
func (s *slot) close(chunks []model.Chunk) []model.Chunk {
	if s.closed {
		return s.flush(chunks)
	}
	s.closed = true
	if s.kind == blockToolUse && len(s.arguments) == 0 {
		s.arguments = []byte("{}") // a call without arguments has no input delta
		if len(s.given) > 0 {
			s.arguments = s.given
		}
		chunks = s.append(chunks, model.ChunkArguments, s.arguments)
	}
	chunks = s.flush(chunks)
	var data []byte
	switch s.kind {
	case blockThinking:
		if len(s.thinking) == 0 { // its text is withheld, its signature is not
			chunks = append(chunks, model.Chunk{Kind: model.ChunkReasoning, Block: s.block})
		}
		data = thinkingData(valid(s.thinking), valid(s.signature))
	case blockRedacted:
		data = redactedData(s.redacted)
	case blockToolUse:
		data = wire.CallData{ID: s.id, Arguments: valid(s.arguments)}.Bytes()
	default:
		return chunks
	}
	return append(chunks, model.Chunk{Kind: model.ChunkProviderData, Block: s.block, Data: data})
}

// end appends the rest of a complete message.
func (d *decoder) end(chunks []model.Chunk) []model.Chunk {
	for _, s := range d.slots {
		chunks = d.cite(s.close(chunks), s)
	}
	if total := d.usage.total(); !total.IsZero() {
		chunks = append(chunks, model.Chunk{Kind: model.ChunkUsage, Usage: total})
	}
	finish := d.finish
	switch {
	case finish == "":
		finish = parley.FinishStop
		if d.called {
			finish = parley.FinishToolCalls
		}
	case finish == parley.FinishToolCalls && !d.called:
		finish = parley.FinishStop
	}
	return append(chunks, model.Chunk{Kind: model.ChunkFinish, Finish: finish})
}

func kindOf(name []byte) blockKind {
	switch string(name) {
	case "text":
		return blockText
	case "thinking":
		return blockThinking
	case "redacted_thinking":
		return blockRedacted
	case "tool_use":
		return blockToolUse
	default:
		return blockOther
	}
}

// finishOf maps the stop reasons. pause_turn marks an answer that the provider would continue in another request: it is
// incomplete, like one that was cut.
func finishOf(reason string) parley.FinishReason {
	switch reason {
	case "tool_use":
		return parley.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded", "pause_turn":
		return parley.FinishLength
	case "refusal":
		return parley.FinishRefusal
	default: // end_turn, stop_sequence
		return parley.FinishStop
	}
}

func valid(text []byte) string {
	var runes wire.Runes
	return runes.Join(text) + runes.End()
}
