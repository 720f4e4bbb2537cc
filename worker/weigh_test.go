package worker

import (
	"context"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// A turn's request fits into the model's context, or the turn fails and says what to do; the window moves before that,
// and the session keeps the point of the cut.
func TestRequestsFitTheModelsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.model.reads = 3000
	counting := func(_ context.Context, yield func(model.Chunk, error) bool) { // what it is sent
		asked := r.model.asked()
		in, out := int64(0), int64(300)
		for _, m := range asked[len(asked)-1].Messages {
			for _, p := range m.Parts {
				in += int64(len(strings.Fields(p.Text)))
			}
		}
		usage := parley.Usage{InputTokens: &in, OutputTokens: &out}
		_ = yield(text(0, strings.Repeat("word ", 300)), nil) &&
			yield(model.Chunk{Kind: model.ChunkUsage, Usage: usage}, nil) && yield(done(parley.FinishStop), nil)
	}
	answer := 500
	session := r.session(parley.Settings{Model: scriptedID, Parameters: parley.Parameters{MaxTokens: &answer}},
		func(s *parley.Session) { s.Policy = &parley.Policy{Kind: parley.PolicyAll} })
	r.start(nil)
	var anchor, jumps int64
	for range 20 {
		r.model.play(counting)
		if turn := r.ended(r.post(session, "and on", parley.DuringQueue).Turn.ID); turn.Status != parley.TurnCompleted {
			t.Fatalf("a turn is %s: %+v", turn.Status, turn.Error)
		}
		now, err := r.store.Session(t.Context(), r.scope, session)
		r.must(err)
		if now.Context.Anchor != anchor {
			jumps++
		}
		anchor = now.Context.Anchor
	}
	if anchor == 0 || jumps > 8 {
		t.Errorf("over 20 turns the window moved %d times, to %d", jumps, anchor)
	}
	answer = 2900 // even what is shown of a long text has no room beside it
	session = r.session(parley.Settings{Model: scriptedID, Parameters: parley.Parameters{MaxTokens: &answer}}, nil)
	turn := r.ended(r.post(session, strings.Repeat("too long ", 20_000), parley.DuringQueue).Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassContextLength ||
		!strings.Contains(turn.Error.Detail, "lower max_tokens") {
		t.Errorf("a turn that cannot fit is %s: %+v", turn.Status, turn.Error)
	}
}

// A steer is weighed before the request is built: if the context has no room for it, the turn fails as too long instead
// of the provider refusing it.
func TestSteersAreWeighed(t *testing.T) {
	t.Parallel()
	steers := []parley.Message{
		{
			Role:    parley.RoleUser,
			Status:  parley.MessageQueued,
			Content: []byte(`{"text":"` + strings.Repeat("word ", 400) + `"}`),
		},
	}
	if asQueued := prompt.TokensShown(parley.TextBounds{}, steers); asQueued != 0 {
		t.Fatalf("a queued message weighs %d", asQueued)
	}
	entering(steers)
	if weight := prompt.TokensShown(parley.TextBounds{}, steers); weight < 300 {
		t.Errorf("a steer of 400 words weighs %d tokens", weight)
	}
}

// A provider's count of an image does not make texts lighter or heavier.
func TestImagesTeachNothingOfTexts(t *testing.T) {
	t.Parallel()
	image := model.Request{
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Look"}, {Kind: model.PartImage}}},
		},
	}
	text := model.Request{
		Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{{Kind: model.PartText, Text: "Read"}}}},
	}
	run := requests{
		claimed: &claimed{w: &Worker{ratios: &prompt.Ratios{}}, settings: prompt.Settings{Model: scriptedID}},
	}
	counted := int64(60)
	for _, request := range []*model.Request{&image, &text} {
		run.observe(&question{estimate: 1600, images: showsImages(request)}, parley.Usage{InputTokens: &counted})
		if learnt := run.w.ratios.Of(run.fence.WorkspaceID, scriptedID); (learnt != 1) != (request == &text) {
			t.Errorf("%q taught a ratio of %g", request.Messages[0].Parts[0].Text, learnt)
		}
	}
}
