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
	// of input that the provider writes to its cache; null: unknown, and assumed equal to Input
	CacheWrite *float64 `json:"cache_write"`
	// of input that it writes there for an hour; null: as CacheWrite
	CacheWriteHour *float64 `json:"cache_write_hour"`
}

// Keeping returns the price of calls whose input the provider caches for a time.
func (p *Price) Keeping(ttl parley.CacheTTL) *Price {
	if p == nil || ttl != parley.CacheHour || p.CacheWriteHour == nil {
		return p
	}
	kept := *p
	kept.CacheWrite = p.CacheWriteHour
	return &kept
}

// Cost returns the price of a call, nil if usage is unknown. CachedTokens are part of InputTokens.
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

// Saved returns how much the provider's cache reduced the price of a call: the saving on tokens read from it, minus the
// extra cost of tokens written to it. It is negative if writes cost more than reads saved, and nil if prices or counts
// are unknown.
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

// Most returns the highest price of a call with the given tokens, nil if prices are unknown.
func (p *Price) Most(input, output int64) *parley.Money {
	if p == nil {
		return nil
	}
	return dollars(max(p.Input, p.written())*float64(input) + p.Output*float64(output))
}

// Expected returns what a call with so many tokens of input is expected to use, at prices without a cache.
func (p *Price) Expected(input int64) parley.Expected {
	expected := parley.Expected{InputTokens: max(1, input)}
	if p != nil {
		expected.InputCost, expected.OutputPrice = dollars(p.Input*float64(input)), dollars(p.Output*million)
	}
	return expected
}

// million is the number of tokens that a price is for.
const million = 1_000_000

func (p *Price) written() float64 {
	if p.CacheWrite == nil {
		return p.Input
	}
	return *p.CacheWrite
}

// dollars converts dollars per million tokens to money; they are thousands of nanodollars per token.
func dollars(perMillion float64) *parley.Money {
	cost := parley.Money(math.Floor(1000*perMillion + 0.5))
	return &cost
}
