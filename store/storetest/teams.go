package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testTeams(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"FirstsInTheBackgroundGetOneSession": backgroundFirsts,
		"TheBackgroundSession":               backgroundSession,
		"WhoHasNoBackgroundSession":          backgroundRefused,
		"WhoMayLeadWhom":                     teamRules,
		"AnArchiveKeepsNobodyWithoutALead":   teamArchive,
		"ATeamIsBounded":                     teamBounds,
		"ATeamIsReadAgentByAgent":            teamKeeps,
		"TheAgentsAroundAnAgent":             teamAround,
		"EachMemberHasABackgroundSession":    teamBackground,
		"TwoChangesMakeNoCircle":             teamCircleRace,
		"TwoChangesMakeNoTeamTooLarge":       teamSizeRace,
		"AnArchiveRacesASubordinate":         teamArchiveRace,
		"APersonGoesFirst":                   urgentFirst,
		"APersonHurriesWhatWaits":            urgentHurries,
		"ALoopArchivesNoBackgroundSession":   backgroundLoop,
		"WhenATeamRunsNext":                  teamNextRuns,
	})
}

// teamKeeps: what a caller does not keep of an agent is gone before the team is whole: all that the agents of a team
// say may be larger than the memory.
func teamKeeps(t *testing.T, w *world) {
	lead := w.worker(t, "lead", func(a *parley.Agent) { a.Description = "leads" })
	for _, slug := range []string{"one", "two"} {
		w.worker(t, slug, func(a *parley.Agent) { a.LeadID, a.Description = lead.ID, "works" })
	}
	var kept []string
	agents, err := w.store.TeamOf(w.ctx, w.scope.WorkspaceID, lead.ID, func(a *parley.Agent) {
		kept = append(kept, a.Slug+" "+a.Description)
		*a = parley.Agent{ID: a.ID}
	})
	must(t, "TeamOf", err)
	if got := strings.Join(kept, ", "); got != "lead leads, one works, two works" {
		t.Errorf("a caller is shown %s", got)
	}
	for i := range agents {
		if a := &agents[i]; a.ID.IsZero() || a.Slug+a.Description != "" {
			t.Errorf("the team still has %+v", a)
		}
	}
}

// firsts is how many callers ask at once for a session that nobody has asked for before.
const firsts = 50

// worker creates an agent that the test's principal owns. No knowledge is drawn from its work, which would be claimed
// beside it.
func (w *world) worker(t reporter, slug string, changes ...func(*parley.Agent)) parley.Agent {
	t.Helper()
	agent := w.newAgent(slug)
	agent.OwnerID, agent.OwnerName, agent.ChangedByID = w.owner.ID, w.owner.Name, w.owner.ID
	agent.DrawKnowledge = new(false)
	for _, change := range changes {
		change(&agent)
	}
	agent, _, err := w.store.CreateAgent(w.ctx, agent, store.Idempotency{})
	must(t, "CreateAgent", err)
	return agent
}

func (w *world) background(t reporter, agent *parley.Agent) parley.Session {
	t.Helper()
	opened, err := w.store.BackgroundSession(w.ctx, w.scope, agent.ID, 0)
	must(t, "BackgroundSession", err)
	return opened.Session
}

// backgroundFirsts: callers that ask for an agent's background session at once all get the one that is made.
func backgroundFirsts(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	answers, failures := make([]store.Opened, firsts), make([]error, firsts)
	atOnce(firsts, func(i int) {
		answers[i], failures[i] = w.store.BackgroundSession(w.ctx, w.scope, agent.ID, 0)
	})
	created := 0
	for i, opened := range answers {
		must(t, "BackgroundSession", failures[i])
		if opened.Created {
			created++
		}
		if opened.Session.ID != answers[0].Session.ID {
			t.Fatalf("two callers got the sessions %s and %s", answers[0].Session.ID, opened.Session.ID)
		}
	}
	if created != 1 {
		t.Errorf("%d callers are told that they made it; want 1", created)
	}
	listed, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{AgentID: agent.ID, Limit: firsts})
	must(t, "Sessions", err)
	if len(listed) != 1 {
		t.Errorf("the agent has %d sessions; want 1", len(listed))
	}
}

// backgroundSession: it is the owner's, private, in background mode, summarised by default, and stays the same through
// its turns. After a deletion the next caller gets a new one, and so does the agent's next owner.
func backgroundSession(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	if session.OwnerID != w.owner.ID || session.AgentID != agent.ID || session.Mode != parley.ModeBackground ||
		session.Kind != parley.KindAgent || session.Visibility != parley.VisibilityPrivate ||
		session.Title != parley.BackgroundTitle(&agent) || !session.InBackground() || session.OpaqueKey() != "" {
		t.Errorf("the background session is %+v", session)
	}
	if policy := session.DefaultPolicy(); policy.Kind != parley.PolicySummary ||
		policy.SummaryLimit() != parley.DefaultSummaryLimit {
		t.Errorf("its context policy is %s; want summary(%d)", policy, parley.DefaultSummaryLimit)
	}
	accepted, err := w.store.Accepted(w.ctx, w.scope.WorkspaceID, session.ID)
	must(t, "Accepted", err)
	if accepted.Before || len(accepted.Agents)+len(accepted.Tools) > 0 {
		t.Errorf("opening it accepted %+v; want nothing", accepted)
	}
	w.post(t, session.ID, w.say("dig"))
	w.answer(t, w.claim(t), "gold")
	w.post(t, session.ID, w.say("dig on"))
	if again := w.background(t, &agent); again.ID != session.ID || again.Statistics.Turns != 2 {
		t.Errorf("after a turn it is the session %s with %d turns; want %s with 2",
			again.ID, again.Statistics.Turns, session.ID)
	}

	heir := parley.NewID()
	inherited := agent
	inherited.OwnerID, inherited.OwnerName, inherited.ChangedByID = heir, "heir", heir
	inherited, err = w.store.UpdateAgent(w.ctx, inherited)
	must(t, "UpdateAgent", err)
	if theirs := w.background(t, &inherited); theirs.ID == session.ID || theirs.OwnerID != heir {
		t.Errorf("the next owner got the session %s of %s", theirs.ID, theirs.OwnerID)
	}
	inherited.OwnerID, inherited.OwnerName = agent.OwnerID, agent.OwnerName
	inherited, err = w.store.UpdateAgent(w.ctx, inherited)
	must(t, "UpdateAgent", err)
	if back := w.background(t, &inherited); back.ID != session.ID {
		t.Errorf("with its first owner again, the agent works in %s; want %s", back.ID, session.ID)
	}

	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session.ID))
	if next := w.background(t, &inherited); next.ID == session.ID || next.LastSequence != 0 {
		t.Errorf("after its deletion it is %s with %d messages", next.ID, next.LastSequence)
	}
}

// backgroundRefused: strangers see neither session nor agent, and nothing is made for an archived agent, for one
// without an owner, or beyond a quota.
func backgroundRefused(t *testing.T, w *world) {
	ask := func(scope store.Scope, agent parley.ID, most int64) error {
		_, err := w.store.BackgroundSession(w.ctx, scope, agent, most)
		return err
	}
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	refused(t, "a stranger", ask(stranger, agent.ID, 0), parley.CodeNotFound)
	refused(t, "another workspace", ask(w.neighbour(t, "next").scope, agent.ID, 0), parley.CodeNotFound)
	refused(t, "no agent", ask(w.scope, parley.NewID(), 0), parley.CodeNotFound)
	must(t, "the same within the quota", ask(w.scope, agent.ID, 1))

	refused(t, "an agent without an owner", ask(w.scope, w.createAgent(t, "ownerless").ID, 0), parley.CodeConflict)
	retired := w.worker(t, "retired", func(a *parley.Agent) { a.Status = parley.AgentArchived })
	refused(t, "an archived agent", ask(w.scope, retired.ID, 0), parley.CodeArchived)
	second := w.worker(t, "second")
	refused(t, "a session too many", ask(w.scope, second.ID, 1), parley.CodeConflict)
	must(t, "one more", ask(w.scope, second.ID, 2))

	agent.Status = parley.AgentArchived
	_, err := w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	if again := w.background(t, &agent); again.ID != session.ID {
		t.Errorf("an archived agent's session is %s; want %s, which stays readable", again.ID, session.ID)
	}
}

// led creates an agent of the test's principal with a lead.
func (w *world) led(t reporter, slug string, lead *parley.Agent) parley.Agent {
	t.Helper()
	return w.worker(t, slug, func(a *parley.Agent) { a.LeadID = lead.ID })
}

// becomes stores a change of agents as one transaction, as they are now.
func (w *world) becomes(change func(*parley.Agent), agents ...parley.Agent) error {
	next := make([]parley.Agent, len(agents))
	for i := range agents {
		now, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, agents[i].ID.String())
		if err != nil {
			return err
		}
		change(&now)
		next[i] = now
	}
	_, err := w.store.UpdateAgent(w.ctx, next[0], next[1:]...)
	return err
}

func lead(id parley.ID) func(*parley.Agent)    { return func(a *parley.Agent) { a.LeadID = id } }
func archived(a *parley.Agent)                 { a.Status = parley.AgentArchived }
func reactivated(a *parley.Agent)              { a.Status = parley.AgentActive }
func owned(id parley.ID) func(a *parley.Agent) { return func(a *parley.Agent) { a.OwnerID = id } }
func (w *world) agentNow(t reporter, id parley.ID) parley.Agent {
	t.Helper()
	now, err := w.store.Agent(w.ctx, w.scope.WorkspaceID, id.String())
	must(t, "Agent", err)
	return now
}

// teamRules: no circles, no archived or unknown leads, one owner.
func teamRules(t *testing.T, w *world) {
	top := w.worker(t, "top")
	middle := w.led(t, "middle", &top)
	low := w.led(t, "low", &middle)
	refused(t, "itself", w.becomes(lead(top.ID), top), parley.CodeInvalid)
	refused(t, "a circle of two", w.becomes(lead(middle.ID), top), parley.CodeInvalid)
	refused(t, "a circle of three", w.becomes(lead(low.ID), top), parley.CodeInvalid)
	refused(t, "nobody", w.becomes(lead(parley.NewID()), top), parley.CodeNotFound)
	next := w.neighbour(t, "next").worker(t, "theirs")
	refused(t, "another workspace's", w.becomes(lead(next.ID), top), parley.CodeNotFound)

	refused(t, "another owner in the middle", w.becomes(owned(parley.NewID()), middle), parley.CodeInvalid)
	refused(t, "another owner at the top", w.becomes(owned(parley.NewID()), top), parley.CodeInvalid)
	refused(t, "another owner below", w.becomes(owned(parley.NewID()), low), parley.CodeInvalid)
	refused(t, "no owner", w.becomes(owned(parley.ID{}), low), parley.CodeInvalid)
	foreign := w.worker(t, "foreign", owned(parley.NewID()))
	refused(t, "somebody else's lead", w.becomes(lead(top.ID), foreign), parley.CodeInvalid)
	refused(t, "somebody else's subordinate", w.becomes(lead(foreign.ID), top), parley.CodeInvalid)
	_, _, err := w.store.CreateAgent(w.ctx, func() parley.Agent {
		a := w.newAgent("ownerless")
		a.LeadID = top.ID
		return a
	}(), store.Idempotency{})
	refused(t, "a new agent without an owner", err, parley.CodeInvalid)
	must(t, "a whole team's new owner", w.becomes(owned(foreign.OwnerID), top, middle, low))

	retired := w.worker(t, "retired", archived, owned(foreign.OwnerID))
	refused(t, "an archived lead", w.becomes(lead(retired.ID), low), parley.CodeInvalid)
	must(t, "another lead", w.becomes(lead(top.ID), low))
	must(t, "no lead", w.becomes(lead(parley.ID{}), low))
	must(t, "the other way round", w.becomes(lead(low.ID), top))
	if now := w.agentNow(t, middle.ID); now.LeadID != top.ID {
		t.Errorf("a refused change moved %s below %s", middle.ID, now.LeadID)
	}
}

// teamArchive: a lead with subordinates is archived with them or not at all, and comes back before them.
func teamArchive(t *testing.T, w *world) {
	top := w.worker(t, "top")
	middle := w.led(t, "middle", &top)
	low := w.led(t, "low", &middle)
	refused(t, "the middle alone", w.becomes(archived, middle), parley.CodeConflict)
	refused(t, "the upper two", w.becomes(archived, top, middle), parley.CodeConflict)
	for _, agent := range []parley.Agent{top, middle, low} {
		if now := w.agentNow(t, agent.ID); now.Version != 1 {
			t.Errorf("a refused archive made version %d of %s", now.Version, agent.Slug)
		}
	}
	must(t, "the lowest", w.becomes(archived, low))
	must(t, "it comes back", w.becomes(reactivated, low))
	must(t, "all below the top", w.becomes(archived, middle, low))
	refused(t, "one without its lead", w.becomes(reactivated, low), parley.CodeInvalid)
	must(t, "both", w.becomes(reactivated, low, middle))
	must(t, "all", w.becomes(archived, top, middle, low))
}

// teamBounds: levels and members have bounds, and whatever joins at once counts.
func teamBounds(t *testing.T, w *world) {
	chain := []parley.Agent{w.worker(t, "level-1")}
	for len(chain) < parley.MaxTeamDepth {
		chain = append(chain, w.led(t, fmt.Sprintf("level-%d", len(chain)+1), &chain[len(chain)-1]))
	}
	deepest := &chain[len(chain)-1]
	single := w.worker(t, "single")
	refused(t, "a level too deep", w.becomes(lead(deepest.ID), single), parley.CodeInvalid)
	refused(t, "a level above", w.becomes(lead(single.ID), chain[0]), parley.CodeInvalid)
	must(t, "beside the deepest", w.becomes(lead(chain[len(chain)-2].ID), single))

	top := w.worker(t, "top")
	for n := 2; n < parley.MaxTeamMembers; n++ {
		w.led(t, fmt.Sprintf("member-%d", n), &top)
	}
	second := w.worker(t, "second")
	below := w.led(t, "below", &second)
	refused(t, "two at once", w.becomes(lead(top.ID), second), parley.CodeInvalid)
	must(t, "leave", w.becomes(lead(parley.ID{}), below))
	must(t, "one more", w.becomes(lead(top.ID), second))
	refused(t, "one too many", w.becomes(lead(second.ID), below), parley.CodeInvalid)
	must(t, "an archived one makes room", w.becomes(archived, second))
	must(t, "for another", w.becomes(lead(top.ID), below))
	refused(t, "and does not come back", w.becomes(reactivated, second), parley.CodeInvalid)
}

// teamAround: around an agent are its lead and its direct subordinates, of its own workspace.
func teamAround(t *testing.T, w *world) {
	top := w.worker(t, "top")
	middle := w.worker(t, "middle", lead(top.ID))
	w.worker(t, "beside", lead(top.ID))
	first := w.worker(t, "first", lead(middle.ID))
	w.worker(t, "second", lead(middle.ID))
	w.worker(t, "deeper", lead(first.ID))
	w.worker(t, "alone")
	for _, test := range []struct {
		center parley.Agent
		want   string
	}{
		{middle, "first middle second top"},
		{top, "beside middle top"},
		{first, "deeper first middle"},
	} {
		found, err := w.store.Agents(w.ctx, w.scope.WorkspaceID, store.AgentQuery{Around: test.center.ID, Limit: 10})
		must(t, "Agents", err)
		var slugs []string
		for i := range found {
			slugs = append(slugs, found[i].Slug)
		}
		if got := strings.Join(slugs, " "); got != test.want {
			t.Errorf("around %s are %s; want %s", test.center.Slug, got, test.want)
		}
	}
	foreign, err := w.store.Agents(w.ctx, parley.NewID(), store.AgentQuery{Around: middle.ID, Limit: 10})
	if len(foreign) > 0 || err != nil {
		t.Errorf("another workspace finds %d agents, %v", len(foreign), err)
	}
}

// teamBackground: the transaction that puts an agent below a lead opens the background sessions of both, once.
func teamBackground(t *testing.T, w *world) {
	count := func(agent *parley.Agent) int {
		t.Helper()
		sessions, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{AgentID: agent.ID, Limit: 10})
		must(t, "Sessions", err)
		for i := range sessions {
			if !sessions[i].InBackground() || sessions[i].Title != parley.BackgroundTitle(agent) {
				t.Errorf("%s got the session %+v", agent.Slug, sessions[i])
			}
		}
		return len(sessions)
	}
	top, alone := w.worker(t, "top"), w.worker(t, "alone")
	if n := count(&top) + count(&alone); n != 0 {
		t.Fatalf("agents in no team have %d sessions", n)
	}
	made := w.led(t, "made", &top)
	must(t, "UpdateAgent", w.becomes(lead(made.ID), alone))
	must(t, "UpdateAgent", w.becomes(lead(top.ID), alone))
	for _, agent := range []*parley.Agent{&top, &made, &alone} {
		if n := count(agent); n != 1 {
			t.Errorf("%s has %d background sessions; want 1", agent.Slug, n)
		}
	}
	other := w.worker(t, "other")
	refused(t, "a circle", w.becomes(lead(other.ID), top, other), parley.CodeInvalid)
	if n := count(&other); n != 0 {
		t.Errorf("a refused change opened %d sessions", n)
	}
}

// race runs changes at the same time, and returns how many were stored; the others must be refused.
func race(t *testing.T, refusedAs parley.Code, changes []func() error) (stored int) {
	t.Helper()
	failures := make([]error, len(changes))
	atOnce(len(changes), func(i int) { failures[i] = changes[i]() })
	for _, err := range failures {
		if err == nil {
			stored++
			continue
		}
		refused(t, "a change at the same time", err, refusedAs)
	}
	return stored
}

// raceRounds is how often two changes race for one outcome.
const raceRounds = 8

// teamCircleRace: of the changes that together would close a circle, one is refused.
func teamCircleRace(t *testing.T, w *world) {
	for round := range raceRounds {
		var ring []parley.Agent
		for n := range 3 {
			ring = append(ring, w.worker(t, fmt.Sprintf("r%d-%d", round, n)))
		}
		var changes []func() error
		for i := range ring {
			changes = append(changes, func() error { return w.becomes(lead(ring[(i+1)%len(ring)].ID), ring[i]) })
		}
		if stored := race(t, parley.CodeInvalid, changes); stored != len(ring)-1 {
			t.Fatalf("%d of %d changes that close a circle were stored; want all but one", stored, len(ring))
		}
	}
}

// teamSizeRace: agents that join at once do not exceed a team's size together.
func teamSizeRace(t *testing.T, w *world) {
	top := w.worker(t, "top")
	const room = 3
	for n := range parley.MaxTeamMembers - 1 - room {
		w.led(t, fmt.Sprintf("member-%d", n), &top)
	}
	var changes []func() error
	for n := range 3 * room {
		agent := w.worker(t, fmt.Sprintf("joins-%d", n))
		changes = append(changes, func() error { return w.becomes(lead(top.ID), agent) })
	}
	if stored := race(t, parley.CodeInvalid, changes); stored != room {
		t.Errorf("%d agents joined a team with room for %d", stored, room)
	}
}

// teamArchiveRace: a lead is not archived while somebody gets it as a lead.
func teamArchiveRace(t *testing.T, w *world) {
	for round := range raceRounds {
		top := w.worker(t, fmt.Sprintf("top-%d", round))
		low := w.worker(t, fmt.Sprintf("low-%d", round))
		changes := []func() error{
			func() error { return w.becomes(lead(top.ID), low) },
			func() error { return w.becomes(archived, top) },
		}
		failures := make([]error, len(changes))
		atOnce(len(changes), func(i int) { failures[i] = changes[i]() })
		joined, gone := failures[0], failures[1]
		if (joined == nil) == (gone == nil) {
			t.Fatalf("the lead's archive: %v; its new subordinate: %v; want one of them", gone, joined)
		}
	}
}

// urgently returns a message that a person posts.
func (w *world) urgently(text string) store.NewMessage {
	m := w.say(text)
	m.Urgent = true
	return m
}

// full is the occupancy of a process whose share of background work is taken.
func full(w *world) store.Occupancy {
	occupancy := store.Occupancy{Slots: 4}
	for range 2 {
		occupancy.Take(parley.NewID(), parley.ModeBackground)
	}
	return occupancy
}

// urgentFirst: a person's messages run before the agent's own work that waits, in their order, and at foreground
// priority.
func urgentFirst(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	w.post(t, session.ID, w.say("work 1"))
	running := w.claim(t)
	w.post(t, session.ID, w.say("work 2"))
	w.post(t, session.ID, w.urgently("person 1"))
	w.post(t, session.ID, w.say("work 3"))
	w.post(t, session.ID, w.urgently("person 2"))
	w.answer(t, running, "done")
	for _, want := range []string{"person 1", "person 2", "work 2", "work 3"} {
		occupancy := full(w)
		if strings.HasPrefix(want, "work") {
			if claims, err := w.store.Claim(w.ctx, w.process, 1, full(w)); err != nil || len(claims) != 0 {
				t.Fatalf("%q was claimed beyond the share of background work: %v", want, err)
			}
			occupancy = roomy()
		}
		claims, err := w.store.Claim(w.ctx, w.process, 1, occupancy)
		must(t, "Claim", err)
		if len(claims) != 1 || !strings.Contains(string(claims[0].Trigger.Content), want) {
			t.Fatalf("claimed %+v; want the turn of %q", claims, want)
		}
		mode := parley.ModeBackground
		if strings.HasPrefix(want, "person") {
			mode = parley.ModeForeground
		}
		if claims[0].Mode() != mode {
			t.Errorf("%q runs at the priority %s; want %s", want, claims[0].Mode(), mode)
		}
		w.answer(t, claims[0], "done")
	}
	ordinary := w.session(t, func(s *parley.Session) { s.Mode = parley.ModeBackground })
	w.post(t, ordinary, w.urgently("batch"))
	if claims, err := w.store.Claim(w.ctx, w.process, 1, full(w)); err != nil || len(claims) != 0 {
		t.Errorf("another session in background mode got %d turns at foreground priority, %v", len(claims), err)
	}
}

// urgentHurries: a turn that a person's message must wait for runs at foreground priority, too; and an idle background
// session runs the message directly.
func urgentHurries(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	w.post(t, session.ID, w.say("work"))
	if claims, err := w.store.Claim(w.ctx, w.process, 1, full(w)); err != nil || len(claims) != 0 {
		t.Fatalf("work was claimed beyond its share: %v", err)
	}
	w.post(t, session.ID, w.urgently("person"))
	for _, want := range []string{"work", "person"} {
		claims, err := w.store.Claim(w.ctx, w.process, 1, full(w))
		must(t, "Claim", err)
		if len(claims) != 1 || !strings.Contains(string(claims[0].Trigger.Content), want) {
			t.Fatalf("claimed %+v; want the turn of %q", claims, want)
		}
		w.answer(t, claims[0], "done")
	}
	posted, err := w.store.PostMessage(w.ctx, w.scope, session.ID, w.urgently("again"), w.process)
	if err != nil || posted.Claim == nil {
		t.Errorf("a person's message to an idle background session was not claimed: %v", err)
	}
}

// backgroundLoop: a loop that archives its session when it is done leaves a background session open.
func backgroundLoop(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent)
	loop := w.loop(t, session.ID, 1, func(l *store.NewLoop) { l.Loop.ArchiveDone = true })
	w.answer(t, w.iteration(t, loop.ID, 1), "1")
	if state := w.sessionState(t, session.ID); state.ArchivedAt != 0 || state.Status != parley.SessionCompleted {
		t.Errorf("after the loop the session is %+v", state)
	}
}

// teamDelegations: a session's open delegations are read the newest first and a bounded number of them; what has ended,
// what it received and what others sent are not among them.
func teamDelegations(t *testing.T, w *world) {
	c := w.crew(t)
	read := func(ids ...parley.ID) []parley.TeamDelegation {
		t.Helper()
		found, err := c.store.TeamDelegations(c.ctx, c.scope.WorkspaceID, ids)
		must(t, "TeamDelegations", err)
		return found
	}
	long := "\n  Look  \n" + strings.Repeat("far ", 1000)
	ids := c.hands(t, c.task(c.scout, long), c.task(c.clerk, "Write it down."))
	at, other := c.background(t, &c.scout).ID, c.background(t, &c.clerk).ID
	got := read(c.at, at, other)
	if len(got) != 2 || got[0].ID != ids[1] || got[1].ID != ids[0] {
		t.Fatalf("the lead waits for %+v; want %s, then %s", got, ids[1], ids[0])
	}
	whole := c.delegation(t, ids[0])
	want := parley.TeamDelegation{
		ID: whole.ID, Kind: parley.DelegationTask, Status: parley.DelegationDelivered, ToAgentID: c.scout.ID,
		Title: "Look", DeadlineAt: whole.DeadlineAt, CreatedAt: whole.CreatedAt, FromSessionID: c.at,
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Errorf("an open delegation differs (-want +got):\n%s", diff)
	}
	if found := read(at); len(found) != 0 {
		t.Errorf("the receiver waits for %+v", found)
	}
	if found := read(); len(found) != 0 {
		t.Errorf("nobody waits for %+v", found)
	}
	foreign, err := c.store.TeamDelegations(c.ctx, c.neighbour(t, "next").scope.WorkspaceID, []parley.ID{c.at})
	must(t, "TeamDelegations", err)
	if len(foreign) != 0 {
		t.Errorf("another workspace reads %+v", foreign)
	}

	claims := c.claimed(t)
	sessions, err := c.store.TeamSessions(c.ctx, c.scope, []parley.Agent{c.scout})
	must(t, "TeamSessions", err)
	if len(sessions) != 1 || sessions[0].Doing != "Look" {
		t.Errorf("the scout does %+v; want its task", sessions)
	}
	c.answer(t, claims["scout"], "Found it.")
	if got = read(c.at); len(got) != 1 || got[0].ID != ids[1] {
		t.Errorf("after an answer it waits for %+v; want %s", got, ids[1])
	}
}

// teamNextRuns: of an agent's schedules, the earliest counts; none that is paused, and none of another workspace.
func teamNextRuns(t *testing.T, w *world) {
	next := func(at parley.Time) func(*parley.Schedule) { return func(s *parley.Schedule) { s.NextAt = at } }
	early, idle := w.worker(t, "early"), w.worker(t, "idle")
	w.schedule(t, early.ID, next(longDue+2))
	w.schedule(t, early.ID, next(longDue+1))
	w.schedule(t, idle.ID, next(0), func(s *parley.Schedule) { s.Enabled = false })
	agents := []parley.ID{early.ID, idle.ID}
	got, err := w.store.NextRuns(w.ctx, w.scope.WorkspaceID, agents)
	must(t, "NextRuns", err)
	if diff := cmp.Diff(map[parley.ID]parley.Time{early.ID: longDue + 1}, got); diff != "" {
		t.Errorf("the next runs differ (-want +got):\n%s", diff)
	}
	got, err = w.store.NextRuns(w.ctx, w.neighbour(t, "next").scope.WorkspaceID, agents)
	must(t, "NextRuns", err)
	if len(got) != 0 {
		t.Errorf("another workspace reads the next runs %v", got)
	}
}
