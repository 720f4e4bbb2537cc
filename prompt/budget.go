package prompt

import "parley"

// Budget is what the messages of a request may take. The zero Budget bounds
// nothing.
type Budget struct {
	Tokens int     // of the model, for messages alone; 0: no bound
	Ratio  float64 // of the model's tokens to the estimates that messages are stored with; 0: 1
}

// stored is the budget in the estimates that messages are stored with.
func (b Budget) stored() int {
	if b.Tokens <= 0 || b.Ratio <= 0 {
		return max(0, b.Tokens)
	}
	return max(1, int(float64(b.Tokens)/b.Ratio))
}

// excess is by how many of the model's tokens so many stored ones are too many.
func (b Budget) excess(stored int) int {
	if b.Ratio > 0 {
		stored = int(float64(stored) * b.Ratio)
	}
	return max(1, stored-b.Tokens)
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
		tokens = EstimateTokens(string(m.Content))
	}
	if m.ContextNote != "" {
		tokens += EstimateTokens(m.ContextNote)
	}
	return tokens + overheadTokens
}
