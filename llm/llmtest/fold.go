// Package llmtest is the suite that every model.Model passes: recorded wire streams of both formats, including each
// failure of a provider's stream, what each must fold to, the table of HTTP errors, and the rules of the port itself.
//
// The recordings are in testdata: one .sse file of bytes per stream, next to it a .json file with the expected fold,
// which is authoritative. `go test -update` rewrites the folds; a changed fold is reviewed like code.
package llmtest

import (
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/model"
)

// Block is one folded block of an answer.
type Block struct {
	Kind   string `json:"kind"` // text, reasoning, refusal or tool_call
	Text   string `json:"text"` // for a call: its arguments
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	Data   string `json:"provider_data,omitempty"`

	Citations []parley.Citation `json:"citations,omitempty"` // places in characters
}

// Failure is how an answer failed.
type Failure struct {
	Class     parley.ErrorClass `json:"class"`
	Retryable bool              `json:"retryable"`
	Message   string            `json:"message"`
}

// Fold is a whole answer with its chunks joined.
type Fold struct {
	Blocks []Block             `json:"blocks"`
	Usage  parley.Usage        `json:"usage"`
	Finish parley.FinishReason `json:"finish,omitempty"`
	Error  *Failure            `json:"error,omitempty"`
}

// opens returns the kind of block that a chunk can open, "" for none.
func opens(kind model.ChunkKind) string {
	switch kind {
	case model.ChunkText:
		return "text"
	case model.ChunkReasoning:
		return "reasoning"
	case model.ChunkRefusal:
		return "refusal"
	case model.ChunkToolCall:
		return "tool_call"
	default:
		return ""
	}
}

// Collect folds an answer. err reports a broken rule of model.Model: order, numbering of blocks, UTF-8, the end.
func Collect(answer iter.Seq2[model.Chunk, error]) (fold Fold, err error) {
	fold.Blocks = []Block{}
	over := false
	for chunk, failed := range answer {
		if over {
			return fold, errors.New("something follows the end")
		}
		if failed != nil {
			over = true
			var known *model.Error
			if !errors.As(failed, &known) {
				return fold, fmt.Errorf("not a ModelError: %w", failed)
			}
			fold.Error = &Failure{Class: known.Class, Retryable: known.Retryable, Message: known.Message}
			continue
		}
		if over, err = fold.add(chunk); err != nil {
			return fold, err
		}
	}
	if !over {
		return fold, errors.New("the answer ended with neither ChunkFinish nor an error")
	}
	return fold, nil
}

func (f *Fold) add(c model.Chunk) (over bool, err error) {
	if !utf8.ValidString(c.Text) {
		return false, fmt.Errorf("text %q is not UTF-8", c.Text)
	}
	switch c.Kind {
	case model.ChunkUsage:
		f.Usage = c.Usage
		return false, nil
	case model.ChunkFinish:
		f.Finish = c.Finish
		if c.Finish == "" {
			return true, errors.New("ChunkFinish without a reason")
		}
		return true, nil
	}
	kind := opens(c.Kind)
	if c.Block == len(f.Blocks) && kind != "" {
		f.Blocks = append(f.Blocks, Block{Kind: kind, Text: c.Text, CallID: c.CallID, Name: c.Name})
		return false, nil
	}
	if c.Block < 0 || c.Block >= len(f.Blocks) {
		return false, fmt.Errorf("chunk of kind %d names block %d of %d", c.Kind, c.Block, len(f.Blocks))
	}
	block := &f.Blocks[c.Block]
	switch {
	case c.Kind == model.ChunkProviderData:
		block.Data = string(c.Data)
	case c.Kind == model.ChunkCitation && block.Kind == "text":
		return false, block.cite(c.Citation)
	case c.Kind == model.ChunkArguments && block.Kind == "tool_call",
		kind == block.Kind && c.Kind != model.ChunkToolCall:
		block.Text += c.Text
	default:
		return false, fmt.Errorf("chunk of kind %d for the %s block %d", c.Kind, block.Kind, c.Block)
	}
	return false, nil
}

// cite adds a citation, which lies in the text so far.
func (b *Block) cite(c *parley.Citation) error {
	if c == nil || c.Start < 0 || c.End < c.Start || c.End > utf8.RuneCountInString(b.Text) {
		return fmt.Errorf("citation %+v of %q", c, b.Text)
	}
	b.Citations = append(b.Citations, *c)
	return nil
}
