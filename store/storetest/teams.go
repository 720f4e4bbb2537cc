package storetest

import (
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testTeams(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"FirstsInTheBackgroundGetOneSession": backgroundFirsts,
		"TheBackgroundSession":               backgroundSession,
		"WhoHasNoBackgroundSession":          backgroundRefused,
	})
}

// firsts is how many callers ask at once for a session that nobody has asked for before.
const firsts = 50

// worker creates an agent that the test's principal owns.
func (w *world) worker(t reporter, slug string, changes ...func(*parley.Agent)) parley.Agent {
	t.Helper()
	agent := w.newAgent(slug)
	agent.OwnerID, agent.OwnerName, agent.ChangedByID = w.owner.ID, w.owner.Name, w.owner.ID
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
	var together sync.WaitGroup
	begin, answers, failures := make(chan struct{}), make([]store.Opened, firsts), make([]error, firsts)
	for i := range firsts {
		together.Go(func() {
			<-begin
			answers[i], failures[i] = w.store.BackgroundSession(w.ctx, w.scope, agent.ID, 0)
		})
	}
	close(begin)
	together.Wait()
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
		session.Title != parley.BackgroundTitle || !session.InBackground() || session.OpaqueKey() != "" {
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
