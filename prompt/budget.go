package prompt

import (
	"math"

	"example.org/parley"
	"example.org/parley/model"
)

// Budget is what the messages of a request may take. The zero Budget bounds
// nothing.
type Budget struct {
	Tokens int     // of the model, for messages alone; 0: no bound
	Most   int     // of them, what must be shown may take; 0: Tokens
	Ratio  float64 // of the model's tokens to the estimates that messages are stored with; 0: 1
}

const (
	// DefaultReserve is what is kept for an answer that neither max_tokens nor what
	// is known of the model bounds, in tokens.
	DefaultReserve = 4096
	// leastReserve is what an answer needs at least, unless max_tokens says less.
	leastReserve = 1024
)

// Reserve is what is kept for an answer of a model: max_tokens, else the longest
// that the model gives, else DefaultReserve; without max_tokens no more than half
// of what the model can read.
func Reserve(model model.Info, parameters parley.Parameters) int {
	switch {
	case parameters.MaxTokens != nil:
		return *parameters.MaxTokens
	case model.MaxOutput > 0:
		return min(model.MaxOutput, model.ContextLength/2)
	}
	return min(DefaultReserve, model.ContextLength/2)
}

// NewBudget is what a model's context leaves for messages beside the answer and
// fixed tokens (the system prompt, the tools, what is new with the step), as they
// are estimated. Nothing is bounded when the context's length is not known.
func NewBudget(model model.Info, parameters parley.Parameters, fixed int, ratio float64) Budget {
	if model.ContextLength <= 0 {
		return Budget{Ratio: ratio}
	}
	reserve := Reserve(model, parameters)
	least := reserve
	if parameters.MaxTokens == nil {
		least = min(reserve, leastReserve)
	}
	left := model.ContextLength - int(float64(fixed)*ratio)
	return Budget{Tokens: max(1, left-reserve), Most: max(1, left-least), Ratio: ratio}
}

// Scaled is an estimate in the model's own tokens.
func (b Budget) Scaled(estimate int) int {
	if b.Ratio <= 0 {
		return estimate
	}
	return int(math.Ceil(float64(estimate) * b.Ratio))
}

// stored is the budget in the estimates that messages are stored with.
func (b Budget) stored() int {
	if b.Tokens <= 0 || b.Ratio <= 0 {
		return max(0, b.Tokens)
	}
	return max(1, int(float64(b.Tokens)/b.Ratio))
}

// excess is by how many of the model's tokens so many stored ones are too many for
// what must be shown; 0 when they are not.
func (b Budget) excess(stored int) int {
	most := b.Most
	if most == 0 {
		most = b.Tokens
	}
	if most <= 0 {
		return 0
	}
	return max(0, b.Scaled(stored)-most)
}

// overheadTokens is what a message takes beside its content: its role and borders.
const overheadTokens = 4

// TokensOf is what a message takes in a request, in the estimates that messages
// are stored with; 0 for one that is never shown.
func TokensOf(m *parley.Message) int {
	if reasonOut(m) != "" || m.Marks.SetAside {
		return 0
	}
	tokens := m.TokenEstimate
	if tokens == 0 {
		tokens = parley.EstimateContent(m.Content)
	}
	if m.ContextNote != "" {
		tokens += EstimateTokens(m.ContextNote)
	}
	return tokens + overheadTokens
}
