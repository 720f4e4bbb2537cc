package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/tool"
)

// content converts a result to the form of the record: a single text becomes a string; structured content, alone or
// beside a text that only repeats it, becomes that JSON; anything else becomes pieces in the server's order, followed
// by structured content that adds to them. The error is the one reported by the tool.
func content(result *sdk.CallToolResult) (tool.Result, error) {
	if result.IsError {
		return tool.Result{}, parley.Errorf(parley.CodeConflict, "%s", failureText(result))
	}
	pieces := piecesOf(result.Content)
	structured := withoutNULs(result.StructuredContent)
	if structured != nil {
		texts := textsIn(pieces)
		switch {
		case len(texts) == 1 && len(pieces) == 1 && repeats(texts[0], structured):
			var compact bytes.Buffer
			if err := json.Compact(&compact, []byte(texts[0])); err == nil {
				return tool.Result{JSON: compact.Bytes()}, nil // with the server's own notation of numbers
			}
		case wraps(structured, texts):
			structured = nil
		case spelledOut(structured, texts):
			pieces = slices.DeleteFunc(pieces, func(p tool.Piece) bool { return p.Type == parley.PartText })
		}
	}
	if structured != nil {
		raw, err := json.Marshal(structured)
		if err != nil || len(pieces) == 0 {
			return tool.Result{JSON: raw}, err
		}
		pieces = append(pieces, tool.Piece{Part: parley.Part{Type: parley.PartObject, Object: raw}})
	}
	switch {
	case len(pieces) == 0:
		return tool.Result{JSON: json.RawMessage("null")}, nil
	case len(pieces) == 1 && pieces[0].Type == parley.PartText:
		raw, err := json.Marshal(pieces[0].Text)
		return tool.Result{JSON: raw}, err
	}
	return tool.Result{Pieces: pieces}, nil
}

func textsIn(pieces []tool.Piece) (texts []string) {
	for i := range pieces {
		if pieces[i].Type == parley.PartText {
			texts = append(texts, pieces[i].Text)
		}
	}
	return texts
}

// repeats reports whether a text is the JSON of a structured result.
func repeats(text string, structured any) bool {
	var said any
	return json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, plain(structured))
}

// plain returns JSON from the SDK in the types of encoding/json.
func plain(structured any) any {
	raw, err := json.Marshal(structured)
	if err != nil {
		return structured
	}
	var read any
	if json.Unmarshal(raw, &read) != nil {
		return structured
	}
	return read
}

// only returns the value of an object's only member: servers wrap values that are not objects.
func only(structured any) (any, bool) {
	object, ok := plain(structured).(map[string]any)
	if !ok || len(object) != 1 {
		return nil, false
	}
	for _, value := range object {
		return value, true
	}
	return nil, false
}

// wraps reports whether a structured result only wraps texts: one, or a list of them.
func wraps(structured any, texts []string) bool {
	value, ok := only(structured)
	if !ok || len(texts) == 0 {
		return false
	}
	if list, ok := value.([]any); ok && len(list) == len(texts) {
		elements := make(map[string]bool, len(list)) // a server may list very many
		for _, element := range list {
			if text, is := element.(string); is {
				elements[text] = true
			}
		}
		return !slices.ContainsFunc(texts, func(text string) bool { return !elements[text] })
	}
	return len(texts) == 1 && value == any(texts[0])
}

// spelledOut reports whether texts are the JSON of a structured result: of all of it, of the value that it wraps, or of
// each item of a wrapped list.
func spelledOut(structured any, texts []string) bool {
	value, wrapped := only(structured)
	if len(texts) == 1 && (repeats(texts[0], structured) || wrapped && repeats(texts[0], value)) {
		return true
	}
	list, ok := value.([]any)
	if !ok {
		list, ok = plain(structured).([]any)
	}
	if !ok || len(list) == 0 || len(list) != len(texts) {
		return false
	}
	for i, text := range texts {
		if !repeats(text, list[i]) && list[i] != any(text) {
			return false
		}
	}
	return true
}

// failureText returns the text of a failed tool.
func failureText(result *sdk.CallToolResult) string {
	if texts := textsIn(piecesOf(result.Content)); len(texts) > 0 {
		return strings.Join(texts, "\n")
	}
	if result.StructuredContent != nil {
		if raw, err := json.Marshal(withoutNULs(result.StructuredContent)); err == nil {
			return string(raw)
		}
	}
	return "The tool reports an error without saying which."
}

func piecesOf(contents []sdk.Content) []tool.Piece {
	pieces := make([]tool.Piece, 0, len(contents))
	text := func(text string) {
		if text = withoutNUL(text); text != "" {
			pieces = append(pieces, tool.Piece{Part: parley.Part{Type: parley.PartText, Text: text}})
		}
	}
	bytes := func(name string, data []byte) {
		if len(data) > 0 {
			pieces = append(pieces, tool.Piece{Part: parley.Part{Type: parley.PartFile, Name: name}, Data: data})
		}
	}
	link := func(uri, title string) {
		if len(uri) > parley.MaxLinkBytes {
			text(title + " " + uri)
			return
		}
		if uri = withoutNUL(uri); uri != "" {
			part := parley.Part{Type: parley.PartLink, URL: uri, Title: parley.Clip(withoutNUL(title), titleBytes)}
			pieces = append(pieces, tool.Piece{Part: part})
		}
	}
	for _, c := range contents {
		switch c := c.(type) {
		case *sdk.TextContent:
			text(c.Text)
		case *sdk.ImageContent:
			bytes("", c.Data)
		case *sdk.AudioContent:
			bytes("", c.Data)
		case *sdk.ResourceLink:
			title := cmp.Or(c.Title, c.Name)
			if c.Description != "" {
				title = strings.TrimSpace(title + " (" + c.Description + ")")
			}
			link(c.URI, title)
		case *sdk.EmbeddedResource:
			if c.Resource == nil {
				continue
			}
			if c.Resource.Blob != nil {
				bytes(path.Base(withoutNUL(c.Resource.URI)), c.Resource.Blob)
				continue
			}
			link(c.Resource.URI, "")
			text(c.Resource.Text)
		}
	}
	return pieces
}

// titleBytes leaves room for the mark of a cut.
const titleBytes = parley.MaxTitleBytes - len("…")

// withoutNUL replaces the one character that neither database stores.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// withoutNULs does so in a whole decoded JSON value.
func withoutNULs(value any) any {
	switch v := value.(type) {
	case string:
		return withoutNUL(v)
	case []any:
		for i := range v {
			v[i] = withoutNULs(v[i])
		}
	case map[string]any:
		for key, inner := range v {
			if clean := withoutNUL(key); clean != key {
				delete(v, key)
				key = clean
			}
			v[key] = withoutNULs(inner)
		}
	}
	return value
}
