package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
)

// block is one piece of a result. Bytes that no text model reads are not
// repeated: what they are and how many is told in their place.
type block struct {
	Type        string `json:"type"` // text, image, audio, resource, resource_link
	Text        string `json:"text,omitempty"`
	URI         string `json:"uri,omitempty"`
	Name        string `json:"name,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Bytes       *int64 `json:"bytes,omitempty"`
	Omitted     bool   `json:"omitted,omitempty"` // of the bytes
}

// blocks is the form of a result that is more than one text.
type blocks struct {
	Content    []block `json:"content"`
	Structured any     `json:"structured,omitempty"` // JSON of the server's choosing
}

// content gives a result the form in which models read it: a text alone is a
// string; structured content that repeats its text is that JSON; anything else an
// object of content and structured. The error is what the tool itself reports.
func content(result *sdk.CallToolResult) (json.RawMessage, error) {
	if result.IsError {
		return nil, parley.Errorf(parley.CodeConflict, "%s", failureText(result))
	}
	list := describeBlocks(result.Content)
	text, alone := "", len(list) == 1 && list[0].Type == "text"
	if alone {
		text = list[0].Text
	}
	structured := withoutNULs(result.StructuredContent)
	switch {
	case structured == nil && len(list) == 0:
		return json.RawMessage("null"), nil
	case structured == nil && alone:
		return json.Marshal(text)
	case structured != nil && alone && repeats(text, structured):
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err == nil {
			return compact.Bytes(), nil // the server's own digits
		}
	case structured != nil && len(list) == 0:
		return json.Marshal(structured)
	}
	return json.Marshal(blocks{Content: list, Structured: structured})
}

// repeats reports whether a text is the JSON of a structured result.
func repeats(text string, structured any) bool {
	var said any
	return json.Unmarshal([]byte(text), &said) == nil && reflect.DeepEqual(said, structured)
}

// failureText is what a failed tool says.
func failureText(result *sdk.CallToolResult) string {
	var texts []string
	for _, b := range describeBlocks(result.Content) {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	if len(texts) == 0 && result.StructuredContent != nil {
		if raw, err := json.Marshal(withoutNULs(result.StructuredContent)); err == nil {
			return string(raw)
		}
	}
	if len(texts) == 0 {
		return "The tool reports an error without saying which."
	}
	return strings.Join(texts, "\n")
}

func describeBlocks(contents []sdk.Content) []block {
	list := make([]block, 0, len(contents))
	for _, c := range contents {
		switch c := c.(type) {
		case *sdk.TextContent:
			list = append(list, block{Type: "text", Text: withoutNUL(c.Text)})
		case *sdk.ImageContent:
			list = append(list, omitted(block{Type: "image", MIMEType: c.MIMEType}, c.Data))
		case *sdk.AudioContent:
			list = append(list, omitted(block{Type: "audio", MIMEType: c.MIMEType}, c.Data))
		case *sdk.ResourceLink:
			list = append(
				list,
				block{
					Type:        "resource_link",
					URI:         withoutNUL(c.URI),
					Name:        withoutNUL(c.Name),
					Title:       withoutNUL(c.Title),
					Description: withoutNUL(c.Description),
					MIMEType:    withoutNUL(c.MIMEType),
					Bytes:       c.Size,
				},
			)
		case *sdk.EmbeddedResource:
			list = append(list, describeResource(c.Resource))
		}
	}
	return list
}

func describeResource(r *sdk.ResourceContents) block {
	if r == nil {
		return block{Type: "resource"}
	}
	b := block{Type: "resource", URI: withoutNUL(r.URI), MIMEType: withoutNUL(r.MIMEType)}
	if r.Blob != nil {
		return omitted(b, r.Blob)
	}
	b.Text = withoutNUL(r.Text)
	return b
}

func omitted(b block, data []byte) block {
	b.MIMEType, b.Bytes, b.Omitted = withoutNUL(b.MIMEType), new(int64(len(data))), true
	return b
}

// withoutNUL replaces the one character that no database stores.
func withoutNUL(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// withoutNULs does it in all of a decoded JSON value.
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
