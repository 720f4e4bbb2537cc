package prompt

import (
	"cmp"
	"math"
	"strings"
	"sync"

	"example.org/parley"
)

// EstimateTokens is about how many tokens a text has; see parley.EstimateTokens.
func EstimateTokens(text string) int { return parley.EstimateTokens(text) }

// exactBytes is up to how long a text is counted whole by a model's own tokenizer,
// which takes a microsecond a token. Of longer ones a beginning and an end are, and
// the rest is taken to be like them.
const exactBytes = 8 << 10

// Estimate is how many tokens a text has for a model: counted where its tokenizer
// is at hand (GPT-4o and what came after it), else EstimateTokens. The tokenizer's
// tables are read at the first use, in a tenth of a second; they take 8 MB.
func Estimate(model parley.ModelID, text string) int {
	rough := parley.EstimateTokens(text)
	if !counts(model) || rough == 0 {
		return rough
	}
	if len(text) <= exactBytes {
		return count(text, rough)
	}
	from, to := strings.ToValidUTF8(text[:exactBytes/2], ""), strings.ToValidUTF8(text[len(text)-exactBytes/2:], "")
	sampled := parley.EstimateTokens(from) + parley.EstimateTokens(to)
	counted := count(from, parley.EstimateTokens(from)) + count(to, parley.EstimateTokens(to))
	return int(math.Round(float64(rough) * float64(counted) / float64(max(1, sampled))))
}

// o200kModels are the models with the tokenizer o200k, by the beginnings of their
// names. https://github.com/openai/tiktoken/blob/main/tiktoken/model.py
var o200kModels = [...]string{ //nolint:gochecknoglobals // never written
	"gpt-4o",
	"chatgpt-4o",
	"gpt-4.1",
	"gpt-4.5",
	"gpt-5",
	"gpt-6",
	"gpt-oss",
	"o1",
	"o3",
	"o4",
}

// counts reports that a model's tokenizer is at hand.
func counts(model parley.ModelID) bool {
	if model.Provider() == "sim" {
		return false
	}
	name := strings.ToLower(model.Name())
	name = name[strings.LastIndexByte(name, '/')+1:] // resold models: "openrouter/openai/gpt-4o"
	for _, prefix := range o200kModels {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// count counts a text; otherwise when the tables cannot be read.
func count(text string, otherwise int) int {
	n, err := countO200k(text)
	if err != nil {
		return otherwise
	}
	return n
}

// EstimateContent is how many tokens a message's content has for a model, without
// what the message takes beside it.
func EstimateContent(model parley.ModelID, role parley.Role, content []byte) int {
	if !counts(model) {
		return parley.EstimateContent(content)
	}
	m := parley.Message{Role: role, Content: content}
	switch role {
	case parley.RoleUser:
		c := decodeUser(&m)
		return max(1, cmp.Or(estimateParts(model, c.Parts), Estimate(model, c.Text)))
	case parley.RoleAssistant:
		c := decodeAssistant(&m)
		return max(1, cmp.Or(estimateParts(model, c.Parts), Estimate(model, c.Text)))
	case parley.RoleToolCall:
		c := decode[parley.ToolCallContent](&m)
		return max(1, Estimate(model, c.Name)+Estimate(model, string(c.Arguments)))
	case parley.RoleToolResult:
		return max(1, Estimate(model, resultText(decode[parley.ToolResultContent](&m))))
	}
	return max(1, Estimate(model, textOf(&m)))
}

// estimateParts is how many tokens parts have, files aside: EstimateFile.
func estimateParts(model parley.ModelID, parts []parley.Part) (n int) {
	for i := range parts {
		n += Estimate(model, parts[i].Plain())
	}
	return n
}

// What images take: an area of pixels per token, as Anthropic counts them, within
// the bounds that providers scale them to.
const (
	pixelsPerToken = 750
	leastImage     = 85
	mostImage      = 1600
)

func imageTokens(width, height int) int {
	return min(mostImage, max(leastImage, width*height/pixelsPerToken))
}

// EstimateFile is how many tokens a file of a message takes in a request.
func EstimateFile(file parley.File) int {
	switch {
	case file.IsImage():
		return imageTokens(file.Width, file.Height)
	case file.IsText() && Shows(file):
		return int(file.Size)/4 + len(file.Name)/4 + fileBorders
	}
	return fileBorders
}

// fileBorders is what a file takes beside its text, or instead of it.
const fileBorders = 20

// Ratios are what models make of the estimates: their providers' counts of input
// over ours, by model, from the latest calls. The zero Ratios know none. Safe for
// concurrent use.
type Ratios struct {
	mu      sync.Mutex // guards samples
	samples map[parley.ModelID]*ring
}

// ring holds the latest calls of a model.
type ring struct {
	estimated, reported [ratioSamples]float64
	next                int
}

const (
	ratioSamples = 8   // calls that count
	ratioModels  = 256 // models that are remembered; a full memory loses any one
	ratioMost    = 4.0 // beyond which something else than a tokenizer differs
)

// Observe notes a call: what was estimated of its input, and what the provider
// counted.
func (r *Ratios) Observe(model parley.ModelID, estimated, reported int64) {
	if estimated <= 0 || reported <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples == nil {
		r.samples = map[parley.ModelID]*ring{}
	}
	of := r.samples[model]
	if of == nil {
		for other := range r.samples {
			if len(r.samples) < ratioModels {
				break
			}
			delete(r.samples, other)
		}
		of = &ring{}
		r.samples[model] = of
	}
	at := of.next % ratioSamples
	of.estimated[at], of.reported[at] = float64(estimated), float64(reported)
	of.next++
}

// Of is by what an estimate is multiplied for a model: 1 before its first call.
// Long requests count for more than short ones, of which the borders are most.
func (r *Ratios) Of(model parley.ModelID) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.samples[model]
	if of == nil {
		return 1
	}
	var estimated, reported float64
	for i := range ratioSamples {
		estimated += of.estimated[i]
		reported += of.reported[i]
	}
	return min(ratioMost, max(1/ratioMost, reported/estimated))
}
