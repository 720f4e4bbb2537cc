package sqlite

import (
	"fmt"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestCachedAgentsAreCurrent: once a change is answered, everybody reads the changed agent, by id and by slug, while
// others keep reading; and an agent's former slug finds nothing.
func TestCachedAgentsAreCurrent(t *testing.T) {
	t.Parallel()
	db := opened(t)
	ctx, workspace := t.Context(), parley.NewID()
	agent, _, err := db.CreateAgent(ctx, parley.Agent{
		ID: parley.NewID(), WorkspaceID: workspace, Slug: "a0", Name: "A", Status: parley.AgentActive,
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	over, id := make(chan struct{}), agent.ID.String()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { // ends with the changes
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := db.Agent(ctx, workspace, id); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		before := agent.Slug
		agent.Slug = fmt.Sprint("a", agent.Version)
		changed, err := db.UpdateAgent(ctx, agent)
		if err != nil {
			t.Error(err)
			break
		}
		agent = changed
		for _, name := range []string{id, agent.Slug} {
			if got, err := db.Agent(ctx, workspace, name); err != nil || got.Version != agent.Version {
				t.Errorf("%s is read in version %d, %v; it was changed to %d", name, got.Version, err, agent.Version)
			}
		}
		if _, err := db.Agent(ctx, workspace, before); parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("%s, which was given up: %v", before, err)
		}
		if _, err := db.Agent(ctx, parley.NewID(), id); parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("in another workspace: %v", err)
		}
		if t.Failed() {
			break
		}
	}
	close(over)
	readers.Wait()
}

// TestAgentsReadBeforeAChangeAreNotKept: a read may begin before a change and end after it.
func TestAgentsReadBeforeAChangeAreNotKept(t *testing.T) {
	t.Parallel()
	var cache agentCache
	name := agentName{parley.NewID(), "a"}
	_, round, _ := cache.find(name)
	cache.forget()
	cache.keep(name, parley.Agent{Version: 1}, round)
	if _, _, found := cache.find(name); found {
		t.Error("it is kept")
	}
	_, round, _ = cache.find(name)
	cache.keep(name, parley.Agent{Version: 2}, round)
	if got, _, found := cache.find(name); !found || got.Version != 2 {
		t.Errorf("one that is current is version %d, found %v", got.Version, found)
	}
}

// TestMessagesKeepCachedAgents: posting a message does not empty the cache.
func TestMessagesKeepCachedAgents(t *testing.T) {
	t.Parallel()
	db := opened(t)
	scope, session := filled(t, db, 2)
	_, before, _ := db.agents.find(agentName{})
	posted, err := db.PostMessage(t.Context(), scope, session, store.NewMessage{
		ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser,
		Author:  parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID()},
		Content: []byte(`{"text":"Hello"}`),
	}, parley.ID{})
	if err != nil || posted.Message.TurnID.IsZero() {
		t.Fatalf("no turn begins: %v", err)
	}
	if _, after, _ := db.agents.find(agentName{}); after != before {
		t.Errorf("the cache was emptied %d times", after-before)
	}
}
