package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/tool"
)

// The prices of the simulated provider: what a token of input, one read from the cache, and one of output cost.
const (
	inputPrice  = 1.0
	cachedPrice = 0.1
	outputPrice = 5.0
	wordBytes   = 5 // of a token
)

// provider is a model whose every turn calls a tool once and then answers. It counts what it is sent, and how much of
// it begins like an earlier request, as a provider's cache does.
type provider struct {
	*scripted
	answer, summary string

	counting sync.Mutex // guards what follows
	latest   [][]byte   // the latest requests, as far as a later one can repeat them
	same     int        // bytes that repeat the beginning of the conversation's previous request
	sent     int        // bytes of the conversation's requests
	cost     float64
	sums     int // requests for summaries
	stubs    int // requests with results as stubs
}

// cacheHolds is how many requests the provider's cache remembers.
const cacheHolds = 4

func (p *provider) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	_, info, err := p.scripted.Resolve(id)
	return p, info, err
}

func (p *provider) Stream(_ context.Context, encoded model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	var request model.Request
	if err := json.Unmarshal(encoded.Body, &request); err != nil {
		return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, err) }
	}
	last := request.Messages[len(request.Messages)-1].Role
	said := p.answer
	if request.Purpose == parley.PurposeCompaction {
		said = p.summary
	}
	answer := chunks(text(0, said), done(parley.FinishStop))
	if last == model.RoleUser && request.Purpose != parley.PurposeCompaction {
		said = `{"q":"the same question again"}`
		answer = calls(parley.FinishToolCalls, "look", said)
	}
	usage := model.Chunk{Kind: model.ChunkUsage, Usage: p.count(request, len(said))}
	return func(yield func(model.Chunk, error) bool) {
		if yield(usage, nil) {
			answer(context.Background(), yield)
		}
	}
}

// count counts a request and the bytes of its answer.
func (p *provider) count(request model.Request, output int) parley.Usage {
	var now []byte
	for _, part := range []any{request.System, request.Tools, request.Messages} {
		encoded, err := json.Marshal(part)
		if err != nil {
			panic(err)
		}
		now = append(now, encoded...)
	}
	stubbed := bytes.Contains(now, []byte("[This result, of "))
	now = bytes.TrimRight(now, "]}") // its end may grow
	p.counting.Lock()
	defer p.counting.Unlock()
	cached := 0
	for _, earlier := range p.latest {
		cached = max(cached, shared(earlier, now))
	}
	if stubbed {
		p.stubs++
	}
	if n := len(p.latest); request.Purpose == parley.PurposeCompaction {
		p.sums++
	} else if p.sent += len(now); n > 0 {
		p.same += shared(p.latest[n-1], now)
	}
	p.cost += (inputPrice*float64(len(now)-cached) + cachedPrice*float64(cached) + outputPrice*float64(output)) /
		wordBytes
	p.latest = append(p.latest, now)
	p.latest = p.latest[max(0, len(p.latest)-cacheHolds):]
	return parley.Usage{InputTokens: new(int64(len(now) / wordBytes)), OutputTokens: new(int64(output / wordBytes))}
}

func shared(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// words returns a text of so many tokens.
func words(tokens int) string {
	return strings.TrimSpace(strings.Repeat("two words ", tokens/2))
}

// pressed runs turns of 2,500 tokens with a tool under a policy, in a window of 20,000, and returns what their provider
// counted. Each summary is there before the next turn begins.
func pressed(t *testing.T, policy parley.Policy, turns int) *provider {
	t.Helper()
	r := newRig(t)
	r.model.reads = 20_000
	const asked, result = 100, 1500
	p := &provider{scripted: r.model, answer: words(2500 - 50 - asked - result), summary: words(900)}
	r.models = p
	r.tools = fakeTools{{"look", readOnly(), func(context.Context, tool.Call) (json.RawMessage, error) {
		return parley.AppendJSONString(nil, words(result)), nil
	}}}
	r.start(nil)
	settings := tooled("look")
	settings.Policy, settings.MaxTokens = &policy, new(2000)
	sessionID := r.session(settings, nil)
	for n := range turns {
		r.completes(sessionID, fmt.Sprintf("question %d: %s", n, words(asked)))
		r.idleSlots(r.worker)
		r.worker.compactor.requests.Wait()
		if r.compaction(sessionID).State != parley.CompactionNone {
			r.await(sessionID, "the summary's end", func(parley.Event) bool {
				return r.compaction(sessionID).State.Finished()
			})
		}
	}
	if n := r.accounted(sessionID); n > 0 {
		t.Errorf("%s: %d messages were dropped", policy, n)
	}
	return p
}

// A conversation that fills its window many times over repeats most of each request and costs three quarters at most of
// what it cost when summaries of every second turn were written: turns of 2,500 tokens with a tool, in a window of
// 20,000, of which the answer has 2,000, and summaries of 900.
func TestPrefixesLiveAtTokenPressure(t *testing.T) {
	t.Parallel()
	const (
		leastShare = 0.55
		// earlierCost is what the same turns cost by the default before policy auto, summary(50), at these prices.
		earlierCost = 1_011_419
		mostCost    = 0.75 * earlierCost
	)
	p := pressed(t, parley.Policy{Kind: parley.PolicyAuto}, 60)
	share := float64(p.same) / float64(p.sent)
	t.Logf("unchanged prefix %.1f %%, cost %.2f of the earlier default's, %d summaries, %d requests with stubs",
		100*share, p.cost/earlierCost, p.sums, p.stubs)
	if share < leastShare || p.cost > mostCost || p.stubs == 0 || p.sums == 0 {
		t.Errorf("the unchanged prefix is %.3f, the cost %.0f; stubs are in %d requests, %d are for summaries",
			share, p.cost, p.stubs, p.sums)
	}
}

// A window that is still more than half full with its stubs has a summary begun as soon as the provider's cache has
// lapsed, and no earlier than at 80 % otherwise.
func TestASummaryIsDueEarlyOnceTheCacheHasLapsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tokens int
		lapsed bool
		due    parley.CompactionReason
	}{
		{5500, true, parley.CompactTokens},
		{5500, false, ""},
		{4500, true, ""},
		{8500, false, parley.CompactTokens},
	} {
		s := &shortening{claimed: &claimed{}}
		s.settings.Policy = parley.Policy{Kind: parley.PolicyAuto}
		s.look(&prompt.Selection{Tokens: c.tokens, Lapsed: c.lapsed}, prompt.Budget{Tokens: 10_000, Ratio: 1}, 0)
		if s.latest.due != c.due {
			t.Errorf(
				"at %d tokens, lapsed %t, a summary is due for %q; want %q",
				c.tokens,
				c.lapsed,
				s.latest.due,
				c.due,
			)
		}
	}
}
