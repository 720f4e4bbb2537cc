package prompt

import (
	"math"
	"slices"
	"sort"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// restoring is the filter that replaces placeholders by their values, wherever chunks cut them in two. In arguments,
// which are JSON, values are escaped.
func restoring(values map[string]string) model.AnswerFilter {
	placeholders := make([]string, 0, len(values))
	for placeholder := range values {
		placeholders = append(placeholders, placeholder)
	}
	slices.Sort(placeholders)
	longest := 0
	for _, placeholder := range placeholders {
		longest = max(longest, len(placeholder))
	}
	return func(chunks chunkStream) chunkStream {
		return func(yield func(model.Chunk, error) bool) {
			r := restorer{
				placeholders: placeholders,
				longest:      longest,
				values:       values,
				held:         map[heldText]string{},
				moved:        map[int]bool{},
				yield:        yield,
			}
			for chunk, err := range chunks {
				if err != nil {
					if r.flush(func(heldText) bool { return true }) {
						yield(chunk, err)
					}
					return
				}
				if !r.take(chunk) {
					return
				}
			}
			r.flush(func(heldText) bool { return true })
		}
	}
}

// heldText names a text whose end may be the beginning of a placeholder.
type heldText struct {
	block int
	kind  model.ChunkKind
}

// restorer reads one answer. Its methods return false once nobody listens any more.
type restorer struct {
	placeholders []string // sorted
	longest      int      // the longest of them, in bytes
	values       map[string]string
	held         map[heldText]string
	moved        map[int]bool // blocks of text into which values were filled
	yield        func(model.Chunk, error) bool
}

func (r *restorer) take(chunk model.Chunk) bool {
	switch chunk.Kind {
	case model.ChunkText, model.ChunkReasoning, model.ChunkRefusal, model.ChunkArguments:
	case model.ChunkProviderData: // signed by the provider, so it stays unchanged
		return r.flush(func(h heldText) bool { return h.block == chunk.Block }) && r.yield(chunk, nil)
	case model.ChunkCitation:
		return r.yield(r.cited(chunk), nil)
	case model.ChunkUsage, model.ChunkFinish:
		return r.flush(func(heldText) bool { return true }) && r.yield(chunk, nil)
	default:
		return r.yield(chunk, nil)
	}
	// A text ends when another begins; the arguments of calls may interleave.
	if len(r.held) > 0 &&
		!r.flush(func(h heldText) bool { return h.block != chunk.Block && h.kind != model.ChunkArguments }) {
		return false
	}
	key := heldText{chunk.Block, chunk.Kind}
	text := chunk.Text
	if held, ok := r.held[key]; ok {
		text = held + text
		delete(r.held, key)
	}
	restored, rest := r.restore(text, chunk.Kind == model.ChunkArguments)
	if rest != "" {
		r.held[key] = rest
	}
	if chunk.Text != "" && restored == "" {
		return true
	}
	if restored+rest != text && chunk.Kind == model.ChunkText {
		r.moved[chunk.Block] = true
	}
	chunk.Text = restored
	return r.yield(chunk, nil)
}

// cited fills values into a citation. If its text has been changed, it applies to the whole text, since its position is
// unknown then.
func (r *restorer) cited(chunk model.Chunk) model.Chunk {
	cited := *chunk.Citation
	for _, text := range []*string{&cited.Text, &cited.Title} {
		restored, rest := r.restore(*text, false)
		*text = restored + rest
	}
	if r.moved[chunk.Block] {
		cited.Start, cited.End = 0, math.MaxInt32
	}
	chunk.Citation = &cited
	return chunk
}

// restore fills in values; rest is an end that may be the beginning of a placeholder.
func (r *restorer) restore(text string, escaped bool) (restored, rest string) {
	at := strings.IndexByte(text, '[')
	if at < 0 {
		return text, ""
	}
	var out strings.Builder
	for at >= 0 {
		out.WriteString(text[:at])
		text = text[at:]
		end := strings.IndexByte(text[:min(r.longest, len(text))], ']') + 1
		if end == 0 && len(text) < r.longest && r.begins(text) {
			return out.String(), text
		}
		value, found := r.values[text[:end]]
		switch {
		case found && escaped:
			quoted := parley.AppendJSONString(nil, value)
			out.Write(quoted[1 : len(quoted)-1])
		case found:
			out.WriteString(value)
		default:
			end = 1
			out.WriteByte('[')
		}
		text = text[end:]
		at = strings.IndexByte(text, '[')
	}
	out.WriteString(text)
	return out.String(), ""
}

// begins reports whether some placeholder begins with a text.
func (r *restorer) begins(text string) bool {
	at, _ := slices.BinarySearch(r.placeholders, text)
	return at < len(r.placeholders) && strings.HasPrefix(r.placeholders[at], text)
}

// flush yields held texts unchanged.
func (r *restorer) flush(which func(heldText) bool) bool {
	if len(r.held) == 0 {
		return true
	}
	var keys []heldText
	for key := range r.held {
		if which(key) {
			keys = append(keys, key)
		}
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i].block < keys[j].block })
	for _, key := range keys {
		text := r.held[key]
		delete(r.held, key)
		if !r.yield(model.Chunk{Kind: key.kind, Block: key.block, Text: text}, nil) {
			return false
		}
	}
	return true
}
