package model_test

import (
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// Unknown stays unknown; tokens written to the cache reduce what reads saved.
func TestSavedByTheCache(t *testing.T) {
	t.Parallel()
	count := func(n int64) *int64 { return &n }
	write := 2.5
	price := &model.Price{Input: 2, Output: 10, CachedInput: 0.5}
	writing := &model.Price{Input: 2, Output: 10, CachedInput: 0.5, CacheWrite: &write}
	for name, test := range map[string]struct {
		price *model.Price
		usage parley.Usage
		want  *parley.Money
	}{
		"unknown price":           {nil, parley.Usage{InputTokens: count(1), CachedTokens: count(1)}, nil},
		"unknown usage":           {price, parley.Usage{}, nil},
		"unknown what was cached": {price, parley.Usage{InputTokens: count(1000)}, nil},
		"nothing was cached":      {price, parley.Usage{InputTokens: count(1000), CachedTokens: count(0)}, money(0)},
		"read": {price, parley.Usage{InputTokens: count(1000), CachedTokens: count(400)},
			money(600_000)},
		"read and written": {writing,
			parley.Usage{InputTokens: count(1000), CachedTokens: count(400), CacheWriteTokens: count(200)},
			money(500_000)},
		"written, for later calls": {writing,
			parley.Usage{InputTokens: count(1000), CachedTokens: count(0), CacheWriteTokens: count(1)}, money(-500)},
		"more cached than sent": {price, parley.Usage{InputTokens: count(10), CachedTokens: count(99)},
			money(15_000)},
	} {
		got := test.price.Saved(test.usage)
		switch {
		case (got == nil) != (test.want == nil):
			t.Errorf("%s: saved is %v; want %v", name, got, test.want)
		case got != nil && *got != *test.want:
			t.Errorf("%s: saved is %s; want %s", name, got, test.want)
		}
	}
}

func TestCostOfACall(t *testing.T) {
	t.Parallel()
	count := func(n int64) *int64 { return &n }
	price := &model.Price{Input: 2, Output: 10, CachedInput: 0.5}
	for name, test := range map[string]struct {
		price *model.Price
		usage parley.Usage
		want  *parley.Money
	}{
		"unknown price":  {nil, parley.Usage{InputTokens: count(1), OutputTokens: count(1)}, nil},
		"unknown usage":  {price, parley.Usage{}, nil},
		"half the usage": {price, parley.Usage{InputTokens: count(1)}, nil},
		"plain": {price, parley.Usage{InputTokens: count(1000), OutputTokens: count(100)},
			money(3_000_000)},
		"cached is part of input": {price,
			parley.Usage{InputTokens: count(1000), OutputTokens: count(0), CachedTokens: count(400)}, money(1_400_000)},
		"more cached than sent": {price,
			parley.Usage{InputTokens: count(10), OutputTokens: count(0), CachedTokens: count(99)}, money(5_000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.price.Cost(test.usage)
			switch {
			case (got == nil) != (test.want == nil):
				t.Errorf("cost is %v; want %v", got, test.want)
			case got != nil && *got != *test.want:
				t.Errorf("cost is %s; want %s", got, test.want)
			}
		})
	}
}

func money(n parley.Money) *parley.Money { return &n }
