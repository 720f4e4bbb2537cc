package parley

import "encoding/json"

// The bounds of documents and of what changes them.
const (
	MaxDocumentBytes = 4 << 20 // one version's content
	MaxJSONEdits     = 10_000  // operations of one JSON Patch
	MaxTextEdits     = 256     // of one write
)

// JSONEdit is one operation of a JSON Patch (RFC 6902).
type JSONEdit struct {
	Op    EditOp          `json:"op"`              // what to do
	Path  string          `json:"path"`            // where, as a JSON Pointer (RFC 6901)
	From  string          `json:"from,omitempty"`  // of move and copy: where from
	Value json.RawMessage `json:"value,omitempty"` // of add, replace and test
}

// MarshalJSON writes null for absent fields, which RFC 6902 has readers ignore.
func (e JSONEdit) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		Op    EditOp          `json:"op"`
		Path  string          `json:"path"`
		From  *string         `json:"from"`
		Value json.RawMessage `json:"value"`
	}{e.Op, e.Path, OrNull(e.From), e.Value})
}

// EditOp is what an operation of a JSON Patch does.
type EditOp string

// The operations of RFC 6902.
const (
	EditAdd     EditOp = "add"
	EditRemove  EditOp = "remove"
	EditReplace EditOp = "replace"
	EditMove    EditOp = "move"
	EditCopy    EditOp = "copy"
	EditTest    EditOp = "test"
)

// TextEdit replaces a passage of a text.
type TextEdit struct {
	Old string `json:"old"`           // the passage, exactly as it stands; it must occur once unless All is set
	New string `json:"new"`           // what takes its place; empty removes it
	All bool   `json:"all,omitempty"` // replaces every occurrence
}

// TextHunk is a run of changed lines with the lines around them.
type TextHunk struct {
	From  int        `json:"from"` // number of its first line in the old text, from 1; of an empty run: the line before
	To    int        `json:"to"`   // the same in the new text
	Lines []DiffLine `json:"lines"`
}

// DiffLine is one line of a TextHunk.
type DiffLine struct {
	Op   DiffOp `json:"op"`
	Text string `json:"text"` // without its line feed
	// Parts divide the text of a changed line into what stayed and what changed; absent where the whole line changed.
	Parts []DiffPart `json:"parts"`
	// Open says that the text ends with this line and without a line feed.
	Open bool `json:"open"`
}

// DiffOp says in which of the two texts a line is.
type DiffOp string

// The three kinds of lines.
const (
	DiffSame    DiffOp = "same"
	DiffRemoved DiffOp = "removed"
	DiffAdded   DiffOp = "added"
)

// DiffPart is a part of a changed line.
type DiffPart struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed"`
}
