package sim

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"example.org/parley"
)

// Caching as large providers do it: from 1,024 tokens on, in steps of 128.
const (
	cacheLeast = 1024
	cacheStep  = 128
)

// cachedPrefixes bounds the remembered beginnings of requests; at the bound the older half is dropped.
const cachedPrefixes = 1 << 16

// promptCache remembers how requests began: at the end of their tools and system prompt, and of each message. It
// imitates a provider's prompt cache, with the same estimate of tokens as everything else here.
type promptCache struct {
	mu           sync.Mutex // guards what follows
	seed         maphash.Seed
	young, older map[uint64]struct{}
}

// read counts the tokens of a request, and those at its beginning that it shares with an earlier one; it then remembers
// the request.
func (c *promptCache) read(r *request) (total, cached int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young == nil {
		c.seed, c.young = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	text := func(text string) int {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		_, _ = hash.Write(size[:]) // neither fails
		_, _ = hash.WriteString(text)
		return len(text)
	}
	unbroken := true
	end := func() {
		key := hash.Sum64()
		if unbroken = unbroken && c.knows(key); unbroken {
			cached = total
		}
		c.keep(key)
	}
	text(r.Model)
	for _, t := range r.Tools {
		total += estimate(text(t.Name) + text(t.Description) + text(string(t.Parameters)))
	}
	total += estimate(text(r.System))
	end()
	for _, m := range r.Messages {
		total += messageTokens
		text(string(m.Role))
		for i := range m.Parts {
			p := &m.Parts[i]
			text(string(p.Kind))
			total += estimate(text(p.Text) + text(p.Arguments) + text(p.Name))
		}
		end()
	}
	if cached < cacheLeast {
		return total, 0
	}
	return total, cached - cached%cacheStep
}

func (c *promptCache) knows(key uint64) bool {
	if _, ok := c.young[key]; ok {
		return true
	}
	_, ok := c.older[key]
	return ok
}

func (c *promptCache) keep(key uint64) {
	if len(c.young) >= cachedPrefixes/2 {
		c.young, c.older = map[uint64]struct{}{}, c.young
	}
	c.young[key] = struct{}{}
}

// Warms implements model.Model.
func (*Model) Warms(parley.ModelID) (least int, why string) { return cacheLeast, "" }
