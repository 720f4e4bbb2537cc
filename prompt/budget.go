package prompt

import (
	"math"

	"example.org/parley"
	"example.org/parley/model"
)

// Budget divides a model's context: it says how many tokens a request's messages may have, and at which sizes the
// window is shortened. Every line comes from here, so that no combination of settings puts one behind the next:
// Keep ≤ Rest ≤ Half ≤ Due ≤ Wait ≤ Tokens ≤ Most and Keep ≤ Cut ≤ Tokens. The zero Budget bounds nothing.
type Budget struct {
	Tokens int     // the model's tokens for messages; 0: no bound
	Most   int     // the part of them for what must be shown; 0: Tokens
	Ratio  float64 // the model's tokens divided by the stored estimates; 0: 1
	// Ceiling is the size at which the policy has the window shortened even if the model could read more; 0: none.
	Ceiling int
	// Assumed says that the model's length is unknown and UnknownContext stands in for it.
	Assumed bool
}

const (
	// UnknownContext is the context length of a model whose own is unknown, in tokens.
	UnknownContext = 32_000
	// DefaultReserve is kept for an answer that neither max_tokens nor a known limit of the model bounds, in tokens.
	DefaultReserve = 4096
	// leastReserve is the least that an answer needs, unless max_tokens is smaller.
	leastReserve = 1024
)

// The lines of a window, as percentages of the tokens that it may have.
const (
	dueShare  = 80 // stubs or a summary are due
	waitShare = 95 // a request waits for the summary
	cutShare  = 66 // what a window keeps that had to drop messages
	halfShare = 50 // stubs that leave no more suffice; more is shortened if the provider's cache has lapsed
	restShare = 40 // a window that takes no more without stubs gets its results back
	keepShare = 25 // what a summary leaves in full
	wholeMost = 50 // what one turn that stays in full may have
	ownShare  = 40 // a window at the line of summaries has its running turn shortened if the turn has more than this
	stubShare = 60 // what stubs of the running turn must leave at most so that no steps are summed up or dropped
)

// contextOf returns a model's context length, UnknownContext if it is not known.
func contextOf(model model.Info) int {
	if model.ContextLength <= 0 {
		return UnknownContext
	}
	return model.ContextLength
}

// Reserve returns the tokens kept for a model's answer: max_tokens, else the model's longest answer, else
// DefaultReserve. It is at most half of the context, unless max_tokens asks for more of a known one.
func Reserve(model model.Info, parameters parley.Parameters) int {
	half := contextOf(model) / 2
	switch {
	case parameters.MaxTokens != nil && model.ContextLength > 0:
		return *parameters.MaxTokens
	case parameters.MaxTokens != nil:
		return min(*parameters.MaxTokens, half)
	case model.MaxOutput > 0:
		return min(model.MaxOutput, half)
	}
	return min(DefaultReserve, half)
}

// NewBudget divides what a model's context leaves for messages beside the answer and fixed estimated tokens (the system
// prompt, the tools, the step's new messages). What must be shown has no bound if the context's length is unknown: then
// the provider decides.
func NewBudget(model model.Info, parameters parley.Parameters, policy parley.Policy, fixed int, ratio float64) Budget {
	reserve := Reserve(model, parameters)
	least := reserve
	if parameters.MaxTokens == nil {
		least = min(reserve, leastReserve)
	}
	b := Budget{Ratio: ratio, Ceiling: policy.TokenLimit(), Assumed: model.ContextLength <= 0}
	left := contextOf(model) - b.Scaled(fixed)
	b.Tokens, b.Most = max(1, left-reserve), max(1, left-least)
	if b.Assumed {
		b.Most = math.MaxInt
	}
	return b
}

// Due is the size from which on a summary is due; 0: at none.
func (b Budget) Due() int {
	switch due := shareOf(b.Tokens, dueShare); {
	case b.Ceiling == 0:
		return due
	case due == 0:
		return b.Ceiling
	default:
		return min(b.Ceiling, due)
	}
}

// Wait is the size beyond which a request waits for a summary; 0: at none.
func (b Budget) Wait() int { return shareOf(b.Tokens, waitShare) }

// Cut is the size to which a window that has outgrown its tokens is cut; 0: none.
func (b Budget) Cut() int { return shareOf(b.Tokens, cutShare) }

// Half is the size to which stubs of older results must bring a window so that no summary is due, and from which on
// stubs and a summary are due once the provider's cache has lapsed; 0: none.
func (b Budget) Half() int { return b.ofDue(halfShare) }

// Rest is the size up to which a window shows its old results again; 0: none.
func (b Budget) Rest() int { return b.ofDue(restShare) }

// Keep is the size of the newest turns that a summary leaves in full; 0: any.
func (b Budget) Keep() int { return b.ofDue(keepShare) }

// unasked returns the lines of the model's own length, without the policy's.
func (b Budget) unasked() Budget {
	b.Ceiling = 0
	return b
}

// ofDue returns a share of the window as part of the size at which a summary is due: a policy's own limit lowers both.
func (b Budget) ofDue(share int) int {
	if due := b.Due(); due > 0 {
		return max(1, int(int64(due)*int64(share)/dueShare))
	}
	return 0
}

// whole is the size up to which a single turn stays in full, whatever Keep says; 0: any.
func (b Budget) whole() int { return shareOf(b.Tokens, wholeMost) }

// shareOf returns so many percent of a number of tokens, at least one of any.
func shareOf(tokens, percent int) int {
	if tokens <= 0 {
		return 0
	}
	return max(1, int(int64(tokens)*int64(percent)/100))
}

// Scaled returns an estimate in the model's own tokens.
func (b Budget) Scaled(estimate int) int {
	if b.Ratio <= 0 {
		return estimate
	}
	return int(math.Ceil(float64(estimate) * b.Ratio))
}

// stored returns a number of the model's tokens in the units of stored estimates; 0 stays 0.
func (b Budget) stored(tokens int) int {
	if tokens <= 0 || b.Ratio <= 0 {
		return max(0, tokens)
	}
	return max(1, int(float64(tokens)/b.Ratio))
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
