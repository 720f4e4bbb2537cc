package prompt

import (
	"context"
	"iter"
	"strings"

	"example.org/parley/model"
)

// chunkStream is an answer under way.
type chunkStream = iter.Seq2[model.Chunk, error]

// The tags between which some models write their reasoning.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkTags turns an answer's text between <think> and </think> into reasoning: blocks of its own, so that the offsets
// of text and of reasoning each start at 0. White space next to the tags is dropped. After a tag that is never closed
// everything is reasoning.
type thinkTags struct{}

func (thinkTags) Name() string { return thinkTagsName }

// Request changes nothing: reasoning is sent back only in its provider's form, and these providers accept none.
func (thinkTags) Request(context.Context, model.Exchange, *model.Request) (model.AnswerFilter, error) {
	return func(chunks chunkStream) chunkStream {
		return func(yield func(model.Chunk, error) bool) {
			t := tagReader{renumbered: map[int]int{}, yield: yield}
			for chunk, err := range chunks {
				if err != nil {
					if t.end() {
						yield(chunk, err)
					}
					return
				}
				if !t.take(chunk) {
					return
				}
			}
			t.end()
		}
	}, nil
}

// tagReader splits the text blocks of one answer. Its methods return false once nobody listens any more.
type tagReader struct {
	yield      func(model.Chunk, error) bool
	next       int         // number of the next block to yield
	renumbered map[int]int // new numbers of blocks that are not split

	open     bool            // a text block is being read
	in       int             // its number
	kind     model.ChunkKind // kind of what it last yielded; 0: nothing
	out      int             // number of the block for that
	thinking bool
	tagged   bool            // only white space since the last tag
	blank    strings.Builder // white space that may precede a tag
	begun    string          // after it, a possible beginning of a tag
}

// maxBlank bounds the white space held back for a tag, in bytes: more is text.
const maxBlank = 4 << 10

func (t *tagReader) take(chunk model.Chunk) bool {
	if chunk.Kind == model.ChunkText {
		if t.open && chunk.Block != t.in && !t.end() {
			return false
		}
		t.open, t.in = true, chunk.Block
		return t.read(chunk.Text)
	}
	switch chunk.Kind {
	case model.ChunkUsage, model.ChunkFinish:
		return t.end() && t.yield(chunk, nil)
	}
	if t.open && chunk.Kind == model.ChunkProviderData && chunk.Block == t.in {
		if t.kind == 0 { // nothing of the block was shown yet
			t.show(model.ChunkText)
		}
		chunk.Block = t.out
		return t.yield(chunk, nil)
	}
	out, known := t.renumbered[chunk.Block]
	if !known {
		if !t.end() { // another block begins
			return false
		}
		out = t.next
		t.renumbered[chunk.Block] = out
		t.next++
	}
	chunk.Block = out
	return t.yield(chunk, nil)
}

// read yields as much of a text as can be classified.
func (t *tagReader) read(text string) bool {
	rest := t.begun + text
	t.begun = ""
	for rest != "" {
		tag := thinkOpen
		if t.thinking {
			tag = thinkClose
		}
		before, after, found := strings.Cut(rest, tag)
		if !found {
			sure := len(rest) - partial(rest, tag)
			t.begun = rest[sure:]
			return t.pass(rest[:sure])
		}
		if !t.pass(before) {
			return false
		}
		t.blank.Reset()
		t.thinking, t.tagged = !t.thinking, true
		rest = after
	}
	return true
}

// pass yields a text without tags, except for the white space at its end.
func (t *tagReader) pass(text string) bool {
	sure := len(strings.TrimRight(text, white))
	if sure > 0 && !t.say(t.waited()+text[:sure]) {
		return false
	}
	if t.blank.WriteString(text[sure:]); t.tagged {
		t.blank.Reset() // it is next to the last tag
	}
	return t.blank.Len() <= maxBlank || t.say(t.waited())
}

// waited returns and clears the white space held back.
func (t *tagReader) waited() string {
	blank := t.blank.String()
	t.blank.Reset()
	return blank
}

const white = " \t\r\n"

// partial returns the length of the longest end of a text that begins a tag.
func partial(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// say yields text of the current kind; directly after a tag without its leading white space.
func (t *tagReader) say(text string) bool {
	if t.tagged {
		text = strings.TrimLeft(text, white)
	}
	if text == "" {
		return true
	}
	t.tagged = false
	kind := model.ChunkText
	if t.thinking {
		kind = model.ChunkReasoning
	}
	t.show(kind)
	return t.yield(model.Chunk{Kind: kind, Block: t.out, Text: text}, nil)
}

// show starts a new block if the following text is of another kind.
func (t *tagReader) show(kind model.ChunkKind) {
	if t.kind != kind {
		t.kind, t.out = kind, t.next
		t.next++
	}
}

// end yields what was held back of the open block, and closes it.
func (t *tagReader) end() bool {
	if !t.open {
		return true
	}
	held := t.waited() + t.begun
	if t.thinking {
		held = strings.TrimRight(held, white)
	}
	t.begun = ""
	ok := t.say(held)
	t.open, t.kind, t.thinking, t.tagged = false, 0, false, false
	return ok
}
