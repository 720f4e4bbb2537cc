package prompt

import (
	"encoding/json"
	"iter"
	"slices"

	"example.org/parley"
	"example.org/parley/model"
)

// A model without a format for objects is given a tool whose arguments are the answer. Its call is read as the answer's
// text, in turns and when a call is sent again.

// outputToolAbout tells the model what the tool is for, and a replay which tool it is.
const outputToolAbout = "Gives your final answer. Call it once, when you know the answer, instead of writing the " +
	"answer as text: its arguments are the answer."

// maxAnswerBlocks bounds how many further calls of the tool are left out of an answer.
const maxAnswerBlocks = 1024

// OutputTool returns the tool of a name whose arguments are the answer.
func OutputTool(name string, schema json.RawMessage) parley.ToolDefinition {
	return parley.ToolDefinition{Name: name, Description: outputToolAbout, Parameters: schema}
}

// OutputToolOf returns the name of the tool among those of a request whose arguments are the answer; "" if there is
// none.
func OutputToolOf(tools []parley.ToolDefinition) string {
	for i := range tools {
		if tools[i].Description == outputToolAbout {
			return tools[i].Name
		}
	}
	return ""
}

// AnswersByTool returns a filter that reads the call of a tool as the answer's text, before the next one; next itself
// for "".
func AnswersByTool(tool string, next model.AnswerFilter) model.AnswerFilter {
	if tool == "" {
		return next
	}
	return func(chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
		chunks = asText(tool, chunks)
		if next != nil {
			chunks = next(chunks)
		}
		return chunks
	}
}

// asText turns the first call of a tool into a text, and drops further ones.
func asText(tool string, chunks iter.Seq2[model.Chunk, error]) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		text, others := -1, false
		var dropped []int
		for chunk, err := range chunks {
			switch chunk.Kind {
			case model.ChunkToolCall:
				switch {
				case chunk.Name != tool:
					others = true
				case text < 0:
					text = chunk.Block
					continue
				case len(dropped) < maxAnswerBlocks:
					dropped = append(dropped, chunk.Block)
				}
			case model.ChunkArguments:
				if chunk.Block == text {
					chunk.Kind = model.ChunkText
				}
			case model.ChunkProviderData:
				if chunk.Block == text && text >= 0 {
					continue
				}
			case model.ChunkFinish:
				if text >= 0 && !others && chunk.Finish == parley.FinishToolCalls {
					chunk.Finish = parley.FinishStop
				}
			}
			if chunk.Kind != model.ChunkFinish && chunk.Kind != model.ChunkUsage &&
				slices.Contains(dropped, chunk.Block) {
				continue
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}
