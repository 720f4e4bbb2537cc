package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

const (
	// maxReadBytes bounds the text that one call reads.
	maxReadBytes = 256 << 10
	// defaultLines is how many lines are read by default.
	defaultLines = 2000
)

// readFile reads lines of a text file, or all of an image.
type readFile struct{ inProject }

func newReadFile(policy *projectdir.Policy) tool.Tool {
	return readFile{inProject{fixed{
		parley.ToolDefinition{
			Name: "read_file",
			Description: "Reads a text file of the project, or some of its lines, " +
				"or shows an image (PNG, JPEG, GIF, WebP).",
			Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
				`"from_line":{"description":"First line, from 1. Default 1.","minimum":1,"type":"integer"},` +
				`"lines":{"description":"How many lines at most. Default 2000.","minimum":1,"type":"integer"},` +
				`"path":{"description":"Relative to the project directory.","type":"string"}},"required":["path"],` +
				`"type":"object"}`),
		},
		parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
	}, policy}}
}

// fileText is the result: the lines unchanged, and where to continue.
type fileText struct {
	Path     string `json:"path"`
	Text     string `json:"text"`
	FromLine int    `json:"from_line"`
	Lines    int    `json:"lines"`     // in text
	NextLine *int   `json:"next_line"` // null at the end of the file
}

// Call implements tool.Tool.
func (t readFile) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	arguments := struct {
		Path     string `json:"path"`
		FromLine int    `json:"from_line"`
		Lines    int    `json:"lines"`
	}{FromLine: 1, Lines: defaultLines}
	if err := call.Read(&arguments); err != nil {
		return tool.Result{}, err
	}
	if arguments.FromLine < 1 || arguments.Lines < 1 {
		return tool.Result{}, parley.InvalidField("from_line", "lines count from 1")
	}
	tree, name, err := t.open(call, arguments.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = tree.Close() }() // read only
	file, err := tree.Open(name)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = file.Close() }() // read only
	reader := bufio.NewReader(file)
	if head, err := reader.Peek(sniffedBytes); err == nil || errors.Is(err, io.EOF) { // other errors come again
		if mediaType, is := imageType(head); is {
			return readImage(reader, name, mediaType)
		}
	}
	got := fileText{Path: name, FromLine: arguments.FromLine}
	if err := got.read(ctx, reader, arguments.Lines); err != nil {
		return tool.Result{}, err
	}
	return tool.JSON(json.Marshal(got))
}

// sniffedBytes is how much of a file tells whether it is an image.
const sniffedBytes = 512

// imageType is the media type of an image that models read, by its first bytes.
func imageType(head []byte) (string, bool) {
	mediaType := http.DetectContentType(head)
	return mediaType, !isText(head) && parley.File{MediaType: mediaType}.ImageType()
}

// readImage answers with the bytes of an image, for the worker to keep as a file.
func readImage(from io.Reader, name, mediaType string) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(from, parley.MaxImageBytes+1))
	if err != nil {
		return tool.Result{}, projectdir.FileError(name, err)
	}
	if len(data) > parley.MaxImageBytes {
		return tool.Result{}, parley.Errorf(
			parley.CodeTooLarge,
			"the image %q is larger than the %d bytes that a model is shown",
			parley.Clip(name, 128),
			parley.MaxImageBytes,
		)
	}
	file := parley.Part{
		Type: parley.PartFile, Name: parley.Clip(path.Base(name), parley.MaxNameBytes-len("…")), MediaType: mediaType,
	}
	return tool.Result{Pieces: []tool.Piece{{Part: file, Data: data}}}, nil
}

// read skips to the first line and takes lines while they fit.
func (f *fileText) read(ctx context.Context, reader *bufio.Reader, lines int) error {
	var text strings.Builder
	for line := 1; ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		piece, err := reader.ReadSlice('\n') // at most the reader's buffer
		if line >= f.FromLine {
			if f.Lines == lines || text.Len()+len(piece) > maxReadBytes {
				return f.end(&text, line, len(piece) > 0)
			}
			text.Write(piece)
		}
		switch {
		case err == nil:
			if line >= f.FromLine {
				f.Lines++
			}
			line++
		case errors.Is(err, io.EOF):
			if line >= f.FromLine && len(piece) > 0 {
				f.Lines++
			}
			return f.end(&text, 0, false)
		case !errors.Is(err, bufio.ErrBufferFull):
			return projectdir.FileError(f.Path, err)
		}
	}
}

// end ends the text at the last whole line that fits.
func (f *fileText) end(text *strings.Builder, next int, more bool) error {
	f.Text = text.String()
	if !isText([]byte(f.Text)) {
		return parley.Errorf(parley.CodeUnsupported, "%q is not a text file", parley.Clip(f.Path, 128))
	}
	if !more {
		return nil
	}
	if cut := strings.LastIndexByte(f.Text, '\n'); cut+1 < len(f.Text) {
		f.Text = f.Text[:cut+1]
	}
	if f.Text == "" {
		return parley.Errorf(
			parley.CodeTooLarge,
			"line %d of %q is longer than %d bytes",
			next,
			parley.Clip(f.Path, 128),
			maxReadBytes,
		)
	}
	f.NextLine = &next
	return nil
}
