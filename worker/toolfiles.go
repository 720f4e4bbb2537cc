package worker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"example.org/parley"
	"example.org/parley/internal/upload"
	"example.org/parley/prompt"
	"example.org/parley/tool"
)

// sniffed is how much base64 is enough to recognise its content: whole groups of four, and less than leastCarried
// without line ends and padding.
const sniffed = 512

// leastCarried is the shortest base64 looked at in the text of a result: shorter pictures are rare and cost a model
// little.
const leastCarried = 1024

// resultNotKept replaces bytes in a result that could not be stored.
const resultNotKept = "[A file of %d bytes (%s) was not kept: %s]"

// filing turns a tool's answer into a record: bytes become files of the session's owner, each once, and the rest is
// JSON or parts.
type filing struct {
	t     *tools
	call  *toolCall
	files []parley.Part
	seen  map[parley.Hash]parley.Part

	tokens int // the files' size in a request
}

// keep makes the content of a tool's result, and returns the size of its files in a request; the text says why it
// failed.
func (t *tools) keep(call *toolCall, answered tool.Result) (parley.ToolResultContent, int, string) {
	k := filing{t: t, call: call, seen: map[parley.Hash]parley.Part{}}
	size := len(answered.JSON)
	for i := range answered.Pieces {
		size += len(answered.Pieces[i].Data) + len(answered.Pieces[i].Text) + len(answered.Pieces[i].Object)
	}
	if size > MaxToolAnswerBytes {
		return parley.ToolResultContent{}, 0, fmt.Sprintf(resultTooLarge, MaxToolAnswerBytes)
	}
	content := parley.ToolResultContent{Success: true}
	if len(answered.Pieces) == 0 {
		raw, refusal := k.json(answered.JSON)
		if refusal != "" {
			return content, 0, refusal
		}
		if len(raw) > MaxToolResultBytes {
			content.Parts = k.excerpt(plainOf(raw))
			return content, k.tokens, ""
		}
		content.Result = raw
		if len(k.files) > 0 {
			content.Result, content.Parts = nil, append(parley.ResultParts(raw), k.files...)
		}
		return content, k.tokens, ""
	}
	if len(answered.Pieces) > parley.MaxParts {
		return content, 0, fmt.Sprintf("The tool's result has more than %d parts.", parley.MaxParts)
	}
	size = 0
	for i := range answered.Pieces {
		parts, refusal := k.piece(&answered.Pieces[i])
		if refusal != "" {
			return content, 0, refusal
		}
		if long := sizeOf(parts); size+long > MaxToolResultBytes && long > excerptBytes {
			parts = k.shortened(parts)
		}
		size += sizeOf(parts)
		content.Parts = append(content.Parts, parts...)
	}
	if size > MaxToolResultBytes {
		return content, 0, fmt.Sprintf(resultTooLarge, MaxToolResultBytes)
	}
	return content, k.tokens, ""
}

// excerptBytes is how much is shown of a text that is too long for the record.
const excerptBytes = 32 << 10

// resultExcerpt follows such an excerpt and says where the rest is.
const resultExcerpt = "\n\n[This is the beginning of %d bytes. All of them: %s]"

func sizeOf(parts []parley.Part) (size int) {
	for i := range parts {
		size += len(parts[i].Text) + len(parts[i].Object) + len(parts[i].URL) + len(parts[i].Title)
	}
	return size
}

// plainOf returns JSON as text; of a string, its value.
func plainOf(raw json.RawMessage) string {
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// excerpt returns the beginning of a text, and all of it as a file.
func (k *filing) excerpt(text string) []parley.Part {
	before := len(k.files)
	kept := k.storeFile(parley.Part{Type: parley.PartFile}, []byte(text))
	text = k.t.layers.Edges(k.t.writes).Clip(text, excerptBytes) + fmt.Sprintf(resultExcerpt, len(text), kept)
	return append([]parley.Part{{Type: parley.PartText, Text: text}}, k.files[before:]...)
}

// shortened returns the parts of a piece with an excerpt where a text or an object stood.
func (k *filing) shortened(parts []parley.Part) (short []parley.Part) {
	for i := range parts {
		switch parts[i].Type { //nolint:exhaustive // the others are short
		case parley.PartObject:
			short = append(short, k.excerpt(string(parts[i].Object))...)
		case parley.PartText:
			short = append(short, k.excerpt(parts[i].Text)...)
		default:
			short = append(short, parts[i])
		}
	}
	return short
}

// json returns a tool's JSON without the bytes carried in its strings.
func (k *filing) json(raw json.RawMessage) (json.RawMessage, string) {
	if len(raw) == 0 {
		return json.RawMessage("null"), ""
	}
	if !json.Valid(raw) || parley.CheckJSONBounds(raw) != nil {
		return nil, resultNoJSON
	}
	return k.strings(raw), ""
}

// strings rewrites those strings of valid JSON that carry bytes, and nothing else.
func (k *filing) strings(raw json.RawMessage) json.RawMessage {
	if len(raw) < leastCarried {
		return raw
	}
	var out []byte
	from := 0
	for at := 0; at < len(raw); at++ {
		if raw[at] != '"' {
			continue
		}
		end := at + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var text string
		if end-at > leastCarried && json.Unmarshal(raw[at:end+1], &text) == nil {
			if without := k.text(text); without != text {
				out = parley.AppendJSONString(append(out, raw[from:at]...), without)
				from = end + 1
			}
		}
		at = end
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// text returns a text without the base64 bytes in it: each such run, with a "data:…;base64," before it, becomes the
// name of its file.
func (k *filing) text(text string) string {
	if k.t.w.uploads == nil || len(text) < leastCarried {
		return text
	}
	var out strings.Builder
	from := 0
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isBase64(text[end]) {
			end++
		}
		if end-at >= leastCarried {
			begin := at
			declared := dataURL(text[from:at])
			if data := decoded(text[at:end], declared > 0); data != nil {
				begin -= declared
				out.WriteString(text[from:begin])
				out.WriteString(k.storeFile(parley.Part{Type: parley.PartFile}, data))
				from = end
			}
		}
		at = end + 1
	}
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '=' || c == '-' || c == '_' || c == '\n' || c == '\r'
}

// longestDataURL bounds the prefix of a data URL before its bytes.
const longestDataURL = 256

// dataURL returns the length of "data:…;base64," at the end of a text; 0 if it does not end so.
func dataURL(text string) int {
	if !strings.HasSuffix(text, ";base64,") {
		return 0
	}
	near := text[max(0, len(text)-longestDataURL):]
	if at := strings.LastIndex(near, "data:"); at >= 0 && !strings.ContainsAny(near[at:], " \n\"") {
		return len(near) - at
	}
	return 0
}

// decoded returns the bytes of base64; nil if it is invalid or, unless declared as a file's, if the bytes are of no
// known kind.
func decoded(run string, declared bool) []byte {
	run = strings.TrimRight(strings.NewReplacer("\n", "", "\r", "").Replace(run), "=")
	if len(run) < sniffed {
		return nil
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(run, "-_") {
		encoding = base64.RawURLEncoding
	}
	if !declared { // most runs are not files: their beginning is enough to tell
		head, err := encoding.DecodeString(run[:sniffed])
		mediaType := upload.TypeOf(head)
		if err != nil || strings.HasPrefix(mediaType, "text/") || mediaType == upload.UnknownType {
			return nil
		}
	}
	data, err := encoding.DecodeString(run)
	if err != nil {
		return nil
	}
	return data
}

// piece returns a piece of a result as parts.
func (k *filing) piece(piece *tool.Piece) ([]parley.Part, string) {
	before := len(k.files)
	part := piece.Part
	switch {
	case piece.Data != nil:
		if said := k.storeFile(part, piece.Data); len(k.files) == before {
			return []parley.Part{{Type: parley.PartText, Text: said}}, ""
		}
		return k.files[before:], ""
	case part.Type == parley.PartObject:
		raw, refusal := k.json(part.Object)
		if refusal != "" {
			return nil, refusal
		}
		part.Object = raw
	case part.Type == parley.PartText:
		if part.Text = k.text(part.Text); part.Text == "" {
			return nil, ""
		}
	}
	return append([]parley.Part{part}, k.files[before:]...), ""
}

// storeFile stores bytes as a file of the result, and returns the text that replaces them.
func (k *filing) storeFile(as parley.Part, data []byte) string {
	sum := parley.HashOf(data)
	if part, found := k.seen[sum]; found {
		return part.Plain()
	}
	mediaType := upload.TypeOf(data)
	refused := func(why string) string { return fmt.Sprintf(resultNotKept, len(data), mediaType, why) }
	if len(k.files) == parley.MaxMessageFiles {
		return refused("a result has " + strconv.Itoa(parley.MaxMessageFiles) + " files at most")
	}
	if as.Name = shownName(as.Name); as.Name == "" || as.Name == "." || as.Name == ".." || as.Name == "/" {
		as.Name = fileName(k.call.name, len(k.files)+1, mediaType)
	}
	t := k.t
	file := parley.File{
		ID: parley.NewID(), BlobID: parley.NewID(), WorkspaceID: t.fence.WorkspaceID,
		OwnerID: t.claim.Session.OwnerID, Name: parley.Clip(as.Name, longestName),
	}
	quota := parley.Quota{Workspace: t.w.options.MaxStorage}
	if t.w.uploads == nil {
		return refused("a dry run keeps nothing")
	}
	log := t.log()
	file, _, err := upload.Keep(t.writes, t.writes, t.w.uploads, file, bytes.NewReader(data), quota, func(err error) {
		log.WarnContext(t.writes, "an interrupted upload could not be discarded; it expires later", "error", err)
	})
	if err != nil {
		if parley.ErrorCode(err) == parley.CodeInternal {
			log.ErrorContext(t.writes, "a tool's file could not be kept", "tool", k.call.name, "error", err)
			return refused("an error inside")
		}
		return refused(toolErrorText(err))
	}
	part := parley.FilePart(file)
	k.seen[sum] = part
	k.files = append(k.files, part)
	k.tokens += prompt.EstimateFile(file)
	return part.Plain()
}

// shownName makes a tool's name for a file fit to show: its last element, without invisible characters.
func shownName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	return name[strings.LastIndexAny(name, `/\`)+1:]
}

// longestName leaves room for the mark of a cut.
const longestName = parley.MaxNameBytes - len("…")

// fileName returns the name of a tool's n-th file that came without one.
func fileName(tool string, n int, mediaType string) string {
	_, kind, _ := strings.Cut(mediaType, "/")
	kind, _, _ = strings.Cut(strings.TrimPrefix(kind, "x-"), "+")
	switch kind {
	case "octet-stream":
		kind = "bin"
	case "plain":
		kind = "txt"
	}
	return tool + "-" + strconv.Itoa(n) + "." + kind
}
