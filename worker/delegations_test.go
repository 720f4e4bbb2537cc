package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool/team"
)

// pair is a lead with a subordinate, and a model that plays both: the lead hands over a task, the scout answers it, and
// the lead reads the answer.
type pair struct {
	*rig
	lead      parley.Agent
	at, below parley.ID     // the background sessions of the lead and of the scout
	home      chan struct{} // receives when the model is asked about an answer
}

// newPair makes both; an answer of the scout may have so many tokens.
func newPair(t *testing.T, longest int) *pair {
	t.Helper()
	p := &pair{rig: newRig(t), home: make(chan struct{}, 8)}
	p.options.Background, p.options.Drain = team.Tools(p.store), 1
	made := func(slug string, leadID parley.ID, longest int) parley.Agent {
		agent, _, err := p.store.CreateAgent(t.Context(), parley.Agent{
			ID: parley.NewID(), WorkspaceID: p.scope.WorkspaceID, Slug: slug, Name: slug, LeadID: leadID,
			Runtime: parley.StandardRuntime, Status: parley.AgentActive, Version: 1, Tags: []string{},
			OwnerID: p.owner.ID, OwnerName: p.owner.Name, ChangedByID: p.owner.ID,
			Settings: parley.Settings{
				Tools:         &[]parley.ToolRef{},
				Parameters:    parley.Parameters{MaxTokens: &longest},
				DrawKnowledge: new(false),
			},
		}, store.Idempotency{})
		p.must(err)
		return agent
	}
	p.lead = made("lead", parley.ID{}, 10)
	p.at, p.below = p.background(p.lead.ID), p.background(made("scout", p.lead.ID, longest).ID)
	return p
}

func (p *pair) background(agentID parley.ID) parley.ID {
	p.Helper()
	opened, err := p.store.BackgroundSession(p.Context(), p.scope, agentID, 0)
	p.must(err)
	return opened.Session.ID
}

// able is a troupe whose model is known to use tools.
type able struct{ troupe }

func (m *able) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	_, info, err := m.scripted.Resolve(id)
	info.Tools = true
	return m, info, err
}

// works starts a worker with the model of both.
func (p *pair) works(store Store) {
	p.Helper()
	w := New(store, &able{troupe{part: p.plays}}, p.tools, p.hub, p.options)
	p.worker = w
	p.running.Store(w)
	p.must(w.Start(p.Context()))
	p.Cleanup(func() { p.stop(w) })
}

// plays is the model of both.
func (p *pair) plays(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
	text, results := "", 0
	for _, message := range request.Messages {
		switch message.Role {
		case model.RoleUser:
			text, results = "", 0
			for _, part := range message.Parts {
				text += part.Text + "\n"
			}
		case model.RoleTool:
			results += len(message.Parts)
		}
	}
	switch {
	case strings.Contains(text, "Task from lead"):
		says("All quiet.")(ctx, yield)
	case strings.Contains(text, "nswer to your task"):
		p.home <- struct{}{}
		says("Thanks.")(ctx, yield)
	case results == 0:
		chunks(
			model.Chunk{Kind: model.ChunkToolCall, CallID: "p", Name: team.DelegateToAgent},
			model.Chunk{Kind: model.ChunkArguments, Text: `{"agent":"scout","task":"Look."}`},
			model.Chunk{Kind: model.ChunkUsage, Usage: parley.Usage{
				InputTokens: new(int64(1000)), OutputTokens: new(int64(500)),
			}},
			done(parley.FinishToolCalls),
		)(ctx, yield)
	default:
		says("I have asked.")(ctx, yield)
	}
}

// sent returns what the lead has sent.
func (p *pair) sent() []parley.Delegation {
	p.Helper()
	sent, err := p.store.Delegations(
		p.Context(),
		p.scope,
		store.DelegationQuery{SessionID: p.at, Limit: parley.MaxPage},
	)
	p.must(err)
	return sent
}

// came returns what agents wrote into a session.
func (p *pair) came(sessionID parley.ID) (contents []string) {
	p.Helper()
	for _, m := range p.messages(sessionID) {
		if m.Role == parley.RoleUser && m.Author.Kind == parley.AuthorAgent {
			contents = append(contents, string(m.Content))
		}
	}
	return contents
}

// TestCrashesAroundADelegation kills the worker between any two parts of a delegation, and lets another continue: the
// task is sent once, worked on in one turn, and its answer is read in one turn. With one slot the claimer claims the
// turns, else the deliveries do.
func TestCrashesAroundADelegation(t *testing.T) {
	for name, now := range map[string]func(method string, sent []parley.Delegation) bool{
		"before the result": func(method string, _ []parley.Delegation) bool { return method == "SettleTool" },
		"between the result and the delivery": func(method string, _ []parley.Delegation) bool {
			return method == "SettledTool"
		},
		"between the delivery and the turn": func(method string, sent []parley.Delegation) bool {
			return method == "AppliedOutbox" && len(sent) > 0 && sent[0].Status != parley.DelegationSent
		},
		"when the turn was claimed": func(method string, sent []parley.Delegation) bool {
			return (method == "Claimed" || method == "AppliedOutbox") && len(sent) > 0 &&
				sent[0].Status == parley.DelegationRunning
		},
		"between the answer and its return": func(method string, sent []parley.Delegation) bool {
			return method == "SettledStep" && len(sent) > 0 && sent[0].Status == parley.DelegationAnswered
		},
		"between the return and the turn that reads it": func(method string, sent []parley.Delegation) bool {
			return method == "AppliedOutbox" && len(sent) > 0 && !sent[0].ReturnMessageID.IsZero()
		},
	} {
		for _, slots := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d slots", name, slots), func(t *testing.T) { crashesOnce(t, slots, now) })
		}
	}
}

// crashesOnce kills a worker when now says so, and lets another continue.
func crashesOnce(t *testing.T, slots int, now func(method string, sent []parley.Delegation) bool) {
	t.Helper()
	p := newPair(t, 10)
	p.options.Slots = slots
	dying := &faults{Store: p.store}
	dead := dying.killWhen(func(method string) bool { return now(method, p.sent()) })
	p.works(dying)
	p.post(p.at, "Off you go.", "")
	p.wait("the crash", dead)
	p.expire(dying)
	p.works(p.store)
	p.wait("the answer", p.home)
	sent := p.sent()
	if len(sent) != 1 || sent[0].Status != parley.DelegationAnswered {
		t.Fatalf("sent: %+v", sent)
	}
	if turn := p.ended(sent[0].ReturnTurnID); turn.Status != parley.TurnCompleted {
		t.Errorf("the turn that read the answer: %+v", turn)
	}
	for sessionID, want := range map[parley.ID]int{p.at: 2, p.below: 1} {
		session, err := p.store.Session(t.Context(), p.scope, sessionID)
		p.must(err)
		if came := p.came(sessionID); len(came) != 1 || session.Statistics.Turns != int64(want) {
			t.Errorf("%s: %d turns, agents wrote %q", session.Title, session.Statistics.Turns, came)
		}
	}
}

// TestAChainThatHasUsedItsBudget: the tokens of all agents that work for one message count together. A turn that has no
// room fails instead of waiting, and the sender is told why.
func TestAChainThatHasUsedItsBudget(t *testing.T) {
	p := newPair(t, 5000)
	const answer = 1500 // tokens, see says
	p.limit(3 * answer)
	p.works(p.store)
	first := p.post(p.at, "Off you go.", "")
	p.wait("the answer", p.home)
	sent := p.sent()[0]
	if sent.Status != parley.DelegationFailed ||
		!strings.Contains(
			sent.Reason,
			"chain_tokens: All work for one message, that of other agents included, may use",
		) {
		t.Errorf("the task is %s: %s", sent.Status, sent.Reason)
	}
	work, err := p.store.Turn(t.Context(), p.scope, sent.TurnID)
	p.must(err)
	if work.Status != parley.TurnFailed || work.Error == nil || work.Error.Class != parley.ClassLimit {
		t.Errorf("the turn of the task is %s: %+v", work.Status, work.Error)
	}
	if home := p.ended(sent.ReturnTurnID); home.Status != parley.TurnCompleted {
		t.Errorf("the turn that reads of it is %s: %+v", home.Status, home.Error)
	}
	if came := p.came(p.at); len(came) != 1 || !strings.Contains(came[0], "chain_tokens") {
		t.Errorf("the lead was told %q", came)
	}
	if spent := p.ofChain(first.Message.ID); spent.Tokens != 3*answer || spent.ReservedTokens != 0 {
		t.Errorf("the chain's budget is %+v", spent)
	}
	p.limit(100) // another message begins another chain, which has no room at all
	turn := p.ended(p.post(p.at, "Once more.", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassLimit {
		t.Errorf("the turn of another message is %s: %+v", turn.Status, turn.Error)
	}
}

// limit changes the tokens that chains of the lead may use.
func (p *pair) limit(n int64) {
	p.Helper()
	p.lead.Limits = &parley.Limits{ChainTokens: &n}
	changed, err := p.store.UpdateAgent(p.Context(), p.lead)
	p.must(err)
	p.lead = changed
}

func (p *pair) ofChain(root parley.ID) store.Budget {
	p.Helper()
	budgets, err := p.store.Budgets(p.Context(), p.scope.WorkspaceID,
		[]store.BudgetSubject{{ID: root, Scope: parley.BudgetOfChain}})
	p.must(err)
	return budgets[0]
}
