package prompt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/model"
)

// Build makes the request of a step: the selection, followed by the steers that the step delivers, with Sequence set to
// their future sequences. The manifest names both. tools are those of settings.Tools, files what Attach made of the
// messages and steers.
func Build(
	settings Settings,
	selection Selection,
	steers []parley.Message,
	tools Tools,
	files Attachments,
) (model.Request, parley.Manifest, error) {
	manifest := selection.Manifest
	messages := selection.Messages
	if len(steers) > 0 {
		var err error
		if manifest, err = withSteers(manifest, steers); err != nil {
			return model.Request{}, parley.Manifest{}, err
		}
		messages = append(slices.Clip(messages), steers...)
	}
	if selection.Shortened {
		manifest.Bounds = &selection.Bounds
	}
	if !selection.Cut.IsZero() {
		manifest.Turn = &selection.Cut
	}
	texts := excerptingOf(manifest, messages, tools.definitions)
	texts.known, texts.edges = selection.Known, selection.Edges
	request := model.Request{
		Model:  settings.Model,
		System: settings.System,
		Tools:  tools.definitions,
		Messages: regroup(
			messages,
			settings.Model,
			files,
			texts,
			noticesOf(manifest),
		),
		Parameters: settings.Parameters,
		Think:      settings.Think,
		Search:     settings.Search,
	}
	return request, manifest, selection.Edges.Err()
}

// Rebuild makes the request of a recorded call again: the same one that Build made. system and tools are the texts with
// the call's hashes; messages are those of the session within the manifest's Spans, ascending; others in the list are
// skipped. Marks no longer matter: they may have changed since. edges are those of the call's layers. files Attaches
// the files that were shown.
func Rebuild(
	call parley.Call,
	edges *Edges,
	system string,
	tools []parley.ToolDefinition,
	messages []parley.Message,
	files func([]parley.Message) (Attachments, error),
) (model.Request, error) {
	definitions, err := sortedTools(tools)
	if err != nil {
		return model.Request{}, err
	}
	shown := Shown(call.Manifest, messages)
	if _, _, ok := sumsUp(call.Manifest); ok { // a replay of such a call too
		return compactionRequest(call.Model, system, call.Parameters, call.Manifest, shown, edges)
	}
	attached, err := files(shown)
	if err != nil {
		return model.Request{}, err
	}
	texts := excerptingOf(call.Manifest, shown, definitions)
	texts.edges = edges
	request := model.Request{
		Model:  call.Model,
		System: system,
		Tools:  definitions,
		Messages: regroup(
			shown,
			call.Model,
			attached,
			texts,
			noticesOf(call.Manifest),
		),
		Parameters: call.Parameters,
		Think:      call.Think,
		Search:     call.Search,
	}
	if call.Purpose == parley.PurposeKnowledge {
		request.Purpose = call.Purpose
	}
	return request, edges.Err()
}

// Shown returns the messages of a session, ascending, that a manifest names, in the order of its ranges.
func Shown(manifest parley.Manifest, messages []parley.Message) []parley.Message {
	shown := make([]parley.Message, 0, len(messages))
	for _, r := range manifest.Ranges {
		at, _ := slices.BinarySearchFunc(
			messages,
			r.From,
			func(m parley.Message, sequence int64) int { return cmp.Compare(m.Sequence, sequence) },
		)
		for ; at < len(messages) && messages[at].Sequence <= r.To; at++ {
			m := &messages[at]
			if _, left := slices.BinarySearch(
				r.Except,
				m.Sequence,
			); left || reasonOut(m) != "" ||
				standsFor(m) && r.From != r.To {
				continue
			}
			shown = append(shown, *m)
		}
	}
	return shown
}

// Tools are tool definitions in the form that requests and the record use: sorted by name, with canonical parameters.
// The zero Tools are empty. They are immutable: one set serves many requests.
type Tools struct {
	definitions []parley.ToolDefinition
	text        []byte
	hash        parley.Hash
}

// NewTools converts definitions to that form. It reads every schema, which takes longer than the rest of a request, so
// cache its result. It returns CodeInvalid for parameters that are not JSON.
func NewTools(definitions []parley.ToolDefinition) (Tools, error) {
	sorted, err := sortedTools(definitions)
	if err != nil || len(sorted) == 0 {
		return Tools{}, err
	}
	raw, err := json.Marshal(sorted)
	if err != nil {
		return Tools{}, parley.WrapError(parley.CodeInvalid, err, "the tool definitions have no JSON form")
	}
	text, err := parley.CanonicalJSON(raw)
	if err != nil {
		return Tools{}, err
	}
	return Tools{definitions: sorted, text: text, hash: parley.HashOf(text)}, nil
}

// Text returns their canonical JSON, which the record keeps once per hash; nil for none.
func (t Tools) Text() []byte { return t.text }

// Hash returns the hash of Text, the zero Hash for none.
func (t Tools) Hash() parley.Hash { return t.hash }

// DecodeTools reads definitions from a Tools' Text.
func DecodeTools(text []byte) ([]parley.ToolDefinition, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var tools []parley.ToolDefinition
	if err := json.Unmarshal(text, &tools); err != nil {
		return nil, parley.WrapError(parley.CodeInternal, err, "the stored tool definitions cannot be read")
	}
	return tools, nil
}

// sortedTools returns definitions as requests use them: sorted by name, with canonical parameters, nil if there are
// none.
func sortedTools(tools []parley.ToolDefinition) ([]parley.ToolDefinition, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	out := slices.Clone(tools)
	for i := range out {
		if len(bytes.TrimSpace(out[i].Parameters)) == 0 || string(out[i].Parameters) == "null" {
			out[i].Parameters = json.RawMessage(`{"properties":{},"type":"object"}`)
			continue
		}
		canonical, err := parley.CanonicalJSON(out[i].Parameters)
		if err != nil {
			return nil, parley.InvalidField(
				"tools",
				"the parameters of %q are not valid JSON",
				parley.Clip(out[i].Name, 64),
			)
		}
		out[i].Parameters = canonical
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}
