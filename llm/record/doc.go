// Package record writes exchanges with a provider to files, and answers from these files later, so
// that agents can be tested without a network, a key or a bill. It does the same for tools: Tools
// wraps a tool.Source, and a played tool never runs.
//
// A Recorder is a model.Model that wraps another one: each completely answered request becomes a
// file, <provider>/<model>-<key>-<n>.jsonl below a directory; its first line is the request, each
// further line a chunk of the answer. A Player answers from such a directory; it needs a Model of
// the same wire format to encode requests, but never lets it send anything.
//
// The key is a hash of the request's bytes without the parts that differ between runs: Parley's ids
// are numbered in order of appearance, and the fields by which a provider routes to its cache are
// left out. The n-th request with a key gets the n-th answer, and later ones get the last.
//
// Credentials are sent in headers and are never in a request's bytes; Options.Secrets are removed
// from the files anyway.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// Options change how exchanges are written and found. Both sides need the same Ignore.
type Options struct {
	// Ignore are patterns for other text that differs between runs, such as a date in a prompt: their matches are
	// ignored.
	Ignore []*regexp.Regexp
	// Secrets are never written: recordings contain [redacted] in their place.
	Secrets []string
}

// redacted stands for a secret.
const redacted = "[redacted]"

// keyBytes of the hash are in a file's name.
const keyBytes = 8

// made are the ids that Parley makes: of rows, and of tool calls.
var made = regexp.MustCompile(`call_[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// routing are the members of requests that say where to look for a cache.
var routing = regexp.MustCompile(`,?"(prompt_cache_key|user|safety_identifier)":"[^"\\]*"`)

// steady is a request without what differs from run to run.
func (o *Options) steady(body []byte) []byte {
	body = routing.ReplaceAll(body, nil)
	numbers := map[string]int{}
	body = made.ReplaceAllFunc(body, func(id []byte) []byte {
		n, known := numbers[string(id)]
		if !known {
			n = len(numbers) + 1
			numbers[string(id)] = n
		}
		return fmt.Appendf(nil, "id-%d", n)
	})
	for _, pattern := range o.Ignore {
		body = pattern.ReplaceAll(body, []byte("*"))
	}
	return body
}

// nameOf is the file of the n-th exchange of a request, below the directory.
func (o *Options) nameOf(encoded model.EncodedRequest, n int) string {
	hash := parley.HashOf(o.steady(encoded.Body))
	return filepath.Join(
		folder(encoded.Model),
		fmt.Sprintf("%s-%x-%d.jsonl", plain(encoded.Model.Name()), hash[:keyBytes], n),
	)
}

func folder(model parley.ModelID) string { return plain(model.Provider()) }

// plain is a name that every file system takes.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, strings.TrimLeft(name, "."))
}

// head is the first line of a recording.
type head struct {
	Model   parley.ModelID  `json:"model"`
	Version int             `json:"encoder_version"`
	Request json.RawMessage `json:"request"`
}

// line is each other one: a chunk, or the error that ended the answer.
type line struct {
	Chunk *chunk   `json:"chunk,omitempty"`
	Error *failure `json:"error,omitempty"`
}

// chunk is a model.Chunk.
type chunk struct {
	Kind   model.ChunkKind     `json:"kind"`
	Block  int                 `json:"block,omitempty"`
	Text   string              `json:"text,omitempty"`
	CallID string              `json:"call_id,omitempty"`
	Name   string              `json:"name,omitempty"`
	Data   []byte              `json:"data,omitempty"`
	Usage  *parley.Usage       `json:"usage,omitempty"`
	Finish parley.FinishReason `json:"finish,omitempty"`
}

// failure is a model.Error.
type failure struct {
	Class        parley.ErrorClass `json:"class"`
	Retryable    bool              `json:"retryable"`
	Status       int               `json:"status"`
	RetryAfterMS int64             `json:"retry_after_ms"`
	Message      string            `json:"message"`
}

// redact takes secrets out of a line.
func (o *Options) redact(text []byte) []byte {
	for _, secret := range o.Secrets {
		if secret == "" {
			continue
		}
		text = bytes.ReplaceAll(text, []byte(secret), []byte(redacted))
		quoted := parley.AppendJSONString(nil, secret)
		text = bytes.ReplaceAll(text, quoted[1:len(quoted)-1], []byte(redacted))
	}
	return text
}
