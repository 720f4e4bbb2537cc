package prompt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"parley"
)

// Build makes the request of a step: the selection, and behind it the steers
// that the step delivers, with Sequence set to the places that they take. The
// manifest names both. tools are the definitions behind settings.Tools.
// CodeInvalid for tools whose parameters are not JSON.
func Build(settings Settings, selection Selection, steers []parley.Message, tools []parley.ToolDefinition) (parley.ModelRequest, parley.Manifest, error) {
	definitions, err := sortedTools(tools)
	if err != nil {
		return parley.ModelRequest{}, parley.Manifest{}, err
	}
	manifest := selection.Manifest
	messages := selection.Messages
	if len(steers) > 0 {
		if manifest, err = withSteers(manifest, steers); err != nil {
			return parley.ModelRequest{}, parley.Manifest{}, err
		}
		messages = append(slices.Clip(messages), steers...)
	}
	return parley.ModelRequest{
		Model:      settings.Model,
		System:     settings.System,
		Tools:      definitions,
		Messages:   regroup(messages, settings.Model),
		Parameters: settings.Parameters,
		Think:      settings.Think,
		Search:     settings.Search,
	}, manifest, nil
}

// Rebuild makes the request of a recorded call again: the same one that Build
// made. system and tools are the texts behind the call's hashes; messages are
// those of the session between the manifest's first and last sequence,
// ascending; others in the list are passed over. Marks do not matter any more:
// they may have changed since.
func Rebuild(call parley.Call, system string, tools []parley.ToolDefinition, messages []parley.Message) (parley.ModelRequest, error) {
	definitions, err := sortedTools(tools)
	if err != nil {
		return parley.ModelRequest{}, err
	}
	shown := make([]parley.Message, 0, len(messages))
	for i := range messages {
		if reasonOut(&messages[i]) == "" && Includes(call.Manifest, messages[i].Sequence) {
			shown = append(shown, messages[i])
		}
	}
	return parley.ModelRequest{
		Model:      call.Model,
		System:     system,
		Tools:      definitions,
		Messages:   regroup(shown, call.Model),
		Parameters: call.Parameters,
		Think:      call.Think,
		Search:     call.Search,
	}, nil
}

// EncodeTools is the canonical JSON of tool definitions, sorted by name: what
// Call.ToolsHash is the hash of. "[]" for none.
func EncodeTools(tools []parley.ToolDefinition) ([]byte, error) {
	definitions, err := sortedTools(tools)
	if err != nil {
		return nil, err
	}
	if len(definitions) == 0 {
		return []byte("[]"), nil
	}
	raw, err := json.Marshal(definitions)
	if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "the tool definitions have no JSON form")
	}
	return parley.CanonicalJSON(raw)
}

// DecodeTools reads what EncodeTools wrote.
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

// sortedTools gives the one form that definitions have in requests: by name,
// parameters canonical, nil when there are none.
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
			return nil, parley.InvalidField("tools", "the parameters of %q are not valid JSON", parley.Clip(out[i].Name, 64))
		}
		out[i].Parameters = canonical
	}
	slices.SortStableFunc(out, func(a, b parley.ToolDefinition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
