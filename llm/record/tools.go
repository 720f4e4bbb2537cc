package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"example.org/parley"
	"example.org/parley/tool"
)

// toolsFolder is where the answers of tools lie, below the directory of the recordings.
const toolsFolder = "tools"

// Tools are tools whose answers are written to files, or come from files.
type Tools struct {
	source  tool.Source
	dir     string
	options Options
	play    bool
	offered []tool.Tool // when playing: recorded tools that the source lacks

	mu      sync.Mutex        // guards the rest
	numbers map[string]int    // answers by the name of the first file with the same call
	known   map[string]string // digests of written definitions
}

var _ tool.Source = (*Tools)(nil)

// RecordTools records what tools answer below a directory, which it creates: tools/<name>-<key>-<n>.json for the n-th
// answer to a call with a key, which is made of the name and the arguments as for requests, and tools/<name>.json for
// each tool that was looked up. A call that was stopped leaves no file.
func RecordTools(source tool.Source, dir string, options Options) (*Tools, error) {
	if err := os.MkdirAll(filepath.Join(dir, toolsFolder), 0o700); err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "record: the directory of the recordings cannot be made")
	}
	return &Tools{
		source: source, dir: dir, options: options, numbers: map[string]int{}, known: map[string]string{},
	}, nil
}

// PlayTools answers calls from the recordings of a directory. No tool ever runs: a call without a recording gets an
// error that names the missing file. Tools that the source lacks, such as those of a server, are offered as recorded.
func PlayTools(source tool.Source, dir string, options Options) (*Tools, error) {
	p := &Tools{source: source, dir: dir, options: options, play: true, numbers: map[string]int{}}
	entries, err := os.ReadDir(filepath.Join(dir, toolsFolder))
	if errors.Is(err, os.ErrNotExist) {
		return p, nil // nothing was called
	} else if err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "record: the recordings of tools cannot be read")
	}
	for _, entry := range entries {
		var d definition
		if !strings.HasSuffix(entry.Name(), ".json") || p.read(entry.Name(), &d) != nil || d.Definition == nil {
			continue
		}
		if _, live := source.Tool(d.Definition.Name); !live {
			p.offered = append(p.offered, missing{d})
		}
	}
	return p, nil
}

// definition is the file of a tool.
type definition struct {
	Definition  *parley.ToolDefinition `json:"definition,omitempty"`
	Annotations parley.ToolAnnotations `json:"annotations"`
	Source      string                 `json:"source"`
}

// answer is the file of a tool's answer.
type answer struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result,omitempty"`
	Pieces    []piece         `json:"pieces,omitempty"`
	Error     *toolError      `json:"error,omitempty"`
}

type piece struct {
	Part parley.Part `json:"part"`
	Data []byte      `json:"data,omitempty"`
}

type toolError struct {
	Code    parley.Code `json:"code,omitempty"` // of Parley's own errors
	Message string      `json:"message"`
}

// missing is a recorded tool whose source is not there.
type missing struct{ recorded definition }

func (m missing) Definition() parley.ToolDefinition   { return *m.recorded.Definition }
func (m missing) Annotations() parley.ToolAnnotations { return m.recorded.Annotations }
func (m missing) Source() string                      { return m.recorded.Source }

// Call is never reached: Tools answers instead.
func (m missing) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, parley.Errorf(parley.CodeUnavailable, "%s runs nowhere here", m.recorded.Definition.Name)
}

// taped is a tool whose calls go through Tools.
type taped struct {
	tool.Tool
	of *Tools
}

func (t taped) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	name := t.Definition().Name
	if t.of.play {
		return t.of.answer(name, call.Arguments)
	}
	result, err := t.Tool.Call(ctx, call)
	if ctx.Err() != nil {
		return result, err
	}
	if broken := t.of.keep(name, call.Arguments, &result, err); broken != nil {
		return tool.Result{}, parley.WrapError(parley.CodeInternal, broken, "The tool's answer could not be recorded.")
	}
	return result, err
}

// For implements tool.Source.
func (t *Tools) For(workspaceID parley.ID) tool.Source { return own{t, t.source.For(workspaceID)} }

// own is what a workspace sees.
type own struct {
	tape   *Tools
	source tool.Source
}

// For implements tool.Source.
func (o own) For(workspaceID parley.ID) tool.Source { return o.tape.For(workspaceID) }

// Tool implements tool.Source.
func (o own) Tool(name string) (tool.Tool, bool) { return o.tape.find(o.source, name) }

// Tools implements tool.Source.
func (o own) Tools() []tool.Tool { return o.tape.list(o.source) }

// Expects implements tool.Source.
func (o own) Expects(name string) bool { return o.source.Expects(name) }

// Await implements tool.Source.
func (o own) Await(ctx context.Context) { o.source.Await(ctx) }

// Faults implements tool.Source.
func (o own) Faults() []tool.Fault { return o.source.Faults() }

// Tool implements tool.Source.
func (t *Tools) Tool(name string) (tool.Tool, bool) { return t.find(t.source, name) }

func (t *Tools) find(source tool.Source, name string) (tool.Tool, bool) {
	found, ok := source.Tool(name)
	if !ok {
		at := slices.IndexFunc(t.offered, func(o tool.Tool) bool { return o.Definition().Name == name })
		if at < 0 {
			return nil, false
		}
		found = t.offered[at]
	}
	t.define(found)
	return taped{found, t}, true
}

// Tools implements tool.Source.
func (t *Tools) Tools() []tool.Tool { return t.list(t.source) }

func (t *Tools) list(source tool.Source) []tool.Tool {
	all := slices.Concat(source.Tools(), t.offered)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Definition().Name < all[j].Definition().Name })
	for i := range all {
		t.define(all[i])
		all[i] = taped{all[i], t}
	}
	return all
}

// Expects implements tool.Source.
func (t *Tools) Expects(name string) bool { return t.source.Expects(name) }

// Await implements tool.Source.
func (t *Tools) Await(ctx context.Context) { t.source.Await(ctx) }

// Faults implements tool.Source.
func (t *Tools) Faults() []tool.Fault { return t.source.Faults() }

// define writes a tool's file when it is new or has changed. A failure shows when an answer cannot be written.
func (t *Tools) define(found tool.Tool) {
	if t.play {
		return
	}
	described := found.Definition()
	digest := tool.Digest(found)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[described.Name] == digest {
		return
	}
	if t.write(plain(described.Name)+".json", definition{&described, found.Annotations(), found.Source()}) == nil {
		t.known[described.Name] = digest
	}
}

// nameOf returns the file of the n-th answer to a call.
func (t *Tools) nameOf(name string, arguments json.RawMessage, n int) string {
	if canonical, err := parley.CanonicalJSON(arguments); err == nil {
		arguments = canonical
	}
	hash := parley.HashOf(t.options.steady(arguments))
	return fmt.Sprintf("%s-%x-%d.json", plain(name), hash[:keyBytes], n)
}

// keep writes the next answer to a call.
func (t *Tools) keep(name string, arguments json.RawMessage, result *tool.Result, failed error) error {
	said := answer{Tool: name, Arguments: arguments, Result: result.JSON}
	for i := range result.Pieces {
		said.Pieces = append(said.Pieces, piece{result.Pieces[i].Part, result.Pieces[i].Data})
	}
	if failed != nil {
		var known *parley.Error
		said.Result, said.Pieces, said.Error = nil, nil, &toolError{Message: failed.Error()}
		if errors.As(failed, &known) {
			said.Error = &toolError{Code: known.Code, Message: known.Message}
		}
	}
	first := t.nameOf(name, arguments, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.numbers[first]++
	return t.write(t.nameOf(name, arguments, t.numbers[first]), said)
}

// answer returns the next recorded answer to a call; later calls get the last.
func (t *Tools) answer(name string, arguments json.RawMessage) (tool.Result, error) {
	first := t.nameOf(name, arguments, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	var said answer
	n := t.numbers[first] + 1
	err := t.read(t.nameOf(name, arguments, n), &said)
	switch {
	case err == nil:
		t.numbers[first] = n
	case n > 1 && errors.Is(err, os.ErrNotExist):
		err = t.read(t.nameOf(name, arguments, n-1), &said)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return tool.Result{}, parley.Errorf(
			parley.CodeUnavailable,
			"Not run: there is no recording of this call. %s is missing in %s; record it with parley serve --record.",
			filepath.Join(toolsFolder, first),
			t.dir,
		)
	case err != nil:
		return tool.Result{}, parley.WrapError(parley.CodeUnavailable, err,
			"Not run: the recording "+filepath.Join(toolsFolder, first)+" cannot be read.")
	case said.Error != nil:
		return tool.Result{}, &parley.Error{
			Code: cmp.Or(said.Error.Code, parley.CodeUnavailable), Message: said.Error.Message,
		}
	}
	result := tool.Result{JSON: said.Result}
	for _, p := range said.Pieces {
		result.Pieces = append(result.Pieces, tool.Piece{Part: p.Part, Data: p.Data})
	}
	return result, nil
}

// write writes a file, whole or not at all.
func (t *Tools) write(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(t.dir, toolsFolder, name), append(t.options.redact(text), '\n'))
}

// maxAnswerFile bounds the recording of one answer: its files are in it, as text.
const maxAnswerFile = 64 << 20

// read reads a file.
func (t *Tools) read(name string, into any) error {
	path := filepath.Join(t.dir, toolsFolder, name)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxAnswerFile {
		return parley.Errorf(parley.CodeTooLarge, "%s has more than %d bytes", name, maxAnswerFile)
	}
	text, err := os.ReadFile(path) //nolint:gosec // a name made by this package, or found in its folder
	if err != nil {
		return err
	}
	return json.Unmarshal(bytes.TrimSpace(text), into)
}
