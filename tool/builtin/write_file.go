package builtin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"

	"parley"
)

// writeFile writes a text file, whole.
type writeFile struct{ fixed }

func newWriteFile() parley.Tool {
	return writeFile{fixed{
		parley.ToolDefinition{
			Name:        "write_file",
			Description: "Writes a text file of the project, whole: it is created, with its directories, or replaced.",
			Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
				`"path":{"description":"Relative to the project directory.","type":"string"},` +
				`"text":{"description":"All of the file's text.","type":"string"}},"required":["path","text"],"type":"object"}`),
		},
		// Writing the same text again changes nothing, but what stood there is lost.
		parley.ToolAnnotations{Idempotent: true, Destructive: true},
	}}
}

// written is the result.
type written struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Created bool   `json:"created"` // false: an earlier text was replaced
}

// Call implements parley.Tool. A reader sees the old text or the new one, never
// a part.
func (writeFile) Call(_ context.Context, call parley.ToolCall) (json.RawMessage, error) {
	var arguments struct {
		Path *string `json:"path"`
		Text *string `json:"text"`
	}
	if err := readArguments(call, &arguments); err != nil {
		return nil, err
	}
	if arguments.Path == nil || arguments.Text == nil {
		return nil, parley.Errorf(parley.CodeInvalid, "write_file needs path and text")
	}
	root, name, err := openProject(call, *arguments.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is closed by itself
	result := written{Path: name, Bytes: len(*arguments.Text)}
	mode := fs.FileMode(0o644)
	switch info, err := root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		result.Created = true
	case err != nil:
		return nil, fileError(name, err)
	case !info.Mode().IsRegular():
		return nil, parley.InvalidField("path", "%q is no regular file", parley.Clip(name, 128))
	default:
		mode = info.Mode().Perm()
	}
	if err := replaceFile(root, name, []byte(*arguments.Text), mode); err != nil {
		return nil, fileError(name, err)
	}
	return json.Marshal(result)
}

// replaceFile writes beside the file and renames over it.
func replaceFile(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	// A link's target is replaced, not the link; one that leads outside is refused by the root.
	if target, err := root.Readlink(name); err == nil {
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		name = target
	}
	beside := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:8])
	file, err := root.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = root.Rename(beside, name)
	}
	if err != nil {
		_ = root.Remove(beside) // the first error says what went wrong
	}
	return err
}
