package builtin

import (
	"bytes"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// fixed holds the constant parts of a tool.
type fixed struct {
	definition  parley.ToolDefinition
	annotations parley.ToolAnnotations
}

func (f fixed) Definition() parley.ToolDefinition   { return f.definition }
func (f fixed) Annotations() parley.ToolAnnotations { return f.annotations }
func (fixed) Source() string                        { return sourceName }

// inProject is a tool that works in the session's project directory.
type inProject struct {
	fixed
	policy *projectdir.Policy
}

// open opens the session's project directory and checks a path in it, which it returns with slashes and relative to the
// directory. It resolves and checks the directory at each call, because a directory chosen earlier may be private now.
func (p inProject) open(call tool.Call, text string) (tree *projectdir.Tree, name string, err error) {
	if name, err = projectdir.Inside(text); err != nil {
		return nil, "", err
	}
	if call.ProjectPath == "" {
		return nil, "", parley.Errorf(
			parley.CodeConflict,
			"this session has no project: choose a directory as its project first",
		)
	}
	tree, err = p.policy.Open(call.ProjectPath)
	return tree, name, err
}

// isText reports whether bytes are text: UTF-8 without NUL. The end may lie within a rune.
func isText(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return len(data) < utf8.UTFMax && !utf8.FullRune(data)
		}
		data = data[size:]
	}
	return true
}
