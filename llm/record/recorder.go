package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"example.org/parley"
	"example.org/parley/model"
)

// Recorder is a model whose exchanges are written to files.
type Recorder struct {
	model.Model
	dir     string
	options Options

	mu    sync.Mutex // guards taken
	taken map[string]int
}

var _ model.Model = (*Recorder)(nil)

// New records a model's exchanges below a directory, which it creates. It replaces an earlier Recorder's files for the
// same requests.
func New(model model.Model, dir string, options Options) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, parley.WrapError(parley.CodeInvalid, err, "record: the directory of the recordings cannot be made")
	}
	return &Recorder{Model: model, dir: dir, options: options, taken: map[string]int{}}, nil
}

// Stream implements model.Model: it yields what the model yields, and writes a file at the end. An answer not read to
// its end leaves no file. A file that cannot be written is an error of the exchange: an incomplete recording is
// useless.
func (r *Recorder) Stream(ctx context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		var text bytes.Buffer
		r.write(&text, head{Model: encoded.Model, Version: encoded.Version, Request: encoded.Body})
		for c, err := range r.Model.Stream(ctx, encoded) {
			var failed *model.Error
			switch {
			case errors.As(err, &failed):
				r.write(
					&text,
					line{Error: &failure{Class: failed.Class, Retryable: failed.Retryable, Status: failed.Status,
						RetryAfterMS: failed.RetryAfter.Milliseconds(), Message: failed.Message}},
				)
			case err != nil: // cancelled
				yield(c, err)
				return
			default:
				r.write(&text, line{Chunk: written(&c)})
			}
			if err != nil || c.Kind == model.ChunkFinish {
				if broken := r.save(encoded, text.Bytes()); broken != nil {
					yield(
						model.Chunk{},
						model.NewError(parley.ClassInternal, false, "the exchange could not be recorded", broken),
					)
					return
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// write appends a line.
func (r *Recorder) write(to *bytes.Buffer, value any) {
	encoded, err := json.Marshal(value)
	if err != nil { // the request's body is not JSON: keep its text
		encoded, _ = json.Marshal(head{Request: parley.AppendJSONString(nil, err.Error())})
	}
	to.Write(append(r.options.redact(encoded), '\n'))
}

func written(c *model.Chunk) *chunk {
	out := &chunk{
		Kind:   c.Kind,
		Block:  c.Block,
		Text:   c.Text,
		CallID: c.CallID,
		Name:   c.Name,
		Data:   c.Data,
		Finish: c.Finish,
	}
	if c.Kind == model.ChunkUsage {
		out.Usage = &c.Usage
	}
	return out
}

// save writes the next file of a request, whole or not at all.
func (r *Recorder) save(encoded model.EncodedRequest, text []byte) error {
	first := r.options.nameOf(encoded, 1)
	r.mu.Lock()
	r.taken[first]++
	n := r.taken[first]
	r.mu.Unlock()
	return writeFile(filepath.Join(r.dir, r.options.nameOf(encoded, n)), text)
}

// writeFile writes a file, whole or not at all.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "writing-*")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
