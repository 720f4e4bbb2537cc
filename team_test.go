package parley_test

import (
	"testing"

	"example.org/parley"
)

// TestTeamKeysAreReserved: no key or name that a caller may choose is the stored key of an agent's own session, each
// agent, owner and kind has its own, and none is shown.
func TestTeamKeysAreReserved(t *testing.T) {
	agent, owner := parley.NewID(), parley.NewID()
	reserved := []string{
		parley.BackgroundKey(agent, owner), parley.ForegroundKey(agent, owner),
		parley.BackgroundKey(agent, agent), parley.BackgroundKey(owner, agent), parley.ForegroundKey(owner, agent),
	}
	seen := map[string]bool{}
	for _, key := range reserved {
		if seen[key] {
			t.Errorf("%s is the key of two sessions", key)
		}
		seen[key] = true
		if shown := (&parley.Session{Key: key}).OpaqueKey(); shown != "" {
			t.Errorf("%s is shown as %q", key, shown)
		}
		for _, chosen := range []string{key, `\` + key} {
			if stored := parley.OpaqueKey(chosen); stored == key {
				t.Errorf("the chosen key %s is stored as %s", chosen, stored)
			}
		}
		ids := agent.String() + "/" + owner.String()
		for _, kind := range []string{"background", "foreground"} {
			for _, stored := range []string{
				parley.KeyFor(kind, ids, ""), parley.KeyFor(`","`+kind, ids, ""), parley.KeyFor(kind, ids, ids),
			} {
				if stored == key {
					t.Errorf("a name is stored as %s", key)
				}
			}
		}
	}
}

// TestInBackground: only the session made for an agent's own work is its background session.
func TestInBackground(t *testing.T) {
	agent := parley.Agent{ID: parley.NewID(), OwnerID: parley.NewID()}
	own := parley.BackgroundSession(&agent)
	if !own.InBackground() {
		t.Error("an agent's background session is not recognised")
	}
	heirs := own
	heirs.OwnerID = parley.NewID()
	other := parley.Session{AgentID: agent.ID, OwnerID: agent.OwnerID, Mode: parley.ModeBackground}
	if heirs.InBackground() || other.InBackground() {
		t.Error("another session is taken for the agent's background session")
	}
}
