package wire

import (
	"maps"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// AppendStrings appends a list of texts.
func AppendStrings(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = parley.AppendJSONString(b, text)
	}
	return append(b, ']')
}

// AppendPairs appends an object of texts, by key.
func AppendPairs(b []byte, pairs map[string]string) []byte {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(pairs)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = parley.AppendJSONString(append(parley.AppendJSONString(b, key), ':'), pairs[key])
	}
	return append(b, '}')
}

// ToolChoice returns what a request says about its tools: a choice that the wire has a term for, or
// parley.ToolChoiceRequired and the one tool to call. "" says nothing: without tools there is nothing to choose. It
// returns CodeInvalid for a forced call of a missing tool.
func ToolChoice(request model.Request) (choice, tool string, err error) {
	if request.Parameters.ToolChoice == nil {
		return "", "", nil
	}
	choice = *request.Parameters.ToolChoice
	switch choice {
	case parley.ToolChoiceAuto, parley.ToolChoiceNone:
		if len(request.Tools) == 0 {
			choice = ""
		}
		return choice, "", nil
	case parley.ToolChoiceRequired:
		if len(request.Tools) == 0 {
			return "", "", parley.InvalidField("tool_choice", "asks for a tool, and there is none")
		}
		return choice, "", nil
	}
	if !slices.ContainsFunc(request.Tools, func(t parley.ToolDefinition) bool { return t.Name == choice }) {
		return "", "", parley.InvalidField("tool_choice", "there is no tool %q", parley.Clip(choice, 64))
	}
	return parley.ToolChoiceRequired, choice, nil
}

// Parallel returns what a request says about several calls in one answer; nil without tools.
func Parallel(request model.Request) *bool {
	if len(request.Tools) == 0 {
		return nil
	}
	return request.Parameters.ParallelToolCalls
}

// FormatName returns the name of a response format's schema, which providers require.
func FormatName(format parley.ResponseFormat) string {
	if name := strings.TrimSpace(format.Name); name != "" {
		return name
	}
	return "answer"
}

// AppendFormatSchema appends the schema of a response format.
func AppendFormatSchema(b []byte, format parley.ResponseFormat) ([]byte, error) {
	b, ok := AppendObject(b, parley.ValueOf(format.Schema))
	if !ok {
		return nil, parley.InvalidField("response_format", "its schema is not a JSON object")
	}
	return b, nil
}
