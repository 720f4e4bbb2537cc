package builtin

import (
	"bytes"
	"encoding/json"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/tool"
)

// maxPathBytes bounds a path inside a project.
const maxPathBytes = 4096

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
	if name, err = insidePath(text); err != nil {
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

// insidePath checks a path of a call and returns it in the form of os.Root: with slashes, relative to the project, "."
// for the project itself.
func insidePath(text string) (string, error) {
	if err := parley.CheckText("path", text, maxPathBytes); err != nil {
		return "", err
	}
	if strings.HasPrefix(text, "/") {
		return "", parley.InvalidField(
			"path",
			"%q begins at the root; paths here are relative to the project",
			parley.Clip(text, 128),
		)
	}
	cleaned := path.Clean(text)
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", parley.InvalidField("path", "%q leads out of the project", parley.Clip(text, 128))
	}
	if simple := strings.TrimSuffix(
		text,
		"/",
	); simple != cleaned &&
		simple != "" { // a grant about a path sees one spelling of it
		return "", parley.InvalidField(
			"path",
			"%q is not in its shortest form: write %q",
			parley.Clip(text, 128),
			parley.Clip(cleaned, 128),
		)
	}
	return cleaned, nil
}

// readArguments reads a call's arguments into a struct, strictly: by the exact names that grants use. The decoder alone
// would accept "Path" for "path", bypassing a rule about path.
func readArguments(call tool.Call, into any) error {
	known := map[string]bool{}
	for i, t := 0, reflect.TypeOf(into).Elem(); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	var given map[string]json.RawMessage
	_ = json.Unmarshal(call.Arguments, &given) // anything but an object is refused below
	for name := range given {
		if !known[name] {
			return parley.Errorf(
				parley.CodeInvalid,
				"the arguments do not fit the tool: unknown field %q",
				parley.Clip(name, 128),
			)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(call.Arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return parley.Errorf(parley.CodeInvalid, "the arguments do not fit the tool: %s", parley.Clip(err.Error(), 256))
	}
	return nil
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
