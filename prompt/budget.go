package prompt

import (
	"math"

	"example.org/parley"
	"example.org/parley/model"
)

// Budget bounds the messages of a request. The zero Budget bounds nothing.
type Budget struct {
	Tokens int     // the model's tokens for messages; 0: no bound
	Most   int     // the part of them for what must be shown; 0: Tokens
	Ratio  float64 // the model's tokens divided by the stored estimates; 0: 1
}

const (
	// DefaultReserve is kept for an answer that neither max_tokens nor a known limit of the model bounds, in tokens.
	DefaultReserve = 4096
	// leastReserve is the least that an answer needs, unless max_tokens is smaller.
	leastReserve = 1024
)

// Reserve returns the tokens kept for a model's answer: max_tokens, else the model's longest answer, else
// DefaultReserve; without max_tokens no more than half of the model's context.
func Reserve(model model.Info, parameters parley.Parameters) int {
	switch {
	case parameters.MaxTokens != nil:
		return *parameters.MaxTokens
	case model.MaxOutput > 0:
		return min(model.MaxOutput, model.ContextLength/2)
	}
	return min(DefaultReserve, model.ContextLength/2)
}

// NewBudget returns what a model's context leaves for messages beside the answer and fixed estimated tokens (the system
// prompt, the tools, the step's new messages). Nothing is bounded if the context's length is unknown.
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

// Scaled returns an estimate in the model's own tokens.
func (b Budget) Scaled(estimate int) int {
	if b.Ratio <= 0 {
		return estimate
	}
	return int(math.Ceil(float64(estimate) * b.Ratio))
}

// stored returns the budget in the units of stored estimates.
func (b Budget) stored() int {
	if b.Tokens <= 0 || b.Ratio <= 0 {
		return max(0, b.Tokens)
	}
	return max(1, int(float64(b.Tokens)/b.Ratio))
}

// excess returns by how many of the model's tokens the given stored tokens exceed the room for what must be shown; 0 if
// they fit.
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

// overheadTokens is the size of a message beside its content: its role and borders.
const overheadTokens = 4

// TokensOf returns a message's size in a request, in stored estimates; 0 for one that is never shown.
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
