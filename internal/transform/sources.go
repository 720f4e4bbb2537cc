package transform

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
)

// cited is a citation as the model writes it.
type cited struct {
	Output   string `json:"output"`
	Target   string `json:"target"`
	Input    int    `json:"input"` // from 1
	Pointer  string `json:"pointer"`
	FromLine int    `json:"from_line"`
	ToLine   int    `json:"to_line"`
}

// citations checks what a model cites. One that leads nowhere is dropped: then the whole inputs count as the source.
type citations struct {
	ctx    context.Context
	from   artifact.Reader
	places *artifact.Places
	scope  store.Scope
	t      *parley.Transform
	read   map[int]*part // by the number of the input; nil values are gone
}

// part is the part of an input that the model was shown.
type part struct {
	value any // of JSON
	lines int // of a text
}

// of returns the citations for an output.
func (c *citations) of(
	out *parley.TransformOutput,
	content []byte,
	all []cited,
) ([]parley.TransformSource, error) {
	sources := []parley.TransformSource{}
	var written any
	for i := range all {
		one := &all[i]
		if one.Output != out.Name || one.Input < 1 || one.Input > len(c.t.Inputs) {
			continue
		}
		if len(sources) == parley.MaxTransformSources {
			break
		}
		shown, err := c.part(one.Input)
		if err != nil {
			return nil, err
		}
		if written == nil && out.Kind == parley.ArtifactJSON {
			if err := json.Unmarshal(content, &written); err != nil {
				return sources, nil //nolint:nilerr // it was checked before
			}
		}
		if source, ok := c.source(one, shown, out.Kind, written); ok {
			sources = append(sources, source)
		}
	}
	return sources, nil
}

// source returns a citation as it is stored; false if it leads nowhere.
func (c *citations) source(
	one *cited,
	shown *part,
	kind parley.ArtifactKind,
	written any,
) (source parley.TransformSource, ok bool) {
	in := &c.t.Inputs[one.Input-1]
	source = parley.TransformSource{
		Target: one.Target, ArtifactID: in.ArtifactID, Version: in.Version, Pointer: in.Pointer,
		FromLine: one.FromLine, ToLine: one.ToLine,
	}
	switch {
	case shown == nil, one.Target != "" && (kind != parley.ArtifactJSON || !leads(written, one.Target)):
		return source, false
	case shown.value != nil:
		source.Pointer += one.Pointer
		return source, one.FromLine == 0 && one.ToLine == 0 && leads(shown.value, one.Pointer) &&
			len(source.Pointer) <= parley.MaxTransformPointer
	case one.FromLine == 0 && one.ToLine == 0:
		return source, one.Pointer == ""
	}
	return source, one.Pointer == "" && one.FromLine >= 1 && one.FromLine <= one.ToLine && one.ToLine <= shown.lines
}

// part reads an input once; nil if it is gone.
func (c *citations) part(n int) (*part, error) {
	if shown, known := c.read[n]; known {
		return shown, nil
	}
	if c.read == nil {
		c.read = map[int]*part{}
	}
	in := c.t.Inputs[n-1] // its own copy: reading completes it
	content, kind, err := input(c.ctx, c.from, c.places, c.scope, &in)
	if code := parley.ErrorCode(err); code == parley.CodeNotFound || code == parley.CodeInvalid {
		c.read[n] = nil
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	shown := &part{lines: bytes.Count(bytes.TrimSuffix(content, []byte("\n")), []byte("\n")) + 1}
	if kind == parley.ArtifactJSON {
		if err := json.Unmarshal(content, &shown.value); err != nil {
			shown = nil
		}
	}
	c.read[n] = shown
	return shown, nil
}

// leads reports whether a JSON Pointer leads to a value.
func leads(value any, pointer string) bool {
	if pointer == "" {
		return true
	}
	if pointer[0] != '/' || len(pointer) > parley.MaxTransformPointer {
		return false
	}
	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch at := value.(type) {
		case map[string]any:
			next, found := at[step]
			if !found {
				return false
			}
			value = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at) || strconv.Itoa(n) != step {
				return false
			}
			value = at[n]
		default:
			return false
		}
	}
	return true
}
