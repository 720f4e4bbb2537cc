package parley

// A team is a lead and the agents whose lead_id leads to it.

// The bounds of a team.
const (
	MaxTeamMembers = 64 // active agents, its lead included
	MaxTeamDepth   = 5  // levels, the lead's included
)

// BackgroundTitle is the title of background sessions that nobody has renamed.
const BackgroundTitle = "Background work"

// Keys of an agent's own sessions. They stand in the namespace of derived keys with an empty type, which KeyFor never
// gets from a caller; so nobody can name such a session by a key, and none is shown.

// BackgroundKey returns the stored key of the session in which an agent does its own work. An agent that gets another
// owner works in another session: what was said to its previous owner stays with that owner.
func BackgroundKey(agentID, ownerID ID) string {
	return KeyFor("", "background", agentID.String()+"/"+ownerID.String())
}

// ForegroundKey returns the stored key of the session in which a principal talks with an agent.
func ForegroundKey(agentID, principalID ID) string {
	return KeyFor("", "foreground", agentID.String()+"/"+principalID.String())
}

// BackgroundSession returns a new session, without ids of its own, in which an agent does its own work. It is its
// owner's alone until they share it. Opening it accepts nothing: what may run unasked follows from the versions of the
// agent that the owner made.
func BackgroundSession(agent *Agent) Session {
	return Session{
		WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, OwnerID: agent.OwnerID,
		Visibility: VisibilityPrivate, Kind: KindAgent, Mode: ModeBackground,
		Key: BackgroundKey(agent.ID, agent.OwnerID), Title: BackgroundTitle, Accepted: &Accepted{},
	}
}

// InBackground reports whether this is the background session of its agent: the one made for its own work, not just any
// session in background mode.
func (s *Session) InBackground() bool { return s.Key == BackgroundKey(s.AgentID, s.OwnerID) }
