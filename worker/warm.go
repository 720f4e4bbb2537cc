package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// Warm implements runner.DryRunner.
func (d *DryRunner) Warm(ctx context.Context, agent parley.Agent) (parley.Warmed, error) {
	return d.w.Warm(ctx, agent)
}

// Warm implements runner.DryRunner: it sends a request with the agent's tools and system prompt and almost nothing
// after them, for an answer of one token.
func (w *Worker) Warm(ctx context.Context, agent parley.Agent) (parley.Warmed, error) {
	of := runner.DryTurn{
		Agent: agent,
		Fresh: true,
		Session: parley.Session{
			ID:          parley.NewID(),
			LogID:       parley.NewID(),
			WorkspaceID: agent.WorkspaceID,
			AgentID:     agent.ID,
		},
	}
	if err := checkDry(&of); err != nil {
		return parley.Warmed{}, err
	}
	d := w.rehearse(&of)
	defer d.own.Close()
	claim := &store.Claim{
		Fence:   store.Fence{WorkspaceID: agent.WorkspaceID, SessionID: of.Session.ID},
		Session: of.Session,
		Agent:   agent,
	}
	t, failure, err := d.prepared(ctx, claim)
	if err != nil || failure != nil {
		return parley.Warmed{}, refusedBy(failure, err)
	}
	return t.warm(&agent)
}

func (t *turn) warm(agent *parley.Agent) (parley.Warmed, error) {
	warmed := parley.Warmed{
		AgentID: agent.ID, Model: t.settings.Model,
		Tokens: prompt.EstimateTokens(t.settings.System) + prompt.EstimateTokens(string(t.definitions.Text())),
	}
	if warmed.Reason = t.coldFor(agent, warmed.Tokens); warmed.Reason != "" {
		return warmed, nil
	}
	one := 1
	settings := prompt.Settings{
		Model:      t.settings.Model,
		System:     t.settings.System,
		Parameters: parley.Parameters{MaxTokens: &one},
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: "."})
	if err != nil {
		return warmed, err
	}
	said := parley.Message{Role: parley.RoleUser, Status: parley.MessageCompleted, Content: content}
	request, manifest, err := prompt.Build(
		settings,
		prompt.Selection{Messages: []parley.Message{said}},
		nil,
		t.definitions,
		nil,
	)
	if err != nil {
		return warmed, err
	}
	encoded, _, err := t.encode(&request, &manifest)
	if err != nil {
		return warmed, err
	}
	call := parley.Call{
		ID:          parley.NewID(),
		WorkspaceID: agent.WorkspaceID,
		Purpose:     parley.PurposeWarm,
		Provider:    t.settings.Model.Provider(),
		Model:       t.settings.Model,
		Parameters:  settings.Parameters,
		Attempt:     1,
	}
	return t.sendWarm(warmed, &call, encoded)
}

// sendWarm sends the request and discards its answer.
func (t *turn) sendWarm(warmed parley.Warmed, call *parley.Call, encoded model.EncodedRequest) (parley.Warmed, error) {
	began := time.Now()
	ctx := t.w.observer.CallBegan(t.ctx, observe.CallBegun{Call: call})
	settled := store.CallSettled{CallID: call.ID, Outcome: parley.CallFailed}
	var broken error
	for chunk, err := range t.model.Stream(ctx, encoded) {
		switch {
		case err != nil:
			broken = err
		case chunk.Kind == model.ChunkUsage:
			warmed.Usage = chunk.Usage
		case chunk.Kind == model.ChunkFinish:
			settled.Outcome, settled.Finish = parley.CallCompleted, chunk.Finish
		}
		if err != nil {
			break
		}
	}
	warmed.Cost = t.info.Price.Cost(warmed.Usage)
	warmed.Cache = parley.CacheOf(warmed.Usage, t.info.Price.Saved(warmed.Usage))
	settled.Usage, settled.Cost, settled.Saved = warmed.Usage, warmed.Cost, warmed.Cache.Saved
	t.w.observer.CallEnded(
		ctx,
		observe.CallEnded{
			Call:    call,
			Settled: &settled,
			Took:    time.Since(began),
			Answer:  func() []model.Part { return nil },
		},
	)
	if broken != nil {
		return warmed, parley.WrapError(
			parley.CodeUnavailable,
			broken,
			"The provider did not answer: "+parley.Clip(broken.Error(), 512),
		)
	}
	warmed.Warmed = true
	return warmed, nil
}

// coldFor says why warming an agent's provider gains nothing; "" if it does.
func (t *turn) coldFor(agent *parley.Agent, tokens int) string {
	if !t.info.Caching {
		return fmt.Sprintf(
			"The model %q is not known to have a prompt cache. If it has one, say so under models in parley.yaml "+
				"(caching: true).",
			t.settings.Model,
		)
	}
	least, why := t.model.Warms(t.settings.Model)
	if least == 0 {
		return why
	}
	if names := slices.DeleteFunc(
		prompt.UsedPlaceholders(parley.ValueOf(agent.SystemPrompt)),
		prompt.SameForAgent,
	); len(
		names,
	) > 0 {
		return fmt.Sprintf(
			"The system prompt holds {{%s}}, so the requests of two sessions do not begin alike.",
			names[0],
		)
	}
	if tokens < least {
		return fmt.Sprintf(
			"Tools and system prompt have about %d tokens together; this provider keeps beginnings of %d and more.",
			tokens,
			least,
		)
	}
	return ""
}
