package transition

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// BackgroundSession implements the transition of store.Teams.
func (t *Tx) BackgroundSession(scope store.Scope, agentID parley.ID, most int64) (store.Opened, error) {
	h, err := t.background(scope.WorkspaceID, agentID, most)
	if err == nil {
		h, err = t.lock(scope, h.ID)
	}
	if err != nil {
		return store.Opened{}, err
	}
	return store.Opened{Session: h.Session, Created: h.Changes.New != nil}, nil
}

// background locks the background session of an agent, and makes it if there is none and the workspace has fewer than
// most sessions; 0: any number.
func (t *Tx) background(workspaceID, agentID parley.ID, most int64) (*Head, error) {
	agent, err := t.newest(workspaceID, agentID)
	if err != nil {
		return nil, err
	}
	return t.backgroundOf(agent, most)
}

// newest reads the newest version of an agent.
func (t *Tx) newest(workspaceID, agentID parley.ID) (*parley.Agent, error) {
	version, _, err := t.agent(workspaceID, agentID)
	if err != nil {
		return nil, err
	}
	agent, err := t.rows.AgentVersion(workspaceID, agentID, version)
	if err == nil && agent == nil {
		err = NotFound("agent")
	}
	return agent, err
}

// backgroundOf is background for an agent that the caller has read, or changes in this transition.
func (t *Tx) backgroundOf(agent *parley.Agent, most int64) (*Head, error) {
	switch h, err := t.keyed(agent.WorkspaceID, parley.BackgroundKey(agent.ID, agent.OwnerID)); {
	case err != nil || h != nil:
		return h, err
	case agent.Status == parley.AgentArchived:
		return nil, errAgentArchived()
	case agent.OwnerID.IsZero():
		return nil, parley.Errorf(
			parley.CodeConflict,
			"the agent %q has no owner, so it cannot work on its own; an admin gives it one with "+
				"PATCH /v1/agents/%s {\"owner_id\": …}",
			agent.Slug,
			agent.Slug,
		)
	}
	return t.open(parley.BackgroundSession(agent), most)
}

// keyed locks the session with a stored key; nil if there is none.
func (t *Tx) keyed(workspaceID parley.ID, key string) (*Head, error) {
	for _, h := range t.locked { // one that this transition has made
		if h.WorkspaceID == workspaceID && h.Key == key && h.DeletedAt == 0 {
			return h, nil
		}
	}
	id, err := t.rows.SessionByKey(workspaceID, key)
	if err != nil || id.IsZero() {
		return nil, err
	}
	h, err := t.load(id)
	if err == nil && (h == nil || h.DeletedAt != 0) {
		return nil, NotFound("session")
	}
	return h, err
}

// open makes a session that its owner did not ask for by a request, unless that exceeds the owner's quota or the
// workspace has most sessions.
func (t *Tx) open(session parley.Session, most int64) (*Head, error) {
	quota := parley.Quota{Workspace: most}
	var err error
	if quota.Principal, err = t.rows.SessionsAllowed(session.WorkspaceID, session.OwnerID); err != nil {
		return nil, err
	}
	if err := t.checkQuota(&session, quota); err != nil {
		return nil, err
	}
	session.ID, session.LogID = parley.NewID(), parley.NewID()
	h := t.createSession(store.NewSession{Session: session})
	t.updatedFeed(h)
	return h, nil
}

// Doing returns the first line of what a delegation asks for, if a message carries one, or else that of the user
// message's content; "" if there is none.
func Doing(content json.RawMessage, delegated string) string {
	if delegated != "" {
		return parley.DelegationTitle(delegated)
	}
	var said parley.UserContent
	if len(content) == 0 || json.Unmarshal(content, &said) != nil {
		return ""
	}
	return parley.TitleFrom(said.Text)
}

// TitleLook is how many characters of a delegation's text are read for its title.
const TitleLook = 512

// BackgroundKeys returns the keys of the background sessions of agents.
func BackgroundKeys(agents []parley.Agent) []string {
	keys := make([]string, len(agents))
	for i := range agents {
		keys[i] = parley.BackgroundKey(agents[i].ID, agents[i].OwnerID)
	}
	return keys
}
