package parley

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The contents by role. Fields are in the alphabetical order of their JSON names, so that encoding them directly gives
// canonical JSON.

// UserContent is the content of a user message: Parts in order, and the same in the short form. Files are ids of
// uploads. To write a content, one of the two is enough; if there are Parts, the short form is ignored. When a content
// is read, both are filled in: Text joins its texts, Files and Links are its files and the addresses of its links.
type UserContent struct {
	Files  []string `json:"files,omitempty"`
	Links  []string `json:"links,omitempty"`
	Parts  []Part   `json:"parts,omitempty"`
	Search bool     `json:"search,omitempty"` // allow web search for this turn
	Text   string   `json:"text"`
	Think  bool     `json:"think,omitempty"` // ask for reasoning if the model supports it
}

// plainUser is UserContent without its methods.
type plainUser UserContent

// MarshalJSON writes the parts. Files in the short form stay in it: FillParts knows the files and makes their parts.
func (c UserContent) MarshalJSON() ([]byte, error) {
	if len(c.Parts) == 0 {
		if len(c.Files) > 0 {
			return EncodeJSON(plainUser(c))
		}
		c.Parts = c.inParts()
	}
	return EncodeJSON(struct {
		Parts  []Part `json:"parts"`
		Search bool   `json:"search,omitempty"`
		Think  bool   `json:"think,omitempty"`
	}{c.Parts, c.Search, c.Think})
}

// UnmarshalJSON reads both forms.
func (c *UserContent) UnmarshalJSON(raw []byte) error {
	*c = UserContent{}
	if text, plain := PlainText(raw); plain && text != "" {
		c.Text = text
		c.Parts = c.inParts()
		return nil
	}
	err := json.Unmarshal(raw, (*plainUser)(c))
	switch {
	case err != nil:
	case c.Parts == nil:
		c.Parts = c.inParts()
	default:
		c.readShort()
	}
	return err
}

// AssistantContent is a run of reasoning and the text after it: Parts in order, and the same in the short form, as in
// UserContent.
type AssistantContent struct {
	Object    json.RawMessage `json:"object,omitempty"` // what a text says as a structured answer; see Output
	Parts     []Part          `json:"parts,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Refusal   string          `json:"refusal,omitempty"`
	Text      string          `json:"text"`
}

// plainAssistant is AssistantContent without its methods.
type plainAssistant AssistantContent

// MarshalJSON writes the parts.
func (c AssistantContent) MarshalJSON() ([]byte, error) {
	if len(c.Parts) == 0 {
		c.Parts = c.inParts()
	}
	return EncodeJSON(struct {
		Parts []Part `json:"parts"`
	}{c.Parts})
}

// UnmarshalJSON reads both forms.
func (c *AssistantContent) UnmarshalJSON(raw []byte) error {
	*c = AssistantContent{}
	if text, plain := PlainText(raw); plain && text != "" {
		c.Text = text
		c.Parts = c.inParts()
		return nil
	}
	err := json.Unmarshal(raw, (*plainAssistant)(c))
	switch {
	case err != nil:
	case c.Parts == nil:
		c.Parts = c.inParts()
	default:
		c.readShort()
	}
	return err
}

// ToolCallContent asks for a tool. ID is Parley's own. Arguments is an object, or null beside ArgumentsText if the
// model's text was not a JSON object.
type ToolCallContent struct {
	Arguments     json.RawMessage `json:"arguments"`
	ArgumentsText string          `json:"arguments_text,omitempty"`
	ID            string          `json:"id"`
	Name          string          `json:"name"`
}

// ToolResultContent is a tool's answer (D6): Parts, and the same as Result, any JSON, if it is a single value. To write
// it, one of the two is enough; if there are Parts, Result is ignored.
type ToolResultContent struct {
	Error           *string         `json:"error"`
	ExecutionTimeMS *int64          `json:"execution_time_ms"`
	Parts           []Part          `json:"parts,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	Success         bool            `json:"success"`
}

// MaxExecutionMS is the longest time that a tool may report, in milliseconds: a year.
const MaxExecutionMS = 365 * 24 * 60 * 60 * 1000

// plainResult is ToolResultContent without its methods.
type plainResult ToolResultContent

// MarshalJSON writes the parts.
func (c ToolResultContent) MarshalJSON() ([]byte, error) {
	if len(c.Parts) == 0 {
		c.Parts = c.inParts()
	}
	return EncodeJSON(struct {
		Error           *string `json:"error"`
		ExecutionTimeMS *int64  `json:"execution_time_ms"`
		Parts           []Part  `json:"parts"`
		Success         bool    `json:"success"`
	}{c.Error, c.ExecutionTimeMS, c.Parts, c.Success})
}

// UnmarshalJSON reads both forms.
func (c *ToolResultContent) UnmarshalJSON(raw []byte) error {
	*c = ToolResultContent{}
	err := json.Unmarshal(raw, (*plainResult)(c))
	switch {
	case err != nil:
	case c.Parts == nil:
		c.Parts = c.inParts()
	default:
		c.readShort()
	}
	return err
}

// Plain returns the answer as text: a string unchanged, other JSON as written, parts one per line, a file by its name.
// "" for null.
func (c *ToolResultContent) Plain() string {
	if len(c.Parts) > 0 && c.Result == nil {
		texts := make([]string, len(c.Parts))
		for i := range c.Parts {
			texts[i] = c.Parts[i].Plain()
		}
		return strings.Join(texts, "\n")
	}
	var text string
	switch {
	case len(c.Result) == 0 || string(c.Result) == "null":
		return ""
	case c.Result[0] == '"' && json.Unmarshal(c.Result, &text) == nil:
		return text
	}
	return string(c.Result)
}

// EffectUnknown is the error recorded as the result of a tool call whose tool may or may not have run: in the record
// after a crash or cancel, and in requests for a call without a result.
const EffectUnknown = "No result: this tool call was interrupted, and whether it took effect is unknown."

// NotDecided is the error recorded as the result of a call that never ran because its turn ended before anybody decided
// about it.
const NotDecided = "Not run: the turn ended before anybody approved this call."

// TextContent is the content of summaries and imported system messages.
type TextContent struct {
	Text string `json:"text"`
}

// EncodeContent returns the canonical JSON of one of the content structs as it is stored: in parts, except for a user's
// Files, whose parts FillParts makes.
func EncodeContent[C UserContent | AssistantContent | ToolCallContent | ToolResultContent | TextContent](
	content C,
) (json.RawMessage, error) {
	switch c := any(content).(type) { // hot paths by hand: no raw members, fields in order
	case UserContent:
		if len(c.Parts)+len(c.Files)+len(c.Links) > 0 {
			break
		}
		out := append(make([]byte, 0, len(c.Text)+80), `{"parts":[`...)
		out = append(appendTextPart(out, PartText, c.Text), ']')
		if c.Search {
			out = append(out, `,"search":true`...)
		}
		if c.Think {
			out = append(out, `,"think":true`...)
		}
		return append(out, '}'), nil
	case AssistantContent:
		if len(c.Parts)+len(c.Object) > 0 {
			break
		}
		out := make([]byte, 0, len(c.Reasoning)+len(c.Refusal)+len(c.Text)+128)
		out = appendTextPart(append(out, `{"parts":[`...), PartReasoning, c.Reasoning)
		out = appendTextPart(appendTextPart(out, PartText, c.Text), PartRefusal, c.Refusal)
		return append(out, `]}`...), nil
	case ToolResultContent:
		if len(c.Parts) == 0 {
			return c.encodeShort()
		}
	case TextContent:
		return append(AppendJSONString(append(make([]byte, 0, len(c.Text)+16), `{"text":`...), c.Text), '}'), nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, WrapError(CodeInvalid, err, "the content is not valid JSON")
	}
	// Raw members may be in any order, and encoding/json escapes U+2028: one pass fixes both.
	return CanonicalJSON(out.Bytes())
}

// encodeShort is EncodeContent for a result that is one JSON value.
func (c *ToolResultContent) encodeShort() (json.RawMessage, error) {
	result := json.RawMessage("null")
	if len(c.Result) > 0 {
		var err error
		if result, err = CanonicalJSON(c.Result); err != nil {
			return nil, err
		}
	}
	out := append(make([]byte, 0, len(result)+128), `{"error":`...)
	if c.Error == nil {
		out = append(out, "null"...)
	} else {
		out = AppendJSONString(out, *c.Error)
	}
	out = append(out, `,"execution_time_ms":`...)
	if c.ExecutionTimeMS == nil {
		out = append(out, "null"...)
	} else {
		out = strconv.AppendInt(out, *c.ExecutionTimeMS, 10)
	}
	out = append(out, `,"parts":[`...)
	switch {
	case string(result) == "null":
	case isString(result) && len(result) > len(`""`): // a part of type text is not empty
		out = append(append(append(out, `{"text":`...), result...), `,"type":"text"}`...)
	default:
		out = append(append(append(out, `{"object":`...), result...), `,"type":"object"}`...)
	}
	return append(strconv.AppendBool(append(out, `],"success":`...), c.Success), '}'), nil
}

// ValidateContent checks content from outside against its role's shape and returns it as EncodeContent does. Parts and
// the short form may be given together, as in answers, if they agree. Its error is CodeInvalid and names the field.
func ValidateContent(role Role, raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil, InvalidField(
			"content",
			"is missing; a %s message needs an object such as %s",
			role,
			contentExample(role),
		)
	}
	switch role {
	case RoleUser:
		var given plainUser
		if err := strictObject(role, raw, &given); err != nil {
			return nil, err
		}
		content := UserContent(given)
		if err := checkFileIDs(content.Files); err != nil {
			return nil, err
		}
		if content.Parts != nil {
			if len(content.Parts) == 0 {
				return nil, InvalidField("content.parts", "is empty; say something")
			}
			if err := checkParts(role, content.Parts); err != nil {
				return nil, err
			}
			if content.differs() {
				return nil, besideParts("text, files and links")
			}
			return EncodeContent(content)
		}
		if len(content.Links) > MaxLinks {
			return nil, InvalidField("content.links", "at most %d links", MaxLinks)
		}
		content.Links = slices.DeleteFunc(content.Links, func(link string) bool { return link == "" })
		if strings.TrimSpace(content.Text) == "" && len(content.Links) == 0 && len(content.Files) == 0 {
			return nil, InvalidField("content.text", "is empty; say something")
		}
		if slices.ContainsFunc(content.Links, func(link string) bool { return len(link) > MaxLinkBytes }) {
			return nil, InvalidField("content.links", "a link has at most %d bytes", MaxLinkBytes)
		}
		return EncodeContent(content)
	case RoleAssistant:
		var given plainAssistant
		if err := strictObject(role, raw, &given); err != nil {
			return nil, err
		}
		content := AssistantContent(given)
		if len(content.Parts) > 0 {
			if err := checkParts(role, content.Parts); err != nil {
				return nil, err
			}
			if content.differs() {
				return nil, besideParts("text, object, reasoning and refusal")
			}
		}
		return EncodeContent(content)
	case RoleToolCall:
		var content ToolCallContent
		if err := strictObject(role, raw, &content); err != nil {
			return nil, err
		}
		if content.ID == "" || len(content.ID) > MaxNameBytes {
			return nil, InvalidField("content.id", "a tool_call needs an id of 1 to %d bytes", MaxNameBytes)
		}
		if content.Name == "" || len(content.Name) > MaxNameBytes {
			return nil, InvalidField(
				"content.name",
				"a tool_call needs the tool's name, at most %d bytes",
				MaxNameBytes,
			)
		}
		if arguments := bytes.TrimSpace(content.Arguments); len(arguments) == 0 || arguments[0] != '{' {
			return nil, InvalidField("content.arguments", "must be a JSON object")
		}
		return EncodeContent(content)
	case RoleToolResult:
		var given plainResult
		if err := strictObject(role, raw, &given); err != nil {
			return nil, err
		}
		content := ToolResultContent(given)
		if ms := content.ExecutionTimeMS; ms != nil && (*ms < 0 || *ms > MaxExecutionMS) {
			return nil, InvalidField("content.execution_time_ms", "must lie between 0 and %d", MaxExecutionMS)
		}
		var said struct{ Success *bool }
		if json.Unmarshal(raw, &said) == nil && said.Success == nil {
			content.Success = content.Error == nil
		}
		if len(content.Parts) > 0 {
			if err := checkParts(role, content.Parts); err != nil {
				return nil, err
			}
			if content.differs() {
				return nil, besideParts("result")
			}
		}
		stored, err := EncodeContent(content)
		if err == nil && CheckJSON(stored) != nil { // it nests deeper than the short form
			return nil, InvalidField("content.result", "nests deeper than %d levels", MaxJSONDepth-partLevels)
		}
		return stored, err
	case RoleSummary, RoleSystem:
		var content TextContent
		if err := strictObject(role, raw, &content); err != nil {
			return nil, err
		}
		return EncodeContent(content)
	}
	return nil, InvalidField(
		"role",
		"%q is not one of user, assistant, tool_call, tool_result, summary, system",
		Clip(string(role), 32),
	)
}

// besideParts refuses a short form that differs from the parts beside it.
func besideParts(short string) error {
	return InvalidField("content.parts", "%s differ from the parts beside them; leave them out", short)
}

// checkFileIDs requires ids of different files, and normalises them.
func checkFileIDs(files []string) error {
	if len(files) > MaxMessageFiles {
		return InvalidField("content.files", "at most %d files", MaxMessageFiles)
	}
	for i, text := range files {
		id, err := ParseID(text)
		if err != nil {
			return InvalidField(
				"content.files",
				"%q is not the id of a file; upload it first (POST /v1/files)",
				Clip(text, 64),
			)
		}
		if files[i] = id.String(); slices.Contains(files[:i], files[i]) {
			return InvalidField("content.files", "the file %s is listed twice", files[i])
		}
	}
	return nil
}

func contentExample(role Role) string {
	switch role {
	case RoleToolCall:
		return `{"id":"call_1","name":"search","arguments":{}}`
	case RoleToolResult:
		return `{"result":{"answer":42}}`
	default:
		return `{"text":"Hello"}`
	}
}

// strictObject decodes the content of a role from one JSON object, refusing unknown fields by name.
func strictObject(role Role, raw []byte, into any) error {
	if err := CheckJSON(raw); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			field := "content"
			if wrong.Field != "" {
				field += "." + wrong.Field
			}
			kind := jsonKind(wrong.Type.Kind().String())
			if kind != "array" && isList(into, wrong.Field) {
				return InvalidField(field, "each item must be a JSON %s", kind)
			}
			if wrong.Field == "" {
				return InvalidField(field, "must be a JSON %s, such as %s", kind, contentExample(role))
			}
			return InvalidField(field, "must be a JSON %s", kind)
		case strings.HasPrefix(err.Error(), "json: unknown field "):
			name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
			return InvalidField("content."+Clip(name, 64), "is not a field of this role's content")
		case ErrorCode(err) == CodeInvalid: // an id, or a hash
			return InvalidField("content", "holds an invalid id or hash")
		default:
			return InvalidField("content", "is not valid JSON")
		}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return InvalidField("content", "holds more than one JSON value")
	}
	if FoldsNames(raw) {
		return exactNames(raw, into)
	}
	return nil
}

// exactNames refuses members of an object that match a field of the struct only when case is ignored.
func exactNames(raw []byte, of any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return InvalidField("content", "is not valid JSON")
	}
	if name := unknownName(members, reflect.TypeOf(of).Elem()); name != "" {
		return InvalidField("content."+Clip(name, 64), "is not a field of this role's content")
	}
	return exactParts(raw)
}

// exactParts is exactNames for the contents of parts.
func exactParts(raw []byte) error {
	var in struct {
		Parts []map[string]json.RawMessage `json:"parts"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return InvalidField("content.parts", "is not a list of objects")
	}
	for _, part := range in.Parts {
		var citations []map[string]json.RawMessage
		if named := part["citations"]; named != nil && json.Unmarshal(named, &citations) != nil {
			return InvalidField("content.parts", "citations is not a list of objects")
		}
		if name := unknownName(part, reflect.TypeFor[Part]()); name != "" {
			return InvalidField("content.parts", "there is no field %q in a part", Clip(name, 64))
		}
		for _, citation := range citations {
			if name := unknownName(citation, reflect.TypeFor[Citation]()); name != "" {
				return InvalidField("content.parts", "there is no field %q in a citation", Clip(name, 64))
			}
		}
	}
	return nil
}

// unknownName returns a member that is not exactly a field of the struct; "" for none.
func unknownName(members map[string]json.RawMessage, of reflect.Type) string {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		delete(members, name)
	}
	for name := range members {
		return name
	}
	return ""
}

// isList reports whether a field of a struct, by its JSON name, is a list.
func isList(of any, name string) bool {
	for field := range reflect.TypeOf(of).Elem().Fields() {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			return field.Type.Kind() == reflect.Slice
		}
	}
	return false
}

func jsonKind(goKind string) string {
	switch goKind {
	case "struct", "map":
		return "object"
	case "slice", "array":
		return "array"
	case "bool":
		return "boolean"
	case "string":
		return "string"
	default:
		return "number"
	}
}

// CheckText refuses what neither database stores: NUL and invalid UTF-8.
func CheckText(field, text string, maxBytes int) error {
	switch {
	case len(text) > maxBytes:
		return InvalidField(field, "is longer than %d bytes", maxBytes)
	case strings.IndexByte(text, 0) >= 0:
		return InvalidField(field, `holds a NUL character (\u0000), which cannot be stored; remove it`)
	case !utf8.ValidString(text):
		return InvalidField(field, "is not valid UTF-8")
	}
	return nil
}

// UnreadableContent replaces stored JSON that can no longer be read (A15): it has the role's shape, and shows the raw
// text as an error.
func UnreadableContent(role Role, stored []byte) (json.RawMessage, *Failure) {
	text := strings.ToValidUTF8(string(stored), "\uFFFD")
	failure := &Failure{
		Class:    ClassInternal,
		Sentence: "This message's stored content could not be read; its raw text is shown.",
	}
	var content json.RawMessage
	var err error
	switch role {
	case RoleToolCall:
		content, err = EncodeContent(ToolCallContent{Arguments: json.RawMessage("null"), ArgumentsText: text})
	case RoleToolResult:
		content, err = EncodeContent(ToolResultContent{Error: &text, Result: json.RawMessage("null")})
	default:
		content, err = EncodeContent(TextContent{Text: text})
	}
	if err != nil {
		content = json.RawMessage(`{"text":""}`)
	}
	return content, failure
}
