package worker

import (
	"encoding/binary"
	"hash/maphash"
	"sync"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/prompt"
)

// What is remembered of requests, to compare the next ones with.
const (
	maxPrefixes = 1024 // sessions; a full memory is cleared
	eachPrefix  = 512  // messages up to which each one's end is remembered
	fewPrefixes = 64   // beyond, one end in so many
)

// prefixes remembers how the latest requests of this process's sessions began, for metrics. Providers' caches hold
// what two successive requests share.
type prefixes struct {
	seed maphash.Seed

	mu     sync.Mutex // guards latest
	latest map[parley.ID][]beginning
}

// beginning is the part of a request up to the end of its tools and system prompt, or of a message.
type beginning struct {
	hash  uint64
	bytes int64
}

func newPrefixes() *prefixes {
	return &prefixes{seed: maphash.MakeSeed(), latest: map[parley.ID][]beginning{}}
}

// beginnings returns those of a request, shortest first, and its size.
func (p *prefixes) beginnings(request *model.Request) (all []beginning, size int64) {
	var hash maphash.Hash
	hash.SetSeed(p.seed)
	add := func(text string) {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		_, _ = hash.Write(length[:]) // neither fails
		_, _ = hash.WriteString(text)
		size += int64(len(text))
	}
	add(string(request.Model))
	for i := range request.Tools {
		add(request.Tools[i].Name)
		add(request.Tools[i].Description)
		add(string(request.Tools[i].Parameters))
	}
	add(request.System)
	all = append(make([]beginning, 0, min(len(request.Messages), eachPrefix)+1), beginning{hash.Sum64(), size})
	for n := range request.Messages {
		m := &request.Messages[n]
		add(string(m.Role))
		for i := range m.Parts {
			part := &m.Parts[i]
			add(string(part.Kind))
			add(part.Text)
			add(part.Name)
			_, _ = hash.Write(part.Arguments)
			_, _ = hash.Write(part.Data)
			size += int64(len(part.Arguments) + len(part.Data))
		}
		if n < eachPrefix || n%fewPrefixes == 0 {
			all = append(all, beginning{hash.Sum64(), size})
		}
	}
	return all, size
}

// compare returns the size of a session's request, and of the beginning that it shares with the one before it; 0, 0 if
// none is remembered. It then remembers this one.
func (p *prefixes) compare(sessionID parley.ID, all []beginning, size int64) (whole, repeated int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.latest[sessionID]
	if !known && len(p.latest) >= maxPrefixes {
		clear(p.latest)
	}
	p.latest[sessionID] = all
	if !known {
		return 0, 0
	}
	for i := range min(len(before), len(all)) {
		if before[i].hash != all[i].hash {
			break
		}
		repeated = all[i].bytes
	}
	return size, repeated
}

// dropping estimates the tokens that a window leaves out for length and the one before it showed.
func dropping(before parley.Context, selection *prompt.Selection) int64 {
	if selection.Dropped == 0 || selection.Anchor == before.Anchor && selection.Dropped == before.Dropped {
		return 0
	}
	return max(0, before.Tokens-int64(selection.Tokens))
}

// shows says what a question's first attempt shows of the session. It is called once, right before that is sent.
func (s *asking) shows(q *question) observe.Context {
	c := observe.Context{Agent: s.claim.Agent.Slug, Dropped: q.drops}
	if len(q.beginnings) > 0 {
		c.Bytes, c.Repeated = s.w.prefixes.compare(s.fence.SessionID, q.beginnings, q.size)
	}
	return c
}
