package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"regexp"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

const (
	// maxMatches bounds the lines that one call finds.
	maxMatches = 200
	// maxSearched bounds the size of a searched file.
	maxSearched = 8 << 20
	// maxLineShown bounds the shown part of a line.
	maxLineShown = 400
	// maxLineRead bounds the searched part of a line.
	maxLineRead = 64 << 10
)

// searchFiles finds lines by a regular expression.
type searchFiles struct{ inProject }

func newSearchFiles(policy *projectdir.Policy) tool.Tool {
	return searchFiles{
		inProject{
			fixed{
				parley.ToolDefinition{
					Name: "search_files",
					Description: "Finds lines in the project's text files by a regular expression. Directories whose " +
						"names begin with a dot are left out, and files that usually hold secrets.",
					Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
						`"files":{"description":"Only files whose names match, for example *.go. Default all.",` +
						`"type":"string"},` +
						`"path":{"description":"Directory to search, relative to the project. Default the project ` +
						`itself.","type":"string"},` +
						`"pattern":{"description":"Regular expression in RE2 syntax; (?i) at the beginning ignores ` +
						`case.","type":"string"}},` +
						`"required":["pattern"],"type":"object"}`),
				},
				parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
			},
			policy,
		},
	}
}

// matches is the result.
type matches struct {
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated"` // there are more matches
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"` // from 1
	Text string `json:"text"`
}

// Call implements tool.Tool.
func (t searchFiles) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t searchFiles) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	arguments := struct {
		Path    string `json:"path"`
		Pattern string `json:"pattern"`
		Files   string `json:"files"`
	}{Path: "."}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	expression, _, err := parley.CompilePattern(arguments.Pattern, parley.MaxPatternSize)
	if err != nil || arguments.Pattern == "" {
		return nil, parley.InvalidField(
			"pattern",
			"%q is not a regular expression in RE2 syntax, or repeats too much",
			parley.Clip(arguments.Pattern, 128),
		)
	}
	if err := checkNames("files", arguments.Files); err != nil {
		return nil, err
	}
	found := matches{Matches: []match{}}
	found.Truncated, err = t.walk(
		ctx,
		call,
		arguments.Path,
		true,
		func(tree *projectdir.Tree, at string, entry fs.DirEntry) error {
			if !entry.Type().IsRegular() || !named(entry, arguments.Files) {
				return nil
			}
			return found.search(ctx, tree, at, expression)
		},
	)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// search searches one file; it skips files that are not text, too large or unreadable.
func (m *matches) search(ctx context.Context, tree *projectdir.Tree, name string, expression *regexp.Regexp) error {
	file, err := tree.Open(name)
	if err != nil {
		return nil // gone meanwhile, or not readable
	}
	defer func() { _ = file.Close() }() // read only
	if info, err := file.Stat(); err != nil || info.Size() > maxSearched {
		return nil // as above
	}
	reader := bufio.NewReaderSize(io.LimitReader(file, maxSearched), maxLineRead) // it may grow meanwhile
	from := len(m.Matches)
	for line := 1; ; line++ {
		text, err := reader.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line is not searched
			_, err = reader.ReadSlice('\n')
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !isText(text) && len(text) < maxLineRead:
			m.Matches = m.Matches[:from]
			return nil
		case expression.Match(trimLine(text)):
			if len(m.Matches) == maxMatches {
				return errEnough
			}
			m.Matches = append(
				m.Matches,
				match{Path: name, Line: line, Text: parley.Clip(string(trimLine(text)), maxLineShown)},
			)
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return nil // an unreadable rest
		}
	}
}

// trimLine removes the end of a line.
func trimLine(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}
