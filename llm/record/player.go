package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
)

// maxLine bounds a line of a recording: a request with its images.
const maxLine = 128 << 20

// Player answers requests from recordings and sends nothing.
type Player struct {
	wire    model.Model
	dir     string
	options Options

	mu    sync.Mutex // guards given
	given map[string]int
}

var _ model.Model = (*Player)(nil)

// Open answers from the recordings below a directory. wire encodes requests like the recorded model; any key will do.
// It returns CodeNotFound if the directory does not exist.
func Open(wire model.Model, dir string, options Options) (*Player, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, parley.Errorf(
			parley.CodeNotFound,
			"There are no recordings in %s. Make some with parley serve --record %s.",
			dir,
			dir,
		)
	}
	return &Player{wire: wire, dir: dir, options: options, given: map[string]int{}}, nil
}

// Encode implements model.Model.
func (p *Player) Encode(request model.Request) (model.EncodedRequest, error) {
	return p.wire.Encode(request)
}

// EncodeAs implements model.Model.
func (p *Player) EncodeAs(version int, request model.Request) (model.EncodedRequest, error) {
	return p.wire.EncodeAs(version, request)
}

// Warms implements model.Model.
func (p *Player) Warms(model parley.ModelID) (least int, why string) { return p.wire.Warms(model) }

// Stream implements model.Model: it plays the recorded answer immediately. A request that was never recorded is an
// error that names the missing file and the nearest one.
func (p *Player) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		file, err := p.next(encoded)
		if err != nil {
			yield(model.Chunk{}, model.NewError(parley.ClassModel, false, err.Error(), nil))
			return
		}
		defer file.Close() //nolint:errcheck // opened for reading
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxLine)
		lines.Scan() // skips the request
		for lines.Scan() {
			if ctx.Err() != nil {
				yield(model.Chunk{}, context.Cause(ctx))
				return
			}
			var l line
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				yield(
					model.Chunk{},
					model.NewError(parley.ClassModel, false, "the recording "+file.Name()+" cannot be read", err),
				)
				return
			}
			c, err := l.read()
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// read returns what a line was yielded from.
func (l *line) read() (model.Chunk, error) {
	if e := l.Error; e != nil {
		failed := model.NewError(e.Class, e.Retryable, e.Message, nil)
		failed.Status, failed.RetryAfter = e.Status, time.Duration(e.RetryAfterMS)*time.Millisecond
		return model.Chunk{}, failed
	}
	if l.Chunk == nil {
		return model.Chunk{}, model.NewError(
			parley.ClassModel,
			false,
			"a line of the recording is neither a chunk nor an error",
			nil,
		)
	}
	c := model.Chunk{
		Kind:   l.Chunk.Kind,
		Block:  l.Chunk.Block,
		Text:   l.Chunk.Text,
		CallID: l.Chunk.CallID,
		Name:   l.Chunk.Name,
		Data:   l.Chunk.Data,
		Finish: l.Chunk.Finish,
	}
	if l.Chunk.Usage != nil {
		c.Usage = *l.Chunk.Usage
	}
	return c, nil
}

// next opens the next recording for a request.
func (p *Player) next(encoded model.EncodedRequest) (*os.File, error) {
	first := p.options.nameOf(encoded, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.given[first] + 1
	file, err := os.Open(
		filepath.Join(p.dir, p.options.nameOf(encoded, n)),
	) //nolint:gosec // a name made by this package
	if err != nil && n > 1 {
		return os.Open(filepath.Join(p.dir, p.options.nameOf(encoded, n-1))) //nolint:gosec // as above
	}
	if err != nil {
		return nil, p.missing(encoded, first)
	}
	p.given[first] = n
	return file, nil
}

// shown is how much of two requests is shown where they differ, in bytes.
const shown = 60

// missing says which recording is missing, and which is nearest.
func (p *Player) missing(encoded model.EncodedRequest, name string) error {
	said := fmt.Sprintf("no recording of this request: %s is missing in %s", name, p.dir)
	nearest, at, was := "", -1, []byte(nil)
	is := p.options.steady(encoded.Body)
	root := filepath.Join(p.dir, folder(encoded.Model))
	_ = filepath.WalkDir(
		root,
		func(path string, entry fs.DirEntry, err error) error { // a missing folder has none
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".jsonl") {
				return nil //nolint:nilerr // an unreadable recording cannot be the nearest
			}
			recorded := requestOf(path)
			if recorded == nil {
				return nil
			}
			steady := p.options.steady(recorded)
			if same := sharedBytes(steady, is); same > at {
				nearest, at, was = path, same, steady
			}
			return nil
		},
	)
	if nearest == "" {
		return fmt.Errorf(
			"%s; there is none of the provider %s; record some with parley serve --record",
			said,
			encoded.Model.Provider(),
		)
	}
	if relative, err := filepath.Rel(p.dir, nearest); err == nil {
		nearest = relative
	}
	return fmt.Errorf(
		"%s; the nearest is %s, which differs from byte %d on: recorded %q, now %q; record it again with parley "+
			"serve --record",
		said,
		nearest,
		at,
		around(was, at),
		around(is, at),
	)
}

// requestOf returns the request of a recording, nil if it cannot be read.
func requestOf(path string) []byte {
	file, err := os.Open(path) //nolint:gosec // found below the recordings' directory
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // opened for reading
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	var h head
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil {
		return nil
	}
	return h.Request
}

func sharedBytes(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// around returns a little of a text, from before a byte on, in whole runes.
func around(text []byte, at int) string {
	from := max(0, at-shown/3)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	return string(bytes.ToValidUTF8(text[min(from, len(text)):min(len(text), at+shown)], nil))
}
