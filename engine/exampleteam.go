package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// ExampleTeamLead is the slug of the example team's lead.
const ExampleTeamLead = "example-editor"

// exampleModel answers for all of the example team.
const exampleModel parley.ModelID = "sim/team"

// exampleMember is an agent of the example team.
type exampleMember struct {
	slug, name, about, prompt string
	clock                     bool // it may read the clock without a question
}

// exampleTeam returns the example team, its lead first. The prompts say what a model would be told; the simulator reads
// its habits from the same words.
func exampleTeam() []exampleMember {
	return []exampleMember{
		{
			slug: ExampleTeamLead, name: "Editor",
			about: "Leads the example team: hands out the work and briefs you.",
			prompt: "You lead a team that prepares a briefing. Hand each piece of work to everybody in your team. " +
				"When all answers have come, put one briefing into the inbox that says who found what, with the " +
				"source of each claim. When it is not clear what to do next, ask the person you work for.",
		},
		{
			slug: "example-scout", name: "Scout",
			about: "Looks for what is new, and notes when.",
			prompt: "You look for what is new. Say when you looked. Report to your lead when you begin, and answer " +
				"in three points.",
			clock: true,
		},
		{
			slug: "example-analyst", name: "Analyst",
			about:  "Works out the figures.",
			prompt: "You work out the figures. Answer in three points, and say which of them are uncertain.",
		},
		{
			slug: "example-critic", name: "Critic",
			about: "Asks what matters most, then looks for mistakes.",
			prompt: "You look for mistakes. Before you begin, ask your lead what matters most. Then answer in three " +
				"points.",
		},
		{
			slug: "example-archivist", name: "Archivist",
			about:  "Knows what was decided before.",
			prompt: "You know what was decided before. Answer in three points.",
		},
	}
}

// The work of the example team.
const (
	exampleTask         = "Prepare the first briefing.\n\nWhat should I know about this week?"
	exampleScheduleName = "Morning briefing"
	exampleSchedule     = "Prepare the morning briefing."
	exampleCron         = "0 8 * * 1-5"
)

// EnsureExampleTeam makes the example team: a lead and four subordinates, all simulated, with a schedule and a first
// task. Whatever an earlier request has left out is made; once the first task is given, nothing more is. It returns
// the team, and whether anything was made. It is CodeConflict if the lead is archived, or if another principal has the
// example team of the workspace.
func (e *Engine) EnsureExampleTeam(
	ctx context.Context,
	principal parley.Principal,
) (_ parley.Team, made bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "ensureExampleTeam", WriteAgents)
	if err != nil {
		return parley.Team{}, false, err
	}
	defer call.end(ctx, &err)
	members := exampleTeam()
	lead, err := e.exampleAgent(ctx, call, &members[0], parley.ID{})
	if err != nil {
		return parley.Team{}, false, err
	}
	call.about(on(lead.ID))
	opened, err := e.store.BackgroundSession(ctx, call.Scope, lead.ID, e.quotas.sessions)
	if err != nil {
		return parley.Team{}, false, err
	}
	if made = opened.Session.Statistics.Messages == 0 && opened.Session.TurnID.IsZero(); made {
		for i := range members[1:] {
			if _, err := e.exampleAgent(ctx, call, &members[i+1], lead.ID); err != nil {
				return parley.Team{}, false, err
			}
		}
		if err := e.exampleWork(ctx, principal, &lead); err != nil {
			return parley.Team{}, false, err
		}
	}
	team, err := e.Team(ctx, principal, lead.ID.String())
	return team, made, err
}

// exampleAgent returns an agent of the example team, which is made if it does not exist.
func (e *Engine) exampleAgent(
	ctx context.Context,
	call verbCall,
	m *exampleMember,
	leadID parley.ID,
) (parley.Agent, error) {
	input := AgentInput{
		Slug: m.slug, Name: m.name, Description: m.about,
		Settings: parley.Settings{Model: exampleModel, SystemPrompt: &m.prompt},
	}
	if leadID.IsZero() { // it counts the answers to what it handed out: a summary would hide some
		input.Policy = &parley.Policy{Kind: parley.PolicyAuto}
	} else {
		input.LeadID = leadID.String()
	}
	if m.clock {
		input.Tools = &[]parley.ToolRef{{Name: "current_time"}}
		input.Grants = &[]parley.Grant{{Tool: "current_time", Effect: parley.GrantAllow}}
	}
	agent, err := e.agent(ctx, call.Scope, m.slug)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		agent, _, err = e.CreateAgent(ctx, call.Principal, input, store.Idempotency{})
		if parley.ErrorCode(err) == parley.CodeConflict { // made meanwhile
			agent, err = e.agent(ctx, call.Scope, m.slug)
		}
	}
	switch {
	case err != nil:
		return agent, err
	case agent.Status == parley.AgentArchived:
		return agent, parley.Errorf(
			parley.CodeConflict,
			"%s of the example team is archived; reactivate it, or make a team of your own",
			m.slug,
		)
	case agent.OwnerID != call.Principal.ID || agent.LeadID != leadID:
		return agent, parley.Errorf(
			parley.CodeConflict, "somebody else has the example team's %s already; make a team of your own", m.slug,
		)
	}
	return agent, nil
}

// exampleWork gives the lead its schedule and its first task, in this order: the task says that all is there.
func (e *Engine) exampleWork(ctx context.Context, principal parley.Principal, lead *parley.Agent) error {
	existing, err := e.Schedules(ctx, principal, ScheduleList{Agents: []string{lead.ID.String()}})
	if err != nil {
		return err
	}
	if len(existing.Data) == 0 {
		if _, _, err := e.CreateSchedule(ctx, principal, ScheduleInput{
			AgentID: lead.ID.String(), Name: exampleScheduleName, Message: exampleSchedule,
			TimingInput: TimingInput{Cron: exampleCron},
		}, onceFor(lead, exampleSchedule)); err != nil {
			return err
		}
	}
	_, err = e.GiveTask(ctx, principal, lead.ID.String(), TaskInput{Text: exampleTask}, onceFor(lead, exampleTask))
	return err
}

// onceFor lets two requests at once give the lead something once.
func onceFor(lead *parley.Agent, text string) store.Idempotency {
	what := parley.HashOf([]byte(lead.ID.String() + text))
	return store.Idempotency{Key: "example-team " + what.String(), Fingerprint: what}
}
