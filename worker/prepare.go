package worker

import (
	"context"
	"errors"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// begin makes the turn of a claim, for a runtime to run. The caller closes it.
func (w *Worker) begin(ctx context.Context, claim *store.Claim) *turn {
	held := w.leaseOf(claim)
	// Writes outlive a cancel of the turn and end with the lease.
	writes := context.WithoutCancel(ctx)
	if held != nil {
		writes = held.ctx
	}
	return newTurn(&claimed{
		w: w, claim: *claim, fence: claim.Fence, lease: held, ctx: ctx, writes: writes,
		author: parley.Author{Kind: parley.AuthorAgent, ID: claim.Agent.ID, Name: claim.Agent.Name},
		last:   max(claim.Session.LastSequence, claim.Trigger.Sequence),
	})
}

// prepared is begin for a turn that no runtime runs.
func (w *Worker) prepared(ctx context.Context, claim *store.Claim) (*turn, *parley.Failure, error) {
	t := w.begin(ctx, claim)
	failure, err := t.prepare()
	return t, failure, err
}

// leaseOf returns the lease of a claim that runs; else nil.
func (w *Worker) leaseOf(claim *store.Claim) *lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[claim.Fence.TurnID]; running != nil {
		return running.lease
	}
	return nil
}

// wrote notes a sequence that the store assigned.
func (c *claimed) wrote(sequence int64) { c.last = max(c.last, sequence) }

// prepare resolves the turn's settings, model and tools. A failure ends the turn; an error is the store's.
func (t *turn) prepare() (*parley.Failure, error) {
	var project *parley.Project
	if id := t.claim.Session.ProjectID; !id.IsZero() {
		found, err := t.w.store.Project(t.writes, t.fence.WorkspaceID, id)
		switch {
		case err == nil:
			project, t.project = &found, found.Path
		case parley.ErrorCode(err) != parley.CodeNotFound: // deleted meanwhile: treat it as absent
			return nil, err
		}
	}
	err := t.rules.read()
	if err != nil {
		return nil, err
	}
	fallback := t.w.models.Default()
	if t.speaker != nil {
		fallback = t.speaker.Model()
	}
	t.settings, err = prompt.Resolve(t.claim.Agent, t.claim.Session, project, t.claim.Trigger, fallback)
	if loop := t.claim.Loop; loop != nil {
		t.settings.Policy = loop.Context.Policy()
	}
	if t.speaker != nil {
		t.settings.Model = t.speaker.Model()
		if err != nil {
			return t.unusable(err), nil
		}
		return nil, nil
	}
	if err == nil {
		t.model, t.info, err = t.w.models.Resolve(t.settings.Model)
		t.settings.Search = t.settings.Search && t.info.Search // a tool serves it, or the model changed meanwhile
	}
	if err == nil {
		t.layers, err = t.w.layersOf(&t.claim.Session, &t.claim.Agent, &t.info)
	}
	if err == nil {
		err = t.outputs.choose()
	}
	if err == nil {
		t.responses.choose()
		t.tools.await()
		if err := t.tools.readTeam(); err != nil {
			return nil, err
		}
		err = t.tools.find()
		t.ttl = t.tools.cacheTTL()
		t.info.Price = t.info.Price.Keeping(t.ttl)
	}
	if err != nil {
		return t.unusable(err), nil
	}
	return nil, nil
}

// unusable returns the failure of a turn whose settings make no valid request.
func (c *claimed) unusable(err error) *parley.Failure {
	detail := err.Error()
	var known *parley.Error
	if errors.As(err, &known) {
		detail = known.Message
	}
	return &parley.Failure{
		Class:    parley.ClassModel,
		Sentence: c.settings.Retry.Sentence(parley.ClassModel),
		Detail:   parley.Clip(detail, 1024),
	}
}

// await gives tool servers that this process has just started time for their first answer. A turn resumed at the start
// of the process would otherwise continue without them.
func (t *tools) await() {
	missing := func(ref parley.ToolRef) bool {
		if ref.Definition != nil {
			return false
		}
		prefix, pattern := ref.Pattern()
		return pattern || t.serverSource().Expects(prefix)
	}
	if !slices.ContainsFunc(t.settings.Tools, missing) {
		return
	}
	ctx, stop := context.WithTimeout(t.ctx, toolsPatience)
	defer stop()
	t.serverSource().Await(ctx)
}

// find collects the definitions that the model is shown.
func (t *tools) find() error {
	definitions, missing := t.named()
	for _, name := range missing {
		if !t.w.missed.first(missedTool{t.claim.Agent.ID, t.claim.Agent.Version, name}) {
			continue
		}
		t.log().WarnContext(t.ctx, "an agent names a tool that this server does not have",
			"agent_id", t.claim.Agent.ID, "tool", name)
	}
	if n := len(definitions); n > parley.MaxTools {
		t.log().WarnContext(t.ctx, "an agent's patterns match more tools than a model may be shown",
			"agent_id", t.claim.Agent.ID, "tools", n, "shown", parley.MaxTools)
	}
	t.own = definitions[:min(len(definitions), parley.MaxTools)]
	t.addTeam()
	t.own = t.outputs.offer(t.own)
	var err error
	t.definitions, err = t.w.toolsets.of(t.own)
	t.bare = t.definitions
	if err == nil && slices.ContainsFunc(t.settings.Tools, t.answersLong) {
		err = t.offer(offersReading, offeredForLong)
	}
	return err
}

// readTeam reads the tools of the agent's background session. Neither a cancel nor a database that does not answer in
// time is the fault of the agent's settings: an error is the store's.
func (t *tools) readTeam() (err error) {
	source := t.w.options.Background
	session := &t.claim.Session
	if source == nil || !session.InBackground() || session.OwnerID != t.claim.Agent.OwnerID ||
		t.info.Known && !t.info.Tools {
		return nil
	}
	t.team, err = source.ToolsOf(t.writes, t.fence.WorkspaceID, t.claim.Agent.ID)
	return err
}

// addTeam adds the tools of the agent's background session, and those of sessions that are told what the agent knows,
// as far as the agent has none of their names.
func (t *tools) addTeam() {
	found := t.team
	t.team = nil
	session := &t.claim.Session
	if source := t.w.options.Background; source != nil && (!t.info.Known || t.info.Tools) &&
		session.KnowledgeTokens(setting.KnowledgeTokens.Nearest(&t.claim.Agent.Settings, &session.Settings)) > 0 {
		for _, one := range source.Knowing() {
			if session.OwnerID == t.claim.Agent.OwnerID || one.Annotations().ReadOnly { // what it knows is its owner's
				found = append(found, one)
			}
		}
	}
	for _, one := range found {
		definition := one.Definition()
		named := func(own parley.ToolDefinition) bool { return own.Name == definition.Name }
		if len(t.own) < parley.MaxTools && !slices.ContainsFunc(t.own, named) {
			t.own, t.team = append(slices.Clip(t.own), definition), append(t.team, one)
		}
	}
}

// named returns the definitions of the agent's tools: in the agent's order, those of a pattern by name, each name once;
// and the names of those that this server does not have.
func (t *tools) named() (definitions []parley.ToolDefinition, missing []string) {
	seen := make(map[string]bool, len(t.settings.Tools))
	add := func(definition parley.ToolDefinition) {
		if seen[definition.Name] {
			return
		}
		seen[definition.Name] = true
		definitions = append(definitions, definition)
	}
	for _, ref := range t.settings.Tools {
		switch {
		case ref.Agent != nil && t.claim.Session.Depth >= parley.MaxToolDepth:
			continue // a call of it would be refused
		case ref.Agent != nil:
			add(ref.Agent.Definition())
			continue
		case ref.Definition != nil:
			add(*ref.Definition)
			continue
		}
		found := t.serverTools(ref)
		if len(found) == 0 {
			missing = append(missing, ref.Name)
		}
		for _, tool := range found {
			add(tool.Definition())
		}
	}
	return definitions, missing
}

// serverSource returns the server's tools as the turn's workspace sees them.
func (t *tools) serverSource() tool.Source { return t.w.tools.For(t.fence.WorkspaceID) }

// serverTools returns the server's tools that match an entry, by name.
func (t *tools) serverTools(ref parley.ToolRef) (found []tool.Tool) {
	prefix, pattern := ref.Pattern()
	if !pattern {
		if tool, ok := t.serverSource().Tool(ref.Name); ok {
			found = append(found, tool)
		}
		return found
	}
	for _, tool := range t.serverSource().Tools() {
		if strings.HasPrefix(tool.Definition().Name, prefix) {
			found = append(found, tool)
		}
	}
	return found
}
