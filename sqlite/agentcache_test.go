package sqlite

import (
	"fmt"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestCachedAgentsAreCurrent: whoever learns that an agent was changed reads the change, by its id and by its slug,
// however many read it meanwhile; and a slug that was given up names nobody.
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

// TestAgentsReadBeforeAChangeAreNotKept: a reading that began before a change may end after it.
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

// TestMessagesKeepCachedAgents: what conversations write is no change of an agent.
func TestMessagesKeepCachedAgents(t *testing.T) {
	t.Parallel()
	forgotten := func(messages int) int64 {
		db := opened(t)
		filled(t, db, messages)
		_, round, _ := db.agents.find(agentName{})
		return round
	}
	if few, many := forgotten(2), forgotten(40); few != many {
		t.Errorf("the agents were forgotten %d times by few messages, %d by many", few, many)
	}
}
