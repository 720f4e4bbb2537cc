package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/llm/sse"
	"example.org/parley/llm/wire"
	"example.org/parley/model"
)

// none stands for the absence of a block number.
const none = -1

// decoder folds the chunks of one chat completion. The wire has no blocks: a block ends where another kind of delta
// begins.
type decoder struct {
	scan     wire.Scanner
	last     repeated
	blocks   int
	current  int             // the current run of text, reasoning or refusal, or none
	kind     model.ChunkKind // its kind
	runes    wire.Runes      // incomplete rest of its last delta
	thoughts []thought
	texts    []said
	cited    []parley.Citation
	calls    []*call
	usage    parley.Usage
	refused  bool
	finish   parley.FinishReason // "" until the wire reports it
}

// thought is a block of reasoning, and its provider's field for it.
type thought struct {
	block int
	field string
}

// said is a block of text and the number of its characters so far.
type said struct{ block, characters int }

// call is one tool call of the answer.
type call struct {
	index     int64 // the wire's index, which a later call may reuse
	block     int   // none until the call has a name
	id, name  string
	arguments []byte // all of it
	sent      int    // bytes of arguments already passed on
	runes     wire.Runes
	extra     json.RawMessage
}

// deltaFields are the possible fields of a delta; its slices point into the frame.
type deltaFields struct {
	reasoning, content, refusal []byte
	field                       string
}

// Decode reads one frame.
func (d *decoder) Decode(frame sse.Frame, chunks []model.Chunk) ([]model.Chunk, bool, error) {
	data := bytes.TrimSpace(frame.Data)
	if len(data) == 0 {
		return chunks, false, nil
	}
	if data[0] == '[' && string(data) == "[DONE]" {
		return d.end(chunks), true, nil
	}
	if string(frame.Event) == "error" {
		return chunks, false, &wire.FailureError{Failure: wire.ParseFailure(data)}
	}
	if text, ok := d.last.match(data); ok {
		if len(text) > 0 {
			chunks = d.run(chunks, model.ChunkText, text)
		}
		return chunks, false, nil
	}
	s := &d.scan
	s.Reset(data)
	d.last.begin()
	failed := false
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "choices":
			for more := s.Array(); more; {
				if more = s.Element(); more {
					chunks = d.choice(chunks)
				}
			}
		case "usage":
			d.readUsage()
		case "error":
			failed = !s.IsNull()
			s.Skip()
		default:
			s.Skip()
		}
	}
	switch {
	case !s.Valid():
		return chunks, false, wire.ErrMalformed
	case failed:
		return chunks, false, &wire.FailureError{Failure: wire.ParseFailure(data)}
	case d.finish == finishBroken:
		return chunks, false, &wire.FailureError{
			Failure: wire.Failure{Code: "server_error", Message: "the provider broke the answer off"},
		}
	}
	d.last.keep(data)
	return chunks, false, nil
}

// Complete reports whether a finish reason has arrived: usage and [DONE] may follow.
func (d *decoder) Complete() bool { return d.finish != "" }

// End accepts a wire that ends after its finish reason.
func (d *decoder) End(chunks []model.Chunk) ([]model.Chunk, error) {
	if !d.Complete() {
		return d.flush(chunks), wire.ErrUnfinished
	}
	return d.end(chunks), nil
}

// choice reads an element of choices. Parley requests one; others are ignored.
func (d *decoder) choice(chunks []model.Chunk) []model.Chunk {
	s := &d.scan
	var index int64
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "index":
			index, _ = s.Int()
		case "delta":
			if index == 0 {
				chunks = d.delta(chunks)
			} else {
				s.Skip()
			}
		case "finish_reason":
			if reason, ok := s.String(); ok && index == 0 && len(reason) > 0 {
				d.finish = finishOf(string(reason))
			}
		case "usage": // Moonshot's position
			d.readUsage()
		default:
			s.Skip()
		}
	}
	return chunks
}

func (d *decoder) delta(chunks []model.Chunk) []model.Chunk {
	s := &d.scan
	var f deltaFields
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "content":
			if !s.IsArray() {
				from := s.At()
				content, ok := s.String()
				f.content = content
				d.last.content(from, s.At(), ok)
				continue
			}
			d.last.other()
			chunks = d.tell(chunks, &f)
			chunks = d.parts(chunks)
		case "reasoning_content", "reasoning": // some servers send both, with the same text
			if text, ok := s.String(); ok && len(text) > 0 && len(f.reasoning) == 0 {
				f.reasoning, f.field = text, string(name)
				d.last.other()
			}
		case "refusal":
			f.refusal, _ = s.String()
			if len(f.refusal) > 0 {
				d.last.other()
			}
		case "annotations":
			d.last.other()
			for more := s.Array(); more; {
				if more = s.Element(); more {
					d.annotation()
				}
			}
		case "tool_calls":
			d.last.other()
			chunks = d.tell(chunks, &f)
			for more := s.Array(); more; {
				if more = s.Element(); more {
					chunks = d.toolCall(chunks)
				}
			}
		default:
			s.Skip()
		}
	}
	return d.tell(chunks, &f)
}

// parts reads content in the form of a list of parts, as Mistral's reasoning models send it: {"type":"text","text":…}
// and {"type":"thinking","thinking":[…]}.
func (d *decoder) parts(chunks []model.Chunk) []model.Chunk {
	s := &d.scan
	for more := s.Array(); more; {
		if more = s.Element(); !more {
			break
		}
		each(s, func(name string, s *wire.Scanner) bool {
			var f deltaFields
			switch name {
			case "text":
				f.content, _ = s.String()
			case "thinking":
				for more := s.Array(); more; {
					if more = s.Element(); !more {
						break
					}
					each(s, func(name string, s *wire.Scanner) bool {
						if name != "text" {
							return false
						}
						text, _ := s.String()
						f.reasoning = append(f.reasoning, text...)
						return true
					})
				}
			default:
				return false
			}
			chunks = d.tell(chunks, &f)
			return true
		})
	}
	return chunks
}

// tell appends a delta's texts, and empties f.
func (d *decoder) tell(chunks []model.Chunk, f *deltaFields) []model.Chunk {
	if len(f.reasoning) > 0 {
		if f.field != "" && (d.kind != model.ChunkReasoning || d.current == none) {
			d.thoughts = append(d.thoughts, thought{block: d.blocks, field: f.field})
		}
		chunks = d.run(chunks, model.ChunkReasoning, f.reasoning)
	}
	if len(f.content) > 0 {
		chunks = d.run(chunks, model.ChunkText, f.content)
	}
	if len(f.refusal) > 0 {
		d.refused = true
		chunks = d.run(chunks, model.ChunkRefusal, f.refusal)
	}
	*f = deltaFields{}
	return chunks
}

// run appends a fragment to the run of its kind, or begins one.
func (d *decoder) run(chunks []model.Chunk, kind model.ChunkKind, fragment []byte) []model.Chunk {
	if d.current == none || d.kind != kind {
		chunks = d.endRun(chunks)
		d.current, d.kind = d.blocks, kind
		d.blocks++
		if kind == model.ChunkText {
			d.texts = append(d.texts, said{block: d.current})
		}
	}
	if text := d.runes.Join(fragment); text != "" {
		d.count(text)
		chunks = append(chunks, model.Chunk{Kind: kind, Block: d.current, Text: text})
	}
	return chunks
}

func (d *decoder) endRun(chunks []model.Chunk) []model.Chunk {
	if text := d.runes.End(); text != "" {
		d.count(text)
		chunks = append(chunks, model.Chunk{Kind: d.kind, Block: d.current, Text: text})
	}
	d.current = none
	return chunks
}

// count adds to the characters of the current text.
func (d *decoder) count(text string) {
	if d.kind == model.ChunkText {
		d.texts[len(d.texts)-1].characters += utf8.RuneCountInString(text)
	}
}

// annotation reads the source of a piece of text. Its positions count the characters of the whole answer's text;
// without positions it applies to all of it.
func (d *decoder) annotation() {
	s := &d.scan
	var from wire.Cited
	start, end := 0, math.MaxInt32
	each(s, func(name string, s *wire.Scanner) bool {
		if name != "url_citation" {
			return false
		}
		each(s, func(name string, s *wire.Scanner) bool {
			switch name {
			case "url":
				from.URL, _ = s.String()
			case "title":
				from.Title, _ = s.String()
			case "content":
				from.Text, _ = s.String()
			case "start_index":
				start = position(s, start)
			case "end_index":
				end = position(s, end)
			default:
				return false
			}
			return true
		})
		return true
	})
	if cited, ok := from.Citation(start, max(start, end)); ok && len(d.cited) < parley.MaxCitations {
		d.cited = append(d.cited, cited)
	}
}

// position reads a position in a text; any other value is skipped.
func position(s *wire.Scanner, otherwise int) int {
	if n, ok := s.Int(); ok && n >= 0 && n <= math.MaxInt32 {
		return int(n)
	}
	return otherwise
}

// cite appends the citations of a complete answer, each to the block of text in which it begins. One that begins beyond
// the text applies to the whole last block: the source matters more than the position.
func (d *decoder) cite(chunks []model.Chunk) []model.Chunk {
	if len(d.texts) == 0 {
		return chunks
	}
	for i := range d.cited {
		c, of := &d.cited[i], d.texts[len(d.texts)-1]
		begins, found := 0, false
		for _, text := range d.texts {
			if c.Start < begins+text.characters {
				of, found = text, true
				break
			}
			begins += text.characters
		}
		if !found {
			begins, c.Start, c.End = 0, 0, of.characters
		}
		c.Start, c.End = c.Start-begins, min(c.End-begins, of.characters)
		chunks = append(chunks, model.Chunk{Kind: model.ChunkCitation, Block: of.block, Citation: c})
	}
	d.cited = nil
	return chunks
}

// toolCall reads one delta of one call.
func (d *decoder) toolCall(chunks []model.Chunk) []model.Chunk {
	s := &d.scan
	index := int64(none)
	var id, name, arguments, extra []byte
	for more := s.Object(); more; {
		var field []byte
		if field, more = s.Field(); !more {
			break
		}
		switch string(field) {
		case "index":
			if n, ok := s.Int(); ok {
				index = n
			}
		case "id":
			id, _ = s.String()
		case "function":
			for more := s.Object(); more; {
				var field []byte
				if field, more = s.Field(); !more {
					break
				}
				switch string(field) {
				case "name":
					name, _ = s.String()
				case "arguments":
					if s.IsObject() { // a few servers send an object
						arguments = s.Skip()
					} else {
						arguments, _ = s.String()
					}
				default:
					s.Skip()
				}
			}
		case "extra_content": // Gemini wants its signature back
			extra = s.Skip()
		default:
			s.Skip()
		}
	}
	c := d.callFor(index, id, name)
	if c.id == "" {
		c.id = valid(id)
	}
	if c.name == "" {
		c.name = valid(name)
	}
	if len(extra) > 0 && string(extra) != "null" {
		c.extra = bytes.Clone(extra)
	}
	c.arguments = append(c.arguments, arguments...)
	if c.name == "" {
		return chunks // a call begins once it has a name
	}
	return d.advance(chunks, c)
}

// callFor finds the call that a delta belongs to, or begins one: at a new index, at an index with a different id, and,
// from servers that send neither, at a name that follows complete arguments.
func (d *decoder) callFor(index int64, id, name []byte) *call {
	var last *call
	for i := len(d.calls) - 1; i >= 0 && last == nil; i-- {
		if index == none || d.calls[i].index == index {
			last = d.calls[i]
		}
	}
	switch {
	case last == nil:
	case len(id) > 0 && last.id != "" && string(id) != last.id:
	case len(id) == 0 && len(name) > 0 && last.name != "" && wire.IsObject(last.arguments):
	default:
		return last
	}
	c := &call{index: index, block: none}
	d.calls = append(d.calls, c)
	return c
}

// advance appends the new part of a call that has a name, or at the end.
func (d *decoder) advance(chunks []model.Chunk, c *call) []model.Chunk {
	if c.block == none {
		chunks = d.endRun(chunks)
		c.block = d.blocks
		d.blocks++
		chunks = append(chunks, model.Chunk{Kind: model.ChunkToolCall, Block: c.block, CallID: c.id, Name: c.name})
	}
	if c.sent < len(c.arguments) {
		if text := c.runes.Join(c.arguments[c.sent:]); text != "" {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkArguments, Block: c.block, Text: text})
		}
		c.sent = len(c.arguments)
	}
	return chunks
}

// flush appends what was held back.
func (d *decoder) flush(chunks []model.Chunk) []model.Chunk {
	chunks = d.endRun(chunks)
	for _, c := range d.calls {
		if len(c.arguments) == 0 && d.finish != parley.FinishLength && d.finish != "" {
			c.arguments = []byte("{}") // some servers send this for a tool without parameters
		}
		chunks = d.advance(chunks, c)
		if text := c.runes.End(); text != "" {
			chunks = append(chunks, model.Chunk{Kind: model.ChunkArguments, Block: c.block, Text: text})
		}
	}
	return chunks
}

// end appends the rest of a complete answer.
func (d *decoder) end(chunks []model.Chunk) []model.Chunk {
	if d.finish == "" {
		d.finish = parley.FinishStop // [DONE] without a reason
	}
	chunks = d.cite(d.flush(chunks))
	for _, t := range d.thoughts {
		data := append(parley.AppendJSONString([]byte(`{"field":`), t.field), '}')
		chunks = append(chunks, model.Chunk{Kind: model.ChunkProviderData, Block: t.block, Data: data})
	}
	for _, c := range d.calls {
		data := wire.CallData{ID: c.id, Arguments: valid(c.arguments), Extra: c.extra}
		chunks = append(chunks, model.Chunk{Kind: model.ChunkProviderData, Block: c.block, Data: data.Bytes()})
	}
	if !d.usage.IsZero() {
		chunks = append(chunks, model.Chunk{Kind: model.ChunkUsage, Usage: d.usage})
	}
	finish := d.finish
	switch {
	case d.refused && finish == parley.FinishStop:
		finish = parley.FinishRefusal
	case finish == parley.FinishStop && len(d.calls) > 0: // some servers call that a stop
		finish = parley.FinishToolCalls
	case finish == parley.FinishToolCalls && len(d.calls) == 0:
		finish = parley.FinishStop
	}
	return append(chunks, model.Chunk{Kind: model.ChunkFinish, Finish: finish})
}

func valid(text []byte) string {
	var runes wire.Runes
	return runes.Join(text) + runes.End()
}
