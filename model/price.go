package model

import (
	"math"

	"example.org/parley"
)

// Price is in US dollars per million tokens.
type Price struct {
	Input       float64 `json:"input"`
	Output      float64 `json:"output"`
	CachedInput float64 `json:"cached_input"`
	// of input that the provider puts into its cache; null: unknown, and taken for Input
	CacheWrite *float64 `json:"cache_write"`
}

// Cost is the price of a call, nil when usage is unknown. CachedTokens are
// part of InputTokens.
func (p *Price) Cost(u parley.Usage) *parley.Money {
	if p == nil || u.InputTokens == nil || u.OutputTokens == nil {
		return nil
	}
	var cached, written int64
	if u.CachedTokens != nil {
		cached = min(*u.CachedTokens, *u.InputTokens)
	}
	if u.CacheWriteTokens != nil {
		written = min(*u.CacheWriteTokens, *u.InputTokens-cached)
	}
	return dollars(p.Input*float64(*u.InputTokens-cached-written) + p.CachedInput*float64(cached) +
		p.written()*float64(written) + p.Output*float64(*u.OutputTokens))
}

// Saved is what the provider's cache saved of the price of a call: what the tokens
// read from it would have cost more, less what those written to it did cost more.
// Below zero when more was written than read; nil when prices or counts are unknown.
func (p *Price) Saved(u parley.Usage) *parley.Money {
	if p == nil || u.InputTokens == nil || u.CachedTokens == nil {
		return nil
	}
	cached := min(*u.CachedTokens, *u.InputTokens)
	saved := (p.Input - p.CachedInput) * float64(cached)
	if u.CacheWriteTokens != nil {
		saved -= (p.written() - p.Input) * float64(min(*u.CacheWriteTokens, *u.InputTokens-cached))
	}
	return dollars(saved)
}

// Most is the highest price of a call with so many tokens, nil when prices are
// unknown.
func (p *Price) Most(input, output int64) *parley.Money {
	if p == nil {
		return nil
	}
	return dollars(max(p.Input, p.written())*float64(input) + p.Output*float64(output))
}

func (p *Price) written() float64 {
	if p.CacheWrite == nil {
		return p.Input
	}
	return *p.CacheWrite
}

// dollars makes money of dollars per million tokens, which are thousands of
// nanodollars per token.
func dollars(perMillion float64) *parley.Money {
	cost := parley.Money(math.Floor(1000*perMillion + 0.5))
	return &cost
}
