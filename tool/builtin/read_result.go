package builtin

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	maxKeptBytes    = 32 << 20 // of a file that read_result reads
	maxWantedBytes  = 256      // of a text to find
	mostFound       = 12       // places in one answer
	foundContext    = 160      // bytes shown before and after each
	unitLines       = "lines"
	unitCharacters  = "characters"
	readResultShape = `{"additionalProperties":false,"properties":{` +
		`"file":{"description":"The name of a file of the message, to read its text instead.","type":"string"},` +
		`"from":{"description":"The first line or character, from 1 on. Default 1.","minimum":1,"type":"integer"},` +
		`"id":{"description":"The number of the message that holds the text.","minimum":1,"type":"integer"},` +
		`"search":{"description":"A text to find; capital letters make no difference. The places where it stands ` +
		`are listed instead of the text.","type":"string"},` +
		`"to":{"description":"The last line or character. Default: as much as one answer holds.","minimum":1,` +
		`"type":"integer"},` +
		`"unit":{"description":"What from and to count. Default lines.","enum":["lines","characters"],` +
		`"type":"string"}},"required":["id"],"type":"object"}`
)

// readResult reads a long text of the record: the result of a tool, or what somebody posted.
type readResult struct {
	fixed
	record ownRecord
}

func newReadResult(record ownRecord) tool.Tool {
	return readResult{
		fixed{
			parley.ToolDefinition{
				Name: parley.ReadResultTool,
				Description: "Reads a tool's result, or another text of this conversation, that was shown only in " +
					"part: by lines or characters, or the places where a text stands in it.",
				Parameters: json.RawMessage(readResultShape),
			},
			parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
		},
		record,
	}
}

// keptText says what was read; of a range, the text follows it.
type keptText struct {
	Notice     string      `json:"notice"`
	ID         int64       `json:"id"`
	Role       parley.Role `json:"role"`
	Tool       string      `json:"tool,omitempty"`
	File       string      `json:"file,omitempty"`
	Files      []string    `json:"files,omitempty"` // the message's others, by name
	Lines      int         `json:"lines"`           // of the whole text
	Characters int         `json:"characters"`
	Unit       string      `json:"unit,omitempty"` // of a range
	From       int         `json:"from,omitempty"`
	To         int         `json:"to,omitempty"`
	Next       *int        `json:"next,omitempty"` // where to read on
	Found      *[]place    `json:"found,omitempty"`
	More       bool        `json:"more,omitempty"`  // places were found that are not listed
	Hides      bool        `json:"hides,omitempty"` // a value that the provider may not see is left out at an end
}

// place is a place where a text was found.
type place struct {
	Line      int    `json:"line"`
	Character int    `json:"character"`
	Text      string `json:"text"` // with what stands around it
}

// Call implements tool.Tool.
func (t readResult) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	arguments := struct {
		ID     int64  `json:"id"`
		File   string `json:"file"`
		Unit   string `json:"unit"`
		From   int    `json:"from"`
		To     int    `json:"to"`
		Search string `json:"search"`
	}{Unit: unitLines, From: 1}
	if err := call.Read(&arguments); err != nil {
		return tool.Result{}, err
	}
	switch {
	case arguments.Unit != unitLines && arguments.Unit != unitCharacters:
		return tool.Result{}, parley.InvalidField("unit", "is not one of lines, characters")
	case arguments.From < 1 || arguments.To != 0 && arguments.To < arguments.From:
		return tool.Result{}, parley.InvalidField("from", "must be 1 or more, and to not less than from")
	case len(arguments.Search) > maxWantedBytes:
		return tool.Result{}, parley.InvalidField("search", "is longer than %d bytes", maxWantedBytes)
	}
	m, err := t.record.message(ctx, call, arguments.ID)
	if err != nil {
		return tool.Result{}, err
	}
	answer := keptText{Notice: recordNotice, ID: m.Sequence, Role: m.Role, Tool: m.ToolName}
	text, err := t.text(ctx, call, &m, arguments.File, &answer)
	if err != nil {
		return tool.Result{}, err
	}
	places, err := call.Hides(ctx, text)
	if err != nil {
		return tool.Result{}, err
	}
	hides := hidden(places)
	answer.Lines, answer.Characters = strings.Count(text, "\n")+1, utf8.RuneCountInString(text)
	if arguments.Search != "" {
		if err := answer.find(ctx, text, arguments.Search, hides); err != nil {
			return tool.Result{}, err
		}
		return tool.JSON(json.Marshal(answer))
	}
	answer.Unit = arguments.Unit
	asked, err := answer.cut(text, arguments.From, arguments.To)
	if err != nil {
		return tool.Result{}, err
	}
	piece := hides.inner(asked)
	answer.Hides = piece != asked
	raw, err := json.Marshal(answer)
	return tool.Result{Pieces: []tool.Piece{
		{Part: parley.Part{Type: parley.PartObject, Object: raw}},
		{Part: parley.Part{Type: parley.PartText, Text: text[piece.from:piece.to]}},
	}}, err
}

// text returns the text of a message, or of one of its files.
func (t readResult) text(
	ctx context.Context,
	call tool.Call,
	m *parley.Message,
	name string,
	answer *keptText,
) (string, error) {
	var chosen *parley.File
	for _, id := range parley.FilesOf(m.Content) {
		file, err := t.record.reader.File(ctx, store.Scope{WorkspaceID: call.WorkspaceID}, id)
		switch {
		case parley.ErrorCode(err) == parley.CodeNotFound: // it is gone
		case err != nil:
			return "", err
		case name != "" && file.Name == name && chosen == nil:
			chosen = &file
		default:
			answer.Files = append(answer.Files, file.Name)
		}
	}
	switch {
	case name == "":
		return quoted(m), nil
	case chosen == nil:
		return "", parley.Errorf(parley.CodeNotFound, "message %d has no file named %q", m.Sequence,
			parley.Clip(name, parley.MaxNameBytes))
	case !chosen.IsText():
		return "", parley.InvalidField("file", "is %s, which is not text", chosen.MediaType)
	case chosen.Size > maxKeptBytes:
		return "", parley.InvalidField("file", "has more than %d bytes", maxKeptBytes)
	}
	answer.File = chosen.Name
	if err := call.Holds(2 * chosen.Size); err != nil { // its bytes, and the text of them
		return "", err
	}
	data := make([]byte, 0, chosen.Size)
	for n := 0; int64(len(data)) < chosen.Size; n++ {
		chunk, err := t.record.reader.FileChunk(ctx, call.WorkspaceID, chosen.BlobID, n)
		if err != nil {
			return "", err
		}
		data = append(data, chunk...)
	}
	return string(data), nil
}

// cut returns a range of a text, in the answer's unit, as far as an answer holds it.
func (a *keptText) cut(text string, from, to int) (stretch, error) {
	if a.Unit == unitCharacters {
		return a.characters(text, from, to)
	}
	if from > a.Lines {
		return stretch{}, parley.InvalidField("from", "is behind the end: the text has %d lines", a.Lines)
	}
	start := 0
	for range from - 1 {
		start += strings.IndexByte(text[start:], '\n') + 1
	}
	end, line := start, from
	for ; line <= a.Lines && (to == 0 || line <= to); line++ {
		next := len(text)
		if at := strings.IndexByte(text[end:], '\n'); at >= 0 {
			next = end + at + 1
		}
		if next-start > recallBytes {
			break
		}
		end = next
	}
	if line == from { // the line alone is too long: its characters
		a.Unit = unitCharacters
		before := utf8.RuneCountInString(text[:start])
		return a.characters(text, before+1, 0)
	}
	a.From, a.To = from, line-1
	if line <= a.Lines {
		a.Next = &line
	}
	return stretch{start, end}, nil
}

// characters returns a range of characters.
func (a *keptText) characters(text string, from, to int) (stretch, error) {
	if from > max(1, a.Characters) {
		return stretch{}, parley.InvalidField("from", "is behind the end: the text has %d characters", a.Characters)
	}
	start := 0
	for range from - 1 {
		_, size := utf8.DecodeRuneInString(text[start:])
		start += size
	}
	end, at := start, from
	for end < len(text) && (to == 0 || at <= to) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if end+size-start > recallBytes {
			break
		}
		end, at = end+size, at+1
	}
	a.From, a.To = from, at-1
	if end < len(text) {
		a.Next = &at
	}
	return stretch{start, end}, nil
}

// find lists where a text stands.
func (a *keptText) find(ctx context.Context, text, wanted string, hides hidden) error {
	matches, err := findFolded(ctx, text, wanted, mostFound+1, hides)
	if err != nil {
		return err
	}
	found := []place{}
	line, character, counted := 1, 1, 0
	for _, m := range matches[:min(len(matches), mostFound)] {
		line += strings.Count(text[counted:m.from], "\n")
		character += utf8.RuneCountInString(text[counted:m.from])
		counted = m.from
		shown := hides.inner(stretch{max(0, m.from-foundContext), min(len(text), m.to+foundContext)})
		around := strings.ToValidUTF8(text[shown.from:shown.to], "")
		found = append(found, place{Line: line, Character: character, Text: around})
	}
	a.Found, a.More = &found, len(matches) > mostFound
	return nil
}
