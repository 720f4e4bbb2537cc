package anthropic

import (
	"bytes"

	"example.org/parley"
	"example.org/parley/llm/wire"
)

// each walks the fields of an object; take reports whether it consumed the value.
func each(s *wire.Scanner, take func(name string, s *wire.Scanner) bool) {
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); more && !take(string(name), s) {
			s.Skip()
		}
	}
}

// read reads an event's fields, in any order.
func (d *decoder) read(e *event) {
	s := &d.scan
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "type":
			e.kind, _ = s.String()
		case "index":
			e.index, _ = s.Int()
		case "delta":
			d.readDelta(e)
		case "content_block":
			d.readBlock(&e.block)
		case "message":
			d.readMessage()
		case "usage":
			d.usage.read(s)
		default:
			s.Skip()
		}
	}
}

func (d *decoder) readDelta(e *event) {
	s := &d.scan
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "type":
			e.deltaKind, _ = s.String()
		case "text":
			e.text, _ = s.String()
		case "partial_json":
			e.partial, _ = s.String()
		case "thinking":
			e.thinking, _ = s.String()
		case "signature":
			e.signature, _ = s.String()
		case "stop_reason":
			e.stopReason, _ = s.String()
		case "citation":
			d.readCitation(&e.cited)
		default:
			s.Skip()
		}
	}
}

// readCitation takes a citation of any type in: of a page that was found, of a result of a
// search, or of a document.
func (d *decoder) readCitation(c *wire.Cited) {
	var source, document []byte
	each(&d.scan, func(name string, s *wire.Scanner) bool {
		switch name {
		case "cited_text":
			c.Text, _ = s.String()
		case "title":
			c.Title, _ = s.String()
		case "document_title":
			document, _ = s.String()
		case "url":
			c.URL, _ = s.String()
		case "source":
			source, _ = s.String()
		default:
			return false
		}
		return true
	})
	if len(c.Title) == 0 {
		c.Title = document
	}
	switch {
	case len(c.URL) > 0:
	case bytes.Contains(source, []byte("://")):
		c.URL = source
	case len(c.Title) == 0: // a source is an address, or any name
		c.Title = source
	}
}

func (d *decoder) readBlock(b *startedBlock) {
	each(&d.scan, func(name string, s *wire.Scanner) bool {
		switch name {
		case "type":
			b.kind, _ = s.String()
		case "id":
			b.id, _ = s.String()
		case "name":
			b.name, _ = s.String()
		case "text":
			b.text, _ = s.String()
		case "thinking":
			b.thinking, _ = s.String()
		case "signature":
			b.signature, _ = s.String()
		case "data":
			b.data, _ = s.String()
		case "input":
			b.input = s.Skip()
		default:
			return false
		}
		return true
	})
}

func (d *decoder) readMessage() {
	each(&d.scan, func(name string, s *wire.Scanner) bool {
		if name != "usage" {
			return false
		}
		d.usage.read(s)
		return true
	})
}

// UsageOf implements wire.Decoder.
func (d *decoder) UsageOf(document []byte) parley.Usage {
	d.scan.Reset(document)
	d.readMessage()
	return d.usage.total()
}

// counted is the usage as the wire reports it: input tokens exclude cached ones. Later counts replace earlier ones,
// field by field.
type counted struct {
	input, output, cached, written, thinking *int64
}

func (c *counted) read(s *wire.Scanner) {
	each(s, func(name string, s *wire.Scanner) bool {
		var field **int64
		switch name {
		case "input_tokens":
			field = &c.input
		case "output_tokens":
			field = &c.output
		case "cache_read_input_tokens":
			field = &c.cached
		case "cache_creation_input_tokens":
			field = &c.written
		case "output_tokens_details":
			each(s, func(name string, s *wire.Scanner) bool {
				if name != "thinking_tokens" {
					return false
				}
				set(&c.thinking, s)
				return true
			})
			return true
		default:
			return false
		}
		set(field, s)
		return true
	})
}

func set(field **int64, s *wire.Scanner) {
	if n, ok := s.Tokens(); ok {
		*field = &n
	}
}

// started returns the usage known when the answer begins: its output count is not.
func (c *counted) started() parley.Usage {
	u := c.total()
	u.OutputTokens, u.ReasoningTokens = nil, nil
	return u
}

// total adds the cached tokens to the input.
func (c *counted) total() parley.Usage {
	u := parley.Usage{
		OutputTokens:     c.output,
		CachedTokens:     c.cached,
		CacheWriteTokens: c.written,
		ReasoningTokens:  c.thinking,
	}
	if c.input != nil {
		sum := *c.input
		for _, part := range []*int64{c.cached, c.written} {
			if part != nil {
				sum += *part
			}
		}
		u.InputTokens = &sum
	}
	return u
}

// thinkingData returns a thinking block in the form in which the wire wants it back.
func thinkingData(thinking, signature string) []byte {
	b := parley.AppendJSONString([]byte(`{"type":"thinking","thinking":`), thinking)
	return append(parley.AppendJSONString(wire.AppendField(b, "signature"), signature), '}')
}

func redactedData(data string) []byte {
	return append(parley.AppendJSONString([]byte(`{"type":"redacted_thinking","data":`), data), '}')
}
