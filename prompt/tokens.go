package prompt

import (
	"cmp"
	"math"
	"strings"
	"sync"

	"example.org/parley"
)

// EstimateTokens estimates how many tokens a text has; see parley.EstimateTokens.
func EstimateTokens(text string) int { return parley.EstimateTokens(text) }

// exactBytes is the length up to which a model's own tokenizer counts a whole text, at a microsecond a token. Of a
// longer text only a beginning and an end are counted, and the rest is assumed to be alike.
const exactBytes = 8 << 10

// Estimate returns how many tokens a text has for a model: counted if its tokenizer is available (GPT-4o and later),
// else EstimateTokens. The tokenizer's tables are read at first use, in a tenth of a second; they take 8 MB.
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

// o200kModels are the models with the tokenizer o200k, by the beginnings of their names.
// https://github.com/openai/tiktoken/blob/main/tiktoken/model.py
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

// counts reports whether a model's tokenizer is available.
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

// count counts a text; it returns otherwise if the tables cannot be read.
func count(text string, otherwise int) int {
	n, err := countO200k(text)
	if err != nil {
		return otherwise
	}
	return n
}

// EstimateContent returns how many tokens a message's content has for a model, without the message's overhead.
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

// estimateParts returns how many tokens parts have, without files (EstimateFile).
func estimateParts(model parley.ModelID, parts []parley.Part) (n int) {
	for i := range parts {
		n += Estimate(model, parts[i].Plain())
	}
	return n
}

// The size of images: an area of pixels per token, as Anthropic counts them, within the bounds to which providers scale
// them.
const (
	pixelsPerToken = 750
	leastImage     = 85
	mostImage      = 1600
)

func imageTokens(width, height int) int {
	return min(mostImage, max(leastImage, width*height/pixelsPerToken))
}

// EstimateFile returns how many tokens a message's file takes in a request.
func EstimateFile(file parley.File) int {
	switch {
	case file.IsImage():
		return imageTokens(file.Width, file.Height)
	case file.IsText() && Shows(file):
		return int(file.Size)/4 + len(file.Name)/4 + fileBorders
	}
	return fileBorders
}

// fileBorders is what a file takes beside or instead of its text.
const fileBorders = 20

// Ratios relate the estimates to what models count: their providers' counts of input divided by ours, by workspace and
// model, from the latest calls. A workspace learns from its own calls alone: others may send texts that a model counts
// at a multiple, and its windows would be shortened for them. The zero value knows none. Safe for concurrent use.
type Ratios struct {
	mu      sync.Mutex // guards samples
	samples map[counted]*ring
}

// counted is a model as one workspace uses it.
type counted struct {
	workspaceID parley.ID
	model       parley.ModelID
}

// ring holds the latest calls of a workspace to a model.
type ring struct {
	estimated, reported [ratioSamples]float64
	next                int
}

const (
	ratioSamples = 8    // calls that count
	ratioModels  = 4096 // models of workspaces remembered; a full memory drops any one
	ratioMost    = 4.0  // a larger ratio is not due to the tokenizer
	ratioKnown   = 4    // calls after which the estimates are calibrated
	readShare    = 0.8  // of a request that a provider reads in whole, it counts at least so much
)

// Observe records a call: the estimate of its input, and the provider's count.
func (r *Ratios) Observe(workspaceID parley.ID, model parley.ModelID, estimated, reported int64) {
	if estimated <= 0 || reported <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples == nil {
		r.samples = map[counted]*ring{}
	}
	of := r.samples[counted{workspaceID, model}]
	if of == nil {
		for other := range r.samples {
			if len(r.samples) < ratioModels {
				break
			}
			delete(r.samples, other)
		}
		of = &ring{}
		r.samples[counted{workspaceID, model}] = of
	}
	at := of.next % ratioSamples
	of.estimated[at], of.reported[at] = float64(estimated), float64(reported)
	of.next++
}

// Truncated reports whether a provider's count of a request is so far below the estimate that the provider has left
// some of it out, and what was sent by the calibrated estimate, in the model's own tokens. It knows only once enough
// calls have calibrated the estimate, and only of a request longer than those: a provider that reads less than it is
// sent does so from some length on. Do not Observe such a call.
func (r *Ratios) Truncated(
	workspaceID parley.ID,
	model parley.ModelID,
	estimated, read int64,
) (sent int64, truncated bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.samples[counted{workspaceID, model}]
	if of == nil || of.next < ratioKnown || estimated <= 0 || read <= 0 {
		return 0, false
	}
	least, longest := 1.0, 0.0 // what short requests count above 1 may be overhead, which long ones have once
	var estimates, reports float64
	for i := range min(of.next, ratioSamples) {
		estimates, reports = estimates+of.estimated[i], reports+of.reported[i]
		least, longest = min(least, of.reported[i]/of.estimated[i]), max(longest, of.estimated[i])
	}
	sent = int64(float64(estimated) * reports / estimates)
	few := float64(read) < readShare*float64(sent) && float64(read) < readShare*float64(estimated)*least
	return sent, few && float64(estimated) > longest
}

// Of returns the factor for a model's estimates: 1 before its first call. Long requests count for more than short ones,
// which consist mostly of overhead.
func (r *Ratios) Of(workspaceID parley.ID, model parley.ModelID) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.samples[counted{workspaceID, model}]
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
