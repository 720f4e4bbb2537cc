package parley

// Expected is what a call is expected to use, noted before it is sent. If its provider never says what the call used,
// its estimate follows from this and from the output that had streamed.
type Expected struct {
	InputTokens int64  `json:"input_tokens"`
	InputCost   *Money `json:"input_cost"`   // nil: the price is unknown
	OutputPrice *Money `json:"output_price"` // of a million tokens
}

// IsZero reports whether nothing is expected: no estimate is made then.
func (e Expected) IsZero() bool { return e.InputTokens == 0 }

// Cost returns the price of the expected input and of output tokens; nil if it is unknown.
func (e Expected) Cost(output int64) *Money {
	if e.InputCost == nil || e.OutputPrice == nil {
		return nil
	}
	cost := *e.InputCost + Money(float64(*e.OutputPrice)*float64(output)/million+0.5)
	return &cost
}

// million is the number of tokens that prices are for.
const million = 1_000_000

// CallEstimate is what a call has probably used, where its provider did not say: the tokens of its request, and of the
// output that had streamed.
type CallEstimate struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}
