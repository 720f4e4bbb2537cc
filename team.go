package parley

// A team is a lead and the agents whose lead_id leads to it.

// The bounds of a team.
const (
	MaxTeamMembers = 64 // active agents, its lead included
	MaxTeamDepth   = 5  // levels, the lead's included
	MaxTeamWaits   = 16 // open delegations that a team shows of each member
)

// BackgroundTitle returns the title of an agent's background session, until somebody renames it. The name comes first:
// lists cut titles off.
func BackgroundTitle(agent *Agent) string {
	return Clip(agent.Name+": background work", MaxNameBytes)
}

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

// ConversationKey returns the stored key of the session in which a principal's client of another protocol has a
// conversation, by the client's name for it.
func ConversationKey(protocol string, principalID ID, name string) string {
	return KeyFor("", protocol, principalID.String()+"/"+name)
}

// BackgroundSession returns a new session, without ids of its own, in which an agent does its own work. It is its
// owner's alone until they share it. Opening it accepts nothing: what may run unasked follows from the versions of the
// agent that the owner made.
func BackgroundSession(agent *Agent) Session {
	return Session{
		WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, OwnerID: agent.OwnerID,
		Visibility: VisibilityPrivate, Kind: KindAgent, Mode: ModeBackground,
		Key: BackgroundKey(agent.ID, agent.OwnerID), Title: BackgroundTitle(agent), Accepted: &Accepted{},
	}
}

// ForegroundSession returns a new session, without ids of its own, in which a principal talks with an agent.
func ForegroundSession(agent *Agent, principalID ID) Session {
	return Session{
		WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, OwnerID: principalID,
		Visibility: VisibilityPrivate, Kind: KindAgent, Mode: ModeForeground,
		Key: ForegroundKey(agent.ID, principalID), Accepted: &Accepted{},
	}
}

// InBackground reports whether this is the background session of its agent: the one made for its own work, not just any
// session in background mode.
func (s *Session) InBackground() bool { return s.Key == BackgroundKey(s.AgentID, s.OwnerID) }

// InForeground reports whether this is the session in which its owner talks with its agent, where the agent finds them.
func (s *Session) InForeground() bool { return s.Key == ForegroundKey(s.AgentID, s.OwnerID) }

// TeamLead is a team as lists show it: its lead, and how many it has.
type TeamLead struct {
	LeadID      ID     `json:"lead_id"` // the agent
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description"`
	OwnerID     ID     `json:"owner_id"`     // the one owner of all members
	OwnerName   string `json:"owner_name"`   // "" for an owner from before names were kept
	MemberCount int    `json:"member_count"` // active agents, the lead included
}

// Team is a lead with everyone whose lead_id leads to it.
type Team struct {
	TeamLead              // flat
	Members  []TeamMember `json:"members"` // the lead first, then level by level, by slug within one
	Total    TreeTotal    `json:"total"`   // of the members' background sessions that the reader may see
}

// TeamMember is an active agent of a team.
type TeamMember struct {
	AgentID     ID     `json:"agent_id"`
	Slug        string `json:"slug"`
	Name        string `json:"name"`
	Description string `json:"description"`
	LeadID      ID     `json:"lead_id"` // null for a lead at the top
	Depth       int    `json:"depth"`   // levels below the team's lead, which has 0
	// its background session; null if there is none yet, or the reader may not see it
	Background *TeamSession `json:"background"`
	// what it has sent and waits for, the newest first, at most MaxTeamWaits; none if its background session is null
	OpenDelegations []TeamDelegation `json:"open_delegations"`
	NextRunAt       Time             `json:"next_run_at"` // the earliest of its schedules; null: none is due
}

// TeamDelegation is an open delegation, as teams show it.
type TeamDelegation struct {
	ID            ID               `json:"id"`
	Kind          DelegationKind   `json:"kind"`
	Status        DelegationStatus `json:"status"`
	ToAgentID     ID               `json:"to_agent_id"`     // of what goes to a person: the sender itself
	ToPrincipalID ID               `json:"to_principal_id"` // the person; null for an agent
	Title         string           `json:"title"`           // the first line of its text, shortened
	DeadlineAt    Time             `json:"deadline_at"`
	CreatedAt     Time             `json:"created_at"`

	FromSessionID ID `json:"-"`
}

// TeamSession is what a member does in its background session now, and what that has cost so far.
type TeamSession struct {
	SessionID  ID            `json:"session_id"`
	Status     SessionStatus `json:"status"`
	WaitReason WaitReason    `json:"wait_reason,omitempty"`
	TurnID     ID            `json:"turn_id"`    // the first unfinished work session; null: it has nothing to do
	Doing      string        `json:"doing"`      // the first line of the task or message that began it; "" without one
	Statistics Statistics    `json:"statistics"` // of the session itself; tool sessions stand in its tree
	UpdatedAt  Time          `json:"updated_at"` // last activity

	AgentID ID `json:"-"`
}

// MarshalJSON writes null for absent fields.
func (s TeamSession) MarshalJSON() ([]byte, error) {
	type plain TeamSession
	return EncodeJSON(struct {
		*plain
		WaitReason *WaitReason `json:"wait_reason"`
	}{(*plain)(&s), OrNull(s.WaitReason)})
}

// TeamLeadOf returns an agent as the lead of a team of a size.
func TeamLeadOf(agent *Agent, members int) TeamLead {
	return TeamLead{
		agent.ID, agent.Slug, agent.Name, agent.Description, agent.OwnerID, agent.OwnerName, members,
	}
}

// TeamWork is what the members of a team do: those of their background sessions that the reader may see, the open
// delegations that these have sent, and when each agent's schedules are due next.
type TeamWork struct {
	Sessions    []TeamSession
	Delegations []TeamDelegation
	NextRuns    map[ID]Time
}

// NewTeam puts a team together: agents are the lead and those below it, each after its own lead.
func NewTeam(agents []Agent, work *TeamWork) Team {
	sessions := work.Sessions
	waits := make(map[ID][]TeamDelegation, len(sessions))
	for i := range work.Delegations {
		from := work.Delegations[i].FromSessionID
		waits[from] = append(waits[from], work.Delegations[i])
	}
	doing := make(map[ID]*TeamSession, len(sessions))
	for i := range sessions {
		doing[sessions[i].AgentID] = &sessions[i]
	}
	team := Team{TeamLead: TeamLeadOf(&agents[0], len(agents)), Members: make([]TeamMember, 0, len(agents))}
	depths := map[ID]int{}
	for i := range agents {
		a := &agents[i]
		if i > 0 {
			depths[a.ID] = depths[a.LeadID] + 1
		}
		member := TeamMember{
			AgentID: a.ID, Slug: a.Slug, Name: a.Name, Description: a.Description, LeadID: a.LeadID,
			Depth: depths[a.ID], Background: doing[a.ID], OpenDelegations: []TeamDelegation{},
			NextRunAt: work.NextRuns[a.ID],
		}
		if session := doing[a.ID]; session != nil {
			member.OpenDelegations = append(member.OpenDelegations, waits[session.SessionID]...)
			s := &session.Statistics
			team.Total.add(TreeTotal{
				Sessions: 1, Turns: s.Turns, Tokens: s.Tokens, Cost: s.Cost, Unpriced: s.Unpriced,
			})
		}
		team.Members = append(team.Members, member)
	}
	return team
}
