package acp

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
)

// The bounds of the text files that a program reads or writes through Parley.
const (
	maxFileBytes = 4 << 20
	maxPathBytes = 4096     // of its path
	maxSkipped   = 64 << 20 // bytes that are read to find a line
)

// files reads and writes text files of the session's project for a program, under the rules of the file tools.
type files struct {
	policy  *projectdir.Policy
	project string // "": the session has no project
}

// open opens the project for an absolute path that the program names.
func (f files) open(path string) (*projectdir.Tree, string, error) {
	if f.project == "" {
		return nil, "", parley.Errorf(parley.CodeConflict, "this session has no project: choose a directory first")
	}
	if err := parley.CheckText("path", path, maxPathBytes); err != nil {
		return nil, "", err
	}
	name, err := filepath.Rel(f.project, path)
	if err != nil || name == ".." || strings.HasPrefix(name, "../") {
		return nil, "", parley.InvalidField("path", "%q leads out of the project", parley.Clip(path, 128))
	}
	tree, err := f.policy.Open(f.project)
	return tree, name, err
}

// read reads a file, or lines of it, from 1.
func (f files) read(path string, line, limit *int) (string, error) {
	tree, name, err := f.open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = tree.Close() }() // read only
	file, err := tree.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // read only
	from, most := 1, -1
	if line != nil {
		from = max(*line, 1)
	}
	if limit != nil {
		most = max(*limit, 0)
	}
	text, err := readLines(file, from, most)
	switch {
	case errors.Is(err, errFarLine):
		return "", parley.Errorf(
			parley.CodeTooLarge,
			"line %d of %q lies beyond its first %d bytes, and no more is read",
			from,
			parley.Clip(name, 128),
			maxSkipped,
		)
	case errors.Is(err, errLongFile):
		return "", parley.Errorf(parley.CodeTooLarge, "%q is larger than %d bytes; read some of its lines",
			parley.Clip(name, 128), maxFileBytes)
	case err != nil:
		return "", projectdir.FileError(name, err)
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return "", parley.Errorf(parley.CodeUnsupported, "%q is not a text file", parley.Clip(name, 128))
	}
	return text, nil
}

var (
	errLongFile = errors.New("acp: a file is too long")
	errFarLine  = errors.New("acp: a line is too far")
)

// readLines reads at most count lines from a line on; all of them if count is negative.
func readLines(from io.Reader, first, most int) (string, error) {
	reader := bufio.NewReader(from)
	var text strings.Builder
	skipped := 0
	for line := 1; most < 0 || line-first < most; {
		piece, err := reader.ReadSlice('\n') // at most the reader's buffer
		if line < first {
			if skipped += len(piece); skipped > maxSkipped { // a file may have holes without an end
				return "", errFarLine
			}
		} else {
			if text.Len()+len(piece) > maxFileBytes {
				return "", errLongFile
			}
			text.Write(piece)
		}
		switch {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			return text.String(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
	return text.String(), nil
}

// write replaces the whole content of a file.
func (f files) write(path, text string) error {
	tree, name, err := f.open(path)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }() // the written file is closed separately
	if len(text) > maxFileBytes {
		return parley.Errorf(parley.CodeTooLarge, "the text is larger than %d bytes", maxFileBytes)
	}
	_, err = tree.Replace(name, []byte(text))
	return err
}

// relative returns a path relative to the project, as the file tools expect it.
func (f files) relative(path string) string {
	name, err := filepath.Rel(f.project, path)
	if err != nil || f.project == "" {
		return path
	}
	return name
}
