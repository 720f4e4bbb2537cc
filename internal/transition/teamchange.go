package transition

import "example.org/parley"

// Teammate is an agent as far as teams depend on it.
type Teammate struct {
	ID, LeadID, OwnerID parley.ID
	Slug                string
	Status              parley.AgentStatus
	name                string // of one that the transition changes; the others' bodies are not read
}

func teammate(a *parley.Agent) Teammate {
	return Teammate{a.ID, a.LeadID, a.OwnerID, a.Slug, a.Status, a.Name}
}

// joins reports whether a change may put the agent into a team, or into another place of one.
func (m *Teammate) joins(before *Teammate) bool {
	return m.Status == parley.AgentActive && (before == nil || m.LeadID != before.LeadID || before.Status != m.Status)
}

// ChangeTeams checks that agents may become as they are in after, all in this transaction, and opens the background
// sessions of those that enter a team. before holds the existing ones as they are; an agent that is missing there is
// new. It refuses a circle of leads, a team of several owners or none, one too deep or too large, and a lead that is
// archived before its subordinates.
//
// It reads every team that the change concerns after locking the teams of the workspace, and the lock is held until the
// commit. So of two changes that only together would break a rule, the second one sees the first.
func (t *Tx) ChangeTeams(workspaceID parley.ID, before, after []parley.Agent) error {
	was := make(map[parley.ID]*Teammate, len(before))
	for i := range before {
		m := teammate(&before[i])
		was[m.ID] = &m
	}
	var moved []Teammate
	var near []parley.ID
	for i := range after {
		m := teammate(&after[i])
		old := was[m.ID]
		if old == nil && m.LeadID.IsZero() || old != nil && old.LeadID == m.LeadID && old.OwnerID == m.OwnerID &&
			old.Status == m.Status {
			continue
		}
		moved = append(moved, m)
		near = append(near, m.ID)
		if !m.LeadID.IsZero() {
			near = append(near, m.LeadID)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	found, err := t.rows.Teammates(workspaceID, near)
	if err != nil {
		return err
	}
	teams := teamsOf(found, moved)
	for i := range moved {
		if err := teams.check(&moved[i], was[moved[i].ID]); err != nil {
			return err
		}
	}
	for i := range moved {
		m := &moved[i]
		if m.LeadID.IsZero() || !m.joins(was[m.ID]) {
			continue
		}
		for _, member := range []*Teammate{m, teams.byID[m.LeadID]} {
			if err := t.hasBackground(workspaceID, member); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasBackground opens the background session of a member that has none. It leaves an existing one unlocked.
func (t *Tx) hasBackground(workspaceID parley.ID, member *Teammate) error {
	key := parley.BackgroundKey(member.ID, member.OwnerID)
	for _, h := range t.locked { // made for another member of the same change
		if h.Key == key {
			return nil
		}
	}
	if id, err := t.rows.SessionByKey(workspaceID, key); err != nil || !id.IsZero() {
		return err
	}
	agent := &parley.Agent{ID: member.ID, WorkspaceID: workspaceID, OwnerID: member.OwnerID, Name: member.name}
	if agent.Name == "" { // it stays as it is
		var err error
		if agent, err = t.newest(workspaceID, member.ID); err != nil {
			return err
		}
	}
	_, err := t.open(parley.BackgroundSession(agent), 0)
	return err
}

// teams are the agents around a change, as they would be after it.
type teams struct {
	byID  map[parley.ID]*Teammate
	below map[parley.ID][]*Teammate // active subordinates by lead
}

func teamsOf(found, moved []Teammate) *teams {
	all := &teams{byID: map[parley.ID]*Teammate{}, below: map[parley.ID][]*Teammate{}}
	for _, list := range [][]Teammate{found, moved} {
		for i := range list {
			all.byID[list[i].ID] = &list[i]
		}
	}
	for _, m := range all.byID {
		if m.Status == parley.AgentActive && !m.LeadID.IsZero() {
			all.below[m.LeadID] = append(all.below[m.LeadID], m)
		}
	}
	return all
}

// check refuses what an agent would become.
func (all *teams) check(m, before *Teammate) error {
	var lead *Teammate
	if !m.LeadID.IsZero() {
		if lead = all.byID[m.LeadID]; lead == nil {
			return parley.Errorf(parley.CodeNotFound, "lead_id: this agent does not exist.")
		}
	}
	top, err := all.top(m)
	switch {
	case err != nil:
		return err
	case m.Status == parley.AgentArchived:
		if len(all.below[m.ID]) > 0 {
			return parley.Errorf(
				parley.CodeConflict,
				"%q leads %d agents; give them another lead first, or archive them with it: "+
					"DELETE /v1/agents/%s?cascade=true",
				m.Slug,
				len(all.below[m.ID]),
				m.Slug,
			)
		}
		return nil
	case lead != nil && lead.Status == parley.AgentArchived:
		return parley.InvalidField("lead_id", "%q is archived; reactivate it first, or choose another lead", lead.Slug)
	}
	if err := all.checkOwners(m, lead, before); err != nil {
		return err
	}
	if lead == nil || !m.joins(before) {
		return nil
	}
	size, depth := all.measure(top)
	switch {
	case depth > parley.MaxTeamDepth:
		return parley.InvalidField(
			"lead_id",
			"the team of %q would have more than %d levels; choose a lead nearer to its top",
			top.Slug,
			parley.MaxTeamDepth,
		)
	case size > parley.MaxTeamMembers:
		return parley.InvalidField(
			"lead_id",
			"the team of %q would have %d members, and %d is the most",
			top.Slug,
			size,
			parley.MaxTeamMembers,
		)
	}
	return nil
}

// top returns the lead at the top of an agent's team. A circle has none.
func (all *teams) top(m *Teammate) (*Teammate, error) {
	top := m
	for steps := 0; !top.LeadID.IsZero() && all.byID[top.LeadID] != nil; steps++ {
		if top = all.byID[top.LeadID]; top.ID == m.ID || steps > len(all.byID) {
			return nil, parley.InvalidField(
				"lead_id",
				"%q is led by this agent, directly or through others; leads must not form a circle",
				all.byID[m.LeadID].Slug,
			)
		}
	}
	return top, nil
}

// checkOwners refuses a team of several owners, or of none.
func (all *teams) checkOwners(m, lead, before *Teammate) error {
	field := "lead_id"
	if before != nil && before.OwnerID != m.OwnerID {
		field = "owner_id"
	}
	others := all.below[m.ID]
	if lead != nil {
		others = append([]*Teammate{lead}, others...)
	}
	for _, other := range others {
		switch {
		case m.OwnerID.IsZero():
			return parley.InvalidField(field, "an agent without an owner cannot be in a team; it is in one with %q",
				other.Slug)
		case other.OwnerID != m.OwnerID:
			return parley.InvalidField(
				field,
				"a team has one owner, and %q belongs to somebody else; take the agent out of the team first, or "+
					"choose another lead",
				other.Slug,
			)
		}
	}
	return nil
}

// measure returns the number of active agents in the team of a lead, and of its levels. A circle elsewhere, from before
// leads were checked, is walked once.
func (all *teams) measure(top *Teammate) (size, depth int) {
	seen := map[parley.ID]bool{top.ID: true}
	for level := []*Teammate{top}; len(level) > 0; depth++ {
		var next []*Teammate
		for _, m := range level {
			size++
			for _, below := range all.below[m.ID] {
				if !seen[below.ID] {
					seen[below.ID] = true
					next = append(next, below)
				}
			}
		}
		level = next
	}
	return size, depth
}

// AgentChanged is the error for a change that was made to another version of an agent than the current one.
func AgentChanged(current, wanted *parley.Agent) error {
	return parley.Errorf(
		parley.CodeConflict,
		"somebody else changed the agent meanwhile: it is at version %d, your change was made to version %d; "+
			"read it again",
		current.Version,
		wanted.Version,
	)
}
