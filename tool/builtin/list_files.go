package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

const (
	// maxListed bounds the entries that one call lists.
	maxListed = 1000
	// maxVisited bounds the entries that one call looks at.
	maxVisited = 200_000
)

// errEnough ends a walk that has reached a bound.
var errEnough = errors.New("builtin: enough")

// listFiles lists the contents of a directory.
type listFiles struct{ inProject }

func newListFiles(policy *projectdir.Policy) tool.Tool {
	return listFiles{
		inProject{
			fixed{
				parley.ToolDefinition{
					Name: "list_files",
					Description: "Lists files and directories of the project, but those that usually hold secrets. " +
						"Recursive lists leave out .git and other directories whose names begin with a dot.",
					Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
						`"path":{"description":"Directory, relative to the project. Default the project itself.",` +
						`"type":"string"},` +
						`"pattern":{"description":"Only names that match, for example *.go. Default all.",` +
						`"type":"string"},` +
						`"recursive":{"description":"Also what lies deeper. Default false.","type":"boolean"}},` +
						`"type":"object"}`),
				},
				parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
			},
			policy,
		},
	}
}

// listing is the result.
type listing struct {
	Entries   []listedFile `json:"entries"`
	Truncated bool         `json:"truncated"` // there are more entries
}

type listedFile struct {
	Path       string `json:"path"`
	Kind       string `json:"kind"` // file, directory, link, other
	Size       *int64 `json:"size"` // bytes, of files
	ModifiedAt string `json:"modified_at"`
}

// Call implements tool.Tool.
func (t listFiles) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t listFiles) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	arguments := struct {
		Path      string `json:"path"`
		Pattern   string `json:"pattern"`
		Recursive bool   `json:"recursive"`
	}{Path: "."}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	if err := checkNames("pattern", arguments.Pattern); err != nil {
		return nil, err
	}
	found := listing{Entries: []listedFile{}}
	var err error
	found.Truncated, err = t.walk(
		ctx,
		call,
		arguments.Path,
		arguments.Recursive,
		func(_ *projectdir.Tree, at string, entry fs.DirEntry) error {
			if !named(entry, arguments.Pattern) {
				return nil
			}
			if len(found.Entries) == maxListed {
				return errEnough
			}
			if shown, ok := shownFile(at, entry); ok {
				found.Entries = append(found.Entries, shown)
			}
			return nil
		},
	)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}

// checkNames refuses an invalid pattern of names.
func checkNames(field, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return parley.InvalidField(
			field,
			"%q is not a valid pattern: * stands for any characters, ? for one",
			parley.Clip(pattern, 128),
		)
	}
	return nil
}

// named reports whether an entry's name matches a checked pattern; "" matches all.
func named(entry fs.DirEntry, pattern string) bool {
	ok, err := path.Match(pattern, entry.Name())
	return pattern == "" || ok && err == nil
}

// visitor is called for an entry of a project's directory.
type visitor func(tree *projectdir.Tree, at string, entry fs.DirEntry) error

// walk opens the call's project and visits the contents of one of its directories. truncated says that it ended at a
// bound.
func (p inProject) walk(
	ctx context.Context,
	call tool.Call,
	from string,
	recursive bool,
	visit visitor,
) (truncated bool, err error) {
	tree, name, err := p.open(call, from)
	if err != nil {
		return false, err
	}
	defer func() { _ = tree.Close() }() // opened for reading
	err = walk(ctx, tree, name, recursive, visit)
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// walk visits the contents of a directory of the project in order of names, except what is closed to tools. A link is
// visited, never followed. It returns errEnough at a bound.
func walk(ctx context.Context, tree *projectdir.Tree, from string, recursive bool, visit visitor) error {
	if err := tree.Directory(from); err != nil {
		return err
	}
	visited := 0
	return fs.WalkDir(tree.FS(), from, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if visited++; visited > maxVisited {
			return errEnough
		}
		switch {
		case err != nil && at == from:
			return projectdir.FileError(from, err)
		case err != nil: // unreadable, or gone meanwhile
			return nil //nolint:nilerr // the rest can be listed
		case at == from:
			return nil
		case tree.Hidden(at, entry):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := visit(tree, at, entry); err != nil {
			return err
		}
		if entry.IsDir() && (!recursive || strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		return nil
	})
}

// shownFile describes an entry; not ok if it is gone.
func shownFile(at string, entry fs.DirEntry) (listedFile, bool) {
	info, err := entry.Info()
	if err != nil {
		return listedFile{}, false
	}
	shown := listedFile{Path: at, ModifiedAt: info.ModTime().UTC().Format(time.RFC3339)}
	switch mode := info.Mode(); {
	case mode.IsDir():
		shown.Kind = "directory"
	case mode.IsRegular():
		shown.Kind, shown.Size = "file", new(info.Size())
	case mode&fs.ModeSymlink != 0:
		shown.Kind = "link"
	default:
		shown.Kind = "other"
	}
	return shown, true
}
