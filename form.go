package parley

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// The content of a user, assistant or tool_result message is stored in parts (ADR 0055), and returned with its short
// form beside the parts. This file converts between the two forms: Go values, and canonical JSON, of which lists pass
// on thousands.

// inParts returns the content's short form as parts, in the order in which a model reads them. The part of a file says
// only that it is a file.
func (c *UserContent) inParts() []Part {
	parts := make([]Part, 0, len(c.Files)+1+len(c.Links))
	for _, text := range c.Files {
		if id, err := ParseID(text); err == nil {
			parts = append(parts, Part{Type: PartFile, FileID: id})
		}
	}
	parts = appendPart(parts, PartText, c.Text)
	for _, link := range c.Links {
		if link != "" {
			parts = append(parts, Part{Type: PartLink, URL: link})
		}
	}
	return parts
}

// readShort fills in the short form from the parts.
func (c *UserContent) readShort() {
	c.Text, c.Files, c.Links = textsOf(c.Parts, PartText), nil, nil
	for _, id := range filesIn(c.Parts) {
		c.Files = append(c.Files, id.String())
	}
	for i := range c.Parts {
		if c.Parts[i].Type == PartLink {
			c.Links = append(c.Links, c.Parts[i].URL)
		}
	}
}

// differs reports whether a short form says something else than the parts beside it.
func (c *UserContent) differs() bool {
	said := UserContent{Parts: c.Parts}
	said.readShort()
	return c.Text != "" && c.Text != said.Text || len(c.Files) > 0 && !slices.Equal(c.Files, said.Files) ||
		len(c.Links) > 0 && !slices.Equal(c.Links, said.Links)
}

// inParts is the content's short form as parts.
func (c *AssistantContent) inParts() []Part {
	parts := appendPart(make([]Part, 0, 1), PartReasoning, c.Reasoning)
	parts = appendPart(appendPart(parts, PartText, c.Text), PartRefusal, c.Refusal)
	if len(c.Object) > 0 {
		parts = append(parts, Part{Type: PartObject, Object: c.Object})
	}
	return parts
}

func (c *AssistantContent) readShort() {
	c.Text, c.Reasoning = textsOf(c.Parts, PartText), textsOf(c.Parts, PartReasoning)
	c.Refusal, c.Object = textsOf(c.Parts, PartRefusal), nil
	objects := 0
	for i := range c.Parts {
		if c.Parts[i].Type == PartObject {
			c.Object = c.Parts[i].Object
			objects++
		}
	}
	if objects > 1 {
		c.Object = nil
	}
}

// Cite adds citations to the content's text. Their Start and End count characters; one that reaches beyond the text
// ends with it. There are at most MaxCitations.
func (c *AssistantContent) Cite(citations []Citation) {
	if len(citations) == 0 || c.Text == "" {
		return
	}
	citations = slices.Clone(citations[:min(len(citations), MaxCitations)])
	places := make([]*int, 0, 2*len(citations))
	for i := range citations {
		citations[i].End = max(citations[i].Start, citations[i].End)
		places = append(places, &citations[i].Start, &citations[i].End)
	}
	slices.SortStableFunc(places, func(a, b *int) int { return cmp.Compare(*a, *b) })
	characters := 0
	for at := range c.Text {
		for len(places) > 0 && *places[0] <= characters {
			*places[0], places = at, places[1:]
		}
		characters++
	}
	for _, place := range places {
		*place = len(c.Text)
	}
	c.Parts = c.inParts()
	for i := range c.Parts {
		if c.Parts[i].Type == PartText {
			c.Parts[i].Citations = citations
		}
	}
}

func (c *AssistantContent) differs() bool {
	said := AssistantContent{Parts: c.Parts}
	said.readShort()
	return c.Text != "" && c.Text != said.Text || c.Reasoning != "" && c.Reasoning != said.Reasoning ||
		c.Refusal != "" && c.Refusal != said.Refusal || len(c.Object) > 0 && !sameJSON(c.Object, said.Object)
}

// ResultParts returns the JSON value of a tool's answer as parts: a string becomes a text, null nothing, other JSON an
// object.
func ResultParts(result json.RawMessage) []Part {
	var text string
	switch {
	case len(result) == 0 || string(result) == "null":
		return []Part{}
	case result[0] == '"' && json.Unmarshal(result, &text) == nil && text != "":
		return []Part{{Type: PartText, Text: text}}
	}
	return []Part{{Type: PartObject, Object: result}}
}

func (c *ToolResultContent) inParts() []Part { return ResultParts(c.Result) }

// readShort fills in the result if the parts are at most one JSON value.
func (c *ToolResultContent) readShort() {
	c.Result = nil
	switch {
	case len(c.Parts) == 0:
		c.Result = json.RawMessage("null")
	case len(c.Parts) > 1:
	case c.Parts[0].Type == PartText && len(c.Parts[0].Citations) == 0:
		c.Result = AppendJSONString(nil, c.Parts[0].Text)
	case c.Parts[0].Type == PartObject:
		c.Result = c.Parts[0].Object
	}
}

func (c *ToolResultContent) differs() bool {
	if len(c.Result) == 0 || string(c.Result) == "null" {
		return false
	}
	said := ToolResultContent{Parts: c.Parts}
	said.readShort()
	return !sameJSON(c.Result, said.Result)
}

// sameJSON reports whether two JSON values are equal; false if one is absent.
func sameJSON(a, b json.RawMessage) bool {
	one, err := CanonicalJSON(a)
	if err != nil || b == nil {
		return false
	}
	other, err := CanonicalJSON(b)
	return err == nil && bytes.Equal(one, other)
}

func appendPart(parts []Part, of PartType, text string) []Part {
	if text == "" {
		return parts
	}
	return append(parts, Part{Type: of, Text: text})
}

// appendTextPart appends the canonical JSON of a text part, after another part or at the beginning of the list.
func appendTextPart(to []byte, of PartType, text string) []byte {
	if text == "" {
		return to
	}
	if to[len(to)-1] != '[' {
		to = append(to, ',')
	}
	to = append(AppendJSONString(append(to, `{"text":`...), text), `,"type":"`...)
	return append(append(to, of...), `"}`...)
}

// FillParts returns a canonical content with the descriptions of its files filled in. A content that names files in the
// short form is converted to parts, whose types depend on the files. Others stay as they are.
func FillParts(content json.RawMessage, files []File) (json.RawMessage, error) {
	if bytes.HasPrefix(content, []byte(`{"files":[`)) {
		return partsOfFiles(content, files)
	}
	parts := PartsOf(content)
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.HoldsFile() }) {
		return content, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		return nil, WrapError(CodeInternal, err, "a message's content cannot be read")
	}
	for i := range parts {
		if !parts[i].HoldsFile() {
			continue
		}
		file, err := fileIn(files, parts[i].FileID)
		if err == nil {
			err = parts[i].Fill(file, "content.parts")
		}
		if err != nil {
			return nil, err
		}
	}
	raw, err := EncodeJSON(parts)
	if err != nil {
		return nil, WrapError(CodeInternal, err, "the parts of a message cannot be written")
	}
	members["parts"] = raw
	if raw, err = EncodeJSON(members); err != nil {
		return nil, WrapError(CodeInternal, err, "a message's content cannot be written")
	}
	return CanonicalJSON(raw)
}

// partsOfFiles converts the short form of a user's content with files to parts.
func partsOfFiles(content json.RawMessage, files []File) (json.RawMessage, error) {
	var user UserContent
	if err := json.Unmarshal(content, &user); err != nil {
		return nil, WrapError(CodeInternal, err, "a message's content cannot be read")
	}
	for i := range user.Parts {
		if part := &user.Parts[i]; part.HoldsFile() {
			file, err := fileIn(files, part.FileID)
			if err != nil {
				return nil, err
			}
			*part = FilePart(file)
		}
	}
	return EncodeContent(user)
}

func fileIn(files []File, id ID) (File, error) {
	at := slices.IndexFunc(files, func(f File) bool { return f.ID == id })
	if at < 0 {
		return File{}, InvalidField("content.parts", "there is no file %s", id)
	}
	return files[at], nil
}

// EmptyContent returns the content of an assistant's message without any text. The caller must not change it.
func EmptyContent() json.RawMessage { return emptyContent }

var emptyContent = json.RawMessage(`{"parts":[]}`) //nolint:gochecknoglobals // never written

// PlainText returns the text of a content that consists of one text, as it is stored in either form, or as clients get
// it. It returns false for any other content, which must be decoded.
func PlainText(content []byte) (string, bool) {
	if string(content) == `{"parts":[]}` {
		return "", true
	}
	literal, found := bytes.CutPrefix(content, []byte(`{"parts":[{"text":`))
	if found {
		end := valueEnd(literal)
		rest, text := bytes.CutPrefix(literal[end:], []byte(`,"type":"text"}]`))
		literal = literal[:end]
		if again, both := bytes.CutPrefix(rest, []byte(`,"text":`)); both { // as clients get it
			rest, text = bytes.CutPrefix(again, literal)
		}
		found = text && string(rest) == "}"
	} else if literal, found = bytes.CutPrefix(content, []byte(`{"text":`)); found {
		literal, found = bytes.CutSuffix(literal, []byte(`}`))
	}
	if !found || len(literal) < 2 || literal[0] != '"' || valueEnd(literal) != len(literal) {
		return "", false
	}
	if inner := literal[1 : len(literal)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), utf8.Valid(inner) && !slices.ContainsFunc(inner, func(c byte) bool { return c < ' ' })
	}
	var text string
	err := json.Unmarshal(literal, &text)
	return text, err == nil
}

// Wishes returns what a user's content asks for besides an answer: reasoning, and a web search. An unreadable content
// asks for neither.
func Wishes(content []byte) (think, search bool) {
	var asked struct{ Think, Search bool }
	if _, plain := PlainText(content); plain || json.Unmarshal(content, &asked) != nil {
		return false, false
	}
	return asked.Think, asked.Search
}

// AppendContent appends a message's content as clients get it: for users, assistants and tool results the parts and the
// short form, whichever of the two is stored. It omits result if the parts are more than one JSON value. Contents of
// other roles, and anything that does not look like a content, are appended as they are.
func AppendContent(to []byte, role Role, content json.RawMessage) []byte {
	if !role.hasParts() {
		return append(to, content...)
	}
	if out, ok := appendBoth(to, role, content); ok {
		return out
	}
	if canonical, err := CanonicalJSON(content); err == nil {
		if out, ok := appendBoth(to, role, canonical); ok {
			return out
		}
	}
	return append(to, content...)
}

// hasParts reports whether a role's contents have parts.
func (r Role) hasParts() bool { return r == RoleUser || r == RoleAssistant || r == RoleToolResult }

// rawContent holds the members of a content as JSON, and the short form of its parts.
type rawContent struct {
	parts, search, think, text, reasoning, refusal []byte
	object                                         []byte
	failure, time, success, result                 []byte
	files, links                                   []byte
	more                                           bool // the parts say more than the short form
}

// ShortContent returns a canonical content in the short form, if that says as much as the parts, apart from citations;
// other contents stay as they are.
func ShortContent(role Role, content json.RawMessage) json.RawMessage {
	c, ok := readContent(role, content)
	if !ok || c.more {
		return content
	}
	c.parts = nil
	return c.append(make([]byte, 0, len(content)), role)
}

// appendBoth is AppendContent for canonical JSON; false for anything else.
func appendBoth(to []byte, role Role, content []byte) ([]byte, bool) {
	c, ok := readContent(role, content)
	if !ok {
		return to, false
	}
	// About twice what is stored, with the names of what is added.
	return c.append(slices.Grow(to, 2*len(content)+64), role), true
}

// readContent reads a canonical content of a role that has parts, and derives the form that is missing.
func readContent(role Role, content []byte) (c rawContent, ok bool) {
	if !role.hasParts() {
		return c, false
	}
	known := true
	whole := EachMember(content, func(name, value []byte) {
		field := c.member(role, string(name))
		if field == nil {
			known = false
			return
		}
		*field = value
	})
	switch {
	case !whole || !known:
		return c, false
	case c.parts != nil:
		return c, c.readParts(role)
	}
	return c, c.makeParts(role)
}

// member returns the field for a member of a role's content; nil if there is none.
func (c *rawContent) member(role Role, name string) *[]byte {
	switch role {
	case RoleUser:
		switch name {
		case "files":
			return &c.files
		case "links":
			return &c.links
		case "search":
			return &c.search
		case "think":
			return &c.think
		}
	case RoleAssistant:
		switch name {
		case "object":
			return &c.object
		case "reasoning":
			return &c.reasoning
		case "refusal":
			return &c.refusal
		}
	case RoleToolResult:
		switch name {
		case "error":
			return &c.failure
		case "execution_time_ms":
			return &c.time
		case "result":
			return &c.result
		case "parts":
			return &c.parts
		case "success":
			return &c.success
		}
		return nil
	}
	switch name {
	case "parts":
		return &c.parts
	case "text":
		return &c.text
	}
	return nil
}

// append appends the members in the order of their names.
func (c *rawContent) append(to []byte, role Role) []byte {
	start := len(to)
	member := func(name string, value []byte) {
		if value == nil {
			return
		}
		if len(to) > start {
			to = append(to, ',')
		} else {
			to = append(to, '{')
		}
		to = append(append(append(append(to, '"'), name...), `":`...), value...)
	}
	if role == RoleToolResult {
		member("error", c.failure)
		member("execution_time_ms", c.time)
		member("parts", c.parts)
		member("result", c.result)
		member("success", c.success)
		return append(to, '}')
	}
	member("files", c.files)
	member("links", c.links)
	member("object", c.object)
	member("parts", c.parts)
	member("reasoning", c.reasoning)
	member("refusal", c.refusal)
	member("search", c.search)
	member("text", c.text)
	member("think", c.think)
	return append(to, '}')
}

// rawPart is a part as JSON; kind is without its quotes.
type rawPart struct {
	kind, text, file, url, object, citations []byte
}

// readParts sets the short form to what the parts say.
func (c *rawContent) readParts(role Role) bool {
	c.files, c.links, c.result, c.object = nil, nil, nil, nil
	objects := 0
	var text, reasoning, refusal joining
	n, first, readable := 0, rawPart{}, true
	whole := EachElement(c.parts, func(raw []byte) {
		p, ok := readPart(raw)
		if readable = readable && ok; !readable {
			return
		}
		if n++; n == 1 {
			first = p
		}
		switch PartType(p.kind) {
		case PartText:
			text.add(p.text, len(c.parts))
		case PartReasoning:
			reasoning.add(p.text, len(c.parts))
		case PartRefusal:
			refusal.add(p.text, len(c.parts))
		case PartImage, PartFile, PartAudio:
			if !bytes.Contains(c.files, p.file) { // ids have one length
				c.files = listed(c.files, p.file)
			}
		case PartLink:
			c.links = listed(c.links, p.url)
		case PartObject:
			c.more, c.object = true, p.object
			objects++
		}
	})
	c.text, c.reasoning, c.refusal = text.text, reasoning.text, refusal.text
	if c.text == nil {
		c.text = []byte(`""`)
	}
	switch role {
	case RoleUser:
		c.reasoning, c.refusal, c.object = nil, nil, nil
		return whole && readable
	case RoleAssistant:
		if objects > 1 {
			c.object = nil
		}
		c.more = c.more || c.files != nil || c.links != nil
		c.files, c.links = nil, nil
		return whole && readable
	}
	switch {
	case n == 0:
		c.result = []byte("null")
	case n > 1:
	case string(first.kind) == string(PartText) && first.citations == nil:
		c.result = first.text
	case string(first.kind) == string(PartObject):
		c.result = first.object
	}
	c.more = c.result == nil
	return whole && readable
}

func readPart(raw []byte) (p rawPart, ok bool) {
	ok = EachMember(raw, func(name, value []byte) {
		switch string(name) {
		case "type":
			p.kind = bytes.Trim(value, `"`)
		case "text":
			p.text = value
		case "file_id":
			p.file = value
		case "url":
			p.url = value
		case "object":
			p.object = value
		case "citations":
			p.citations = value
		}
	})
	switch PartType(p.kind) {
	case PartText, PartReasoning, PartRefusal:
		if p.text == nil {
			p.text = []byte(`""`)
		}
		return p, ok && isString(p.text)
	case PartImage, PartFile, PartAudio:
		return p, ok && isString(p.file)
	case PartLink:
		return p, ok && isString(p.url)
	case PartObject:
		return p, ok && p.object != nil
	}
	return p, false
}

func isString(value []byte) bool { return len(value) > 1 && value[0] == '"' }

// joining joins JSON strings as textsOf joins texts, copying each only once.
type joining struct {
	text []byte
	own  bool // text is no piece of the content
}

// add adds a string; room is large enough for all of them.
func (j *joining) add(value []byte, room int) {
	if len(j.text) <= len(`""`) {
		j.text = value
		return
	}
	if !j.own {
		j.text, j.own = append(make([]byte, 0, room), j.text...), true
	}
	j.text = append(append(j.text[:len(j.text)-1], `\n\n`...), value[1:]...)
}

// listed appends a value to a list of JSON; there may be none yet.
func listed(list, value []byte) []byte {
	if list == nil {
		list = []byte("[]")
	}
	list = list[:len(list)-1]
	if len(list) > 1 {
		list = append(list, ',')
	}
	return append(append(list, value...), ']')
}

// makeParts derives the parts from the short form, as the methods inParts do, and fills in what the short form left
// out.
func (c *rawContent) makeParts(role Role) bool {
	parts := make([]byte, 0, len(c.text)+len(c.reasoning)+len(c.refusal)+len(c.object)+len(c.result)+128)
	parts = append(parts, '[')
	part := func(before string, value []byte, after PartType) {
		if len(parts) > 1 {
			parts = append(parts, ',')
		}
		parts = append(append(append(parts, before...), value...), after...)
	}
	text := func(value []byte, of PartType) bool {
		if value != nil && !isString(value) {
			return false
		}
		if len(value) > len(`""`) {
			part(`{"text":`, value, `,"type":"`+of+`"}`)
		}
		return true
	}
	readable := true
	switch role {
	case RoleUser:
		readable = c.files == nil || EachElement(c.files, func(id []byte) {
			part(`{"file_id":`, id, `,"type":"file"}`)
		})
		readable = text(c.text, PartText) && readable
		readable = (c.links == nil || EachElement(c.links, func(url []byte) {
			if len(url) > len(`""`) {
				part(`{"type":"link","url":`, url, `}`)
			}
		})) && readable
	case RoleAssistant:
		readable = text(c.reasoning, PartReasoning) && text(c.text, PartText) && text(c.refusal, PartRefusal)
		if c.object != nil {
			part(`{"object":`, c.object, `,"type":"object"}`)
		}
	default:
		switch {
		case c.result == nil:
			c.result = []byte("null")
		case string(c.result) == "null":
		case isString(c.result) && len(c.result) > len(`""`):
			readable = text(c.result, PartText)
		default:
			part(`{"object":`, c.result, `,"type":"object"}`)
		}
	}
	if role != RoleToolResult && c.text == nil {
		c.text = []byte(`""`)
	}
	c.parts = append(parts, ']')
	return readable
}
