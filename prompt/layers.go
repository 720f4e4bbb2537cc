package prompt

import (
	"context"
	"encoding/json"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/model"
)

// The names of Parley's own middleware, with the version of their behaviour.
const (
	userContextName = "user_context@1"
	thinkTagsName   = "think_tags@1"
	redactName      = "redact@3"
	cuttingRedact   = "redact@2" // texts were cut within values
	olderRedactName = "redact@1" // it read no escapes either
)

// Layers are the middleware around a turn's calls, in the order in which requests pass them. The zero Layers are empty.
// They are immutable: one value serves many calls.
type Layers struct {
	names []string
	all   []model.Middleware
	text  []byte
	hash  parley.Hash
	hides *redactor // nil: nothing
}

// LayersInput holds the inputs of Layers.
type LayersInput struct {
	Settings  parley.MiddlewareSettings // in effect: the session's, else the agent's
	ThinkTags bool                      // the model is known to write <think>, whatever the settings say
	Redact    []parley.RedactPattern    // the server's, before those of the settings
	Own       []model.Middleware        // the program's
}

// recorded is what a call keeps of Layers besides their names.
type recorded struct {
	Redact []parley.RedactPattern `json:"redact"`
}

// NewLayers assembles middleware. It returns CodeInvalid for an invalid pattern.
func NewLayers(in LayersInput) (Layers, error) {
	var l Layers
	if fields := in.Settings.UserContext; fields != nil && len(*fields) > 0 {
		l.names = append(l.names, userContextName) // it acted when the message was posted
	}
	for _, own := range in.Own {
		l.add(own)
	}
	think := in.ThinkTags
	if in.Settings.ThinkTags != nil {
		think = *in.Settings.ThinkTags
	}
	if think {
		l.add(thinkTags{})
	}
	patterns := slices.Clone(in.Redact)
	if in.Settings.Redact != nil {
		patterns = append(patterns, *in.Settings.Redact...)
	}
	if len(patterns) == 0 {
		return l, nil
	}
	text, err := parley.EncodeJSON(recorded{Redact: patterns})
	if err != nil {
		return Layers{}, err
	}
	return l.redacting(redactName, patterns, text)
}

// RebuildLayers assembles the middleware of a recorded call: names come from its manifest, text from Layers.Text. It
// returns CodeNotFound for middleware that this program does not have.
func RebuildLayers(names []string, text []byte, own []model.Middleware) (Layers, error) {
	var l Layers
	for _, name := range names {
		switch name {
		case userContextName:
			l.names = append(l.names, name)
			continue
		case thinkTagsName:
			l.add(thinkTags{})
			continue
		case redactName, cuttingRedact, olderRedactName:
			var kept recorded
			if err := json.Unmarshal(text, &kept); err != nil {
				return Layers{}, parley.WrapError(
					parley.CodeInternal,
					err,
					"the recorded settings of middleware cannot be read",
				)
			}
			var err error
			if l, err = l.redacting(name, kept.Redact, text); err != nil {
				return Layers{}, err
			}
			continue
		}
		at := slices.IndexFunc(own, func(m model.Middleware) bool { return m.Name() == name })
		if at < 0 {
			return Layers{}, parley.Errorf(
				parley.CodeNotFound,
				"this call went through the middleware %q, which is not here",
				parley.Clip(name, parley.MaxMiddlewareName),
			)
		}
		l.add(own[at])
	}
	return l, nil
}

func (l *Layers) add(m model.Middleware) {
	l.names, l.all = append(l.names, m.Name()), append(l.all, m)
}

func (l Layers) redacting(name string, patterns []parley.RedactPattern, text []byte) (Layers, error) {
	r, err := newRedactor(patterns)
	if err != nil {
		return Layers{}, err
	}
	r.name, r.edges = name, name == redactName
	if name == olderRedactName {
		r.depth = 0
	}
	l.add(r)
	l.text, l.hash, l.hides = text, parley.HashOf(text), r
	return l, nil
}

// Hidden returns the places in a text of the record, in bytes, that providers see placeholders for. Whoever shows a
// part of the text must not cut them: nothing would hide a half.
func (l Layers) Hidden(ctx context.Context, text string) ([][2]int, error) {
	if l.hides == nil {
		return nil, nil
	}
	h := hiding{redactor: l.hides, reading: reading{ctx: ctx, each: int64(l.hides.size), left: 2 * maxRedactWork}}
	if int64(len(text))*h.each > maxRedactWork {
		return nil, tooMuchWork()
	}
	return h.places(text), h.err
}

// apart sorts places, and joins those that overlap.
func apart(places [][2]int) [][2]int {
	sort.Slice(places, func(i, j int) bool { return places[i][0] < places[j][0] })
	out := places[:0]
	for _, place := range places {
		if last := len(out) - 1; last >= 0 && place[0] < out[last][1] {
			out[last][1] = max(out[last][1], place[1])
			continue
		}
		out = append(out, place)
	}
	return out
}

// Names returns the names for a call's manifest.
func (l Layers) Names() []string { return l.names }

// Text returns what the record keeps, once per hash, to repeat a call; nil if the names are enough. It may hold
// secrets.
func (l Layers) Text() []byte { return l.text }

// Hash returns the hash of Text, the zero Hash for none.
func (l Layers) Hash() parley.Hash { return l.hash }

// Request passes a request through all layers and returns the filter for its answers; nil if there is none. It returns
// an error if ctx ends.
func (l Layers) Request(
	ctx context.Context,
	exchange model.Exchange,
	request *model.Request,
) (model.AnswerFilter, error) {
	var filters []model.AnswerFilter
	for _, m := range l.all {
		filter, err := m.Request(ctx, exchange, request)
		if err != nil {
			return nil, err
		}
		if filter != nil {
			filters = append(filters, filter)
		}
	}
	if len(filters) == 0 {
		return nil, nil
	}
	return func(chunks chunkStream) chunkStream {
		chunks = bounded(chunks)
		for _, filter := range slices.Backward(filters) { // the last to see the request is the first to see the answer
			chunks = filter(chunks)
		}
		return chunks
	}, nil
}

// bounded ends an answer longer than parley.MaxAnswerBytes, measured before filters: later readers do not see what
// filters remove.
func bounded(chunks chunkStream) chunkStream {
	return func(yield func(model.Chunk, error) bool) {
		size := 0
		for chunk, err := range chunks {
			if size += len(chunk.Text); size > parley.MaxAnswerBytes {
				yield(
					model.Chunk{},
					model.NewError(parley.ClassModel, false, "the answer is longer than this server accepts", nil),
				)
				return
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}
