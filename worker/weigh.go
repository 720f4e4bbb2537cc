package worker

import (
	"fmt"
	"slices"
	"sync"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// requestBorders is a request's size in tokens beside its messages, system prompt and tools.
const requestBorders = 3

// weigh estimates what every request of the turn holds beside messages, the system prompt and the tools, and what it
// would hold with all tools that it may come to offer by itself. Bounds are computed from the latter, so that they stay
// the same once these are offered.
func (r *requests) weigh() (holds, room int) {
	if r.fixed == 0 {
		r.fixed = requestBorders + r.w.weights.of(
			r.settings.Model,
			r.settings.System,
		) + r.w.weights.of(
			r.settings.Model,
			string(r.tools.bare.Text()),
		)
		for few := range r.recalling {
			for _, d := range r.tools.offerable(few) {
				r.recalling[few] += r.w.weights.of(r.settings.Model, d.Description+string(d.Parameters))
			}
		}
	}
	return r.fixed + r.recalling[r.tools.offers], r.fixed + r.recalling[max(r.tools.offers, r.tools.mayOffer())]
}

// unweigh has the request weighed anew.
func (r *requests) unweigh() {
	r.fixed = 0
	clear(r.recalling[:])
}

// tooLong returns the failure of a turn that does not fit into the model's context, whatever is left out.
func (r *requests) tooLong(budget prompt.Budget, selection *prompt.Selection) *parley.Failure {
	reserve := prompt.Reserve(r.info, r.settings.Parameters)
	detail := fmt.Sprintf(
		"What this turn must show takes about %d tokens, %d more than %s has room for: it reads %d, of which an "+
			"answer may take %d (max_tokens) and the system prompt and tools take the rest. "+
			"Send less in one message, unpin messages, let tools answer less, lower max_tokens, or choose a model "+
			"that reads more.",
		budget.Scaled(selection.Tokens),
		selection.Excess,
		r.settings.Model,
		r.info.ContextLength,
		reserve,
	)
	return &parley.Failure{
		Class:    parley.ClassContextLength,
		Sentence: r.settings.Retry.Sentence(parley.ClassContextLength),
		Detail:   parley.Clip(detail, 1024),
	}
}

// observe compares the provider's count with the estimate. The 0 of a cached answer is not a count, and images are
// weighed by their area: a provider's count of them says nothing about how its model tokenises text. Nor does what
// a speaker tells of itself. It returns what the provider must have left out without a word; nil if nothing tells. Some
// providers leave what they cached out of their count of input, so both count.
func (r *requests) observe(q *question, usage parley.Usage) *parley.Truncation {
	if usage.InputTokens == nil || q.served != nil || q.speech != nil || q.images {
		return nil
	}
	read := *usage.InputTokens
	for _, cached := range []*int64{usage.CachedTokens, usage.CacheWriteTokens} {
		if cached != nil {
			read += *cached
		}
	}
	if sent, truncated := r.w.ratios.Truncated(
		r.fence.WorkspaceID,
		r.settings.Model,
		int64(q.estimate),
		read,
	); truncated {
		return &parley.Truncation{SentTokens: sent, ReadTokens: *usage.InputTokens}
	}
	r.w.ratios.Observe(r.fence.WorkspaceID, r.settings.Model, int64(q.estimate), *usage.InputTokens)
	return nil
}

func showsImages(request *model.Request) bool {
	for i := range request.Messages {
		if slices.ContainsFunc(
			request.Messages[i].Parts,
			func(p model.Part) bool { return p.Kind == model.PartImage },
		) {
			return true
		}
	}
	return false
}

// maxWeights bounds the texts whose estimates a worker remembers.
const maxWeights = 256

// weights remembers the estimates of long texts that are the same from turn to
// turn.
type weights struct {
	mu    sync.Mutex // guards known
	known map[weighed]int
}

// weighed is a text for a model.
type weighed struct {
	model parley.ModelID
	hash  parley.Hash
}

// of returns a text's estimate for a model.
func (w *weights) of(model parley.ModelID, text string) int {
	if text == "" {
		return 0
	}
	key := weighed{model, parley.HashOf([]byte(text))}
	w.mu.Lock()
	tokens, found := w.known[key]
	w.mu.Unlock()
	if found {
		return tokens
	}
	tokens = prompt.Estimate(model, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= maxWeights {
		w.known = map[weighed]int{}
	}
	w.known[key] = tokens
	return tokens
}
