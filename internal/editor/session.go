package editor

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"sync"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

const (
	maxModes     = 500     // agents that are offered
	maxMoves     = 32      // agents that a session had after another
	maxDirectory = 4 << 10 // bytes of a path
	rootFolder   = "/"     // of sessions that have none
)

// session is one of the editor's sessions. Its conversation moves on to another session of Parley's when the editor
// chooses another agent.
type session struct {
	server *server
	id     string // the editor's

	mu        sync.Mutex // guards the rest
	at        parley.ID  // where the conversation is now
	agent     parley.Agent
	directory string
	title     string
	turns     map[*turn]bool      // that are followed
	alone     map[parley.ID]int64 // by session: up to this message nobody else has spoken
}

// memory is what a session's metadata hold for this package, in their member acp.
type memory struct {
	Directory string    `json:"cwd,omitempty"`
	Program   string    `json:"program,omitempty"` // which answers the editor's tools
	Goes      parley.ID `json:"continued_in_id,omitzero"`
}

// remembered reads it.
func remembered(of *parley.Session) memory {
	var metadata map[string]json.RawMessage // a struct would take ACP for acp, which others may write
	var m memory
	if json.Unmarshal(of.Metadata, &metadata) == nil && json.Unmarshal(metadata["acp"], &m) != nil {
		return memory{}
	}
	return m
}

// remembering returns metadata that hold it, beside what they hold already.
func remembering(metadata json.RawMessage, m memory) json.RawMessage {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(metadata, &all) // always an object
	all["acp"], _ = json.Marshal(m)    //nolint:errchkjson // texts
	encoded, _ := json.Marshal(all)    //nolint:errchkjson // JSON as it was read
	return encoded
}

// find returns an open session; nil if there is none with this id.
func (s *server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// opened returns an open session.
func (s *server) opened(id string) (*session, error) {
	if x := s.find(id); x != nil {
		return x, nil
	}
	return nil, parley.Errorf(parley.CodeNotFound, "the session %q is not open: load it first", parley.Clip(id, 64))
}

// keep notes a session as open.
func (s *server) keep(x *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= maxOpen && s.sessions[x.id] == nil {
		return parley.Errorf(parley.CodeRateLimited, "%d sessions are open; close one first", maxOpen)
	}
	if had := s.sessions[x.id]; had != nil {
		had.leave()
	}
	s.sessions[x.id] = x
	return nil
}

// setup are the parameters with which sessions are opened.
type setup struct {
	ID        string `json:"sessionId"`
	Directory string `json:"cwd"`
}

// modes are the agents that a session may have.
type modes struct {
	Current string `json:"currentModeId"`
	All     []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// begun answers a request that opened a session.
type begun struct {
	ID    string `json:"sessionId,omitempty"`
	Modes modes  `json:"modes"`
}

// modesOf lists the agents, and the one that a session has.
func (s *server) modesOf(ctx context.Context, agent *parley.Agent) (m modes, err error) {
	m = modes{Current: agent.Slug, All: []mode{}}
	found := false
	add := func(a *parley.Agent) {
		found = found || a.ID == agent.ID
		m.All = append(m.All, mode{ID: a.Slug, Name: a.Name, Description: parley.Clip(a.Description, 512)})
	}
	for a, err := range s.api.AllAgents(ctx, client.AgentsQuery{Limit: parley.MaxPage}) {
		if err != nil {
			return m, err
		}
		if add(&a); len(m.All) >= maxModes {
			break
		}
	}
	if !found { // archived, or beyond the bound
		add(agent)
	}
	return m, nil
}

// open begins a new session.
func (s *server) open(ctx context.Context, params json.RawMessage) (any, error) {
	var given setup
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	if given.Directory == "" {
		return nil, parley.InvalidField("cwd", "is missing; name the session's directory")
	}
	if err := parley.CheckText("cwd", given.Directory, maxDirectory); err != nil {
		return nil, err
	}
	input := client.SessionInput{
		AgentID:  s.agent,
		Metadata: remembering(nil, memory{Directory: given.Directory, Program: s.own}),
	}
	// The directory is a project if the server may use it: it may run elsewhere, or allow others only.
	if project, err := s.api.ChooseProject(ctx, client.ProjectInput{Path: given.Directory}); err == nil {
		input.ProjectID = project.ID
	} else if parley.ErrorCode(err) == parley.CodeUnavailable {
		return nil, err
	}
	made, err := s.api.CreateSession(ctx, input)
	if err != nil {
		return nil, err
	}
	return s.begin(ctx, &session{server: s, id: made.ID.String(), directory: given.Directory}, &made, true)
}

// begin opens a session of Parley's for the editor.
func (s *server) begin(ctx context.Context, x *session, of *parley.Session, fresh bool) (any, error) {
	agent, err := s.api.Agent(ctx, of.AgentID.String())
	if err != nil {
		return nil, err
	}
	x.at, x.agent, x.title, x.turns = of.ID, agent, of.Title, map[*turn]bool{}
	m, err := s.modesOf(ctx, &agent)
	if err != nil {
		return nil, err
	}
	if err := s.keep(x); err != nil {
		return nil, err
	}
	answer := begun{Modes: m}
	if fresh {
		answer.ID = x.id
	}
	return answer, nil
}

// where finds the session in which a conversation of the editor's is now.
func (s *server) where(ctx context.Context, id string) (of parley.Session, err error) {
	at, err := parley.ParseID(id)
	if err != nil {
		return of, parley.Errorf(parley.CodeNotFound, "there is no session %q", parley.Clip(id, 64))
	}
	for range maxMoves {
		if of, err = s.api.Session(ctx, at); err != nil {
			return of, err
		}
		mine, err := s.mine(ctx, &of)
		if at = remembered(&of).Goes; err != nil || !mine || at.IsZero() {
			return of, err
		}
	}
	return of, nil
}

// take opens a session that exists. With history, the editor is told all of it first. A turn that runs is followed.
func (s *server) take(ctx context.Context, params json.RawMessage, history bool) (any, error) {
	var given setup
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	if err := parley.CheckText("cwd", given.Directory, maxDirectory); err != nil {
		return nil, err
	}
	of, err := s.where(ctx, given.ID)
	if err != nil {
		return nil, err
	}
	x := &session{server: s, id: given.ID, directory: given.Directory}
	mine, err := s.mine(ctx, &of)
	if err != nil {
		return nil, err
	}
	if x.directory == "" && mine {
		x.directory = remembered(&of).Directory
	}
	answer, err := s.begin(ctx, x, &of, false)
	if err != nil {
		return nil, err
	}
	v := newView(x)
	if history {
		if err := v.replay(ctx, &of); err != nil {
			return nil, err
		}
	}
	if !of.TurnID.IsZero() {
		if err := x.claim(ctx); err != nil {
			return nil, err
		}
		t := x.follow(v, of.TurnID, of.LastEvent)
		t.late = true
		s.work.Go(func() { // ends with the turn, or with the connection
			_, _ = t.run(t.ctx) // nobody asked for its end
		})
	}
	return answer, nil
}

// listed is a session as the editor lists it.
type listed struct {
	ID        string      `json:"sessionId"`
	Directory string      `json:"cwd"`
	Title     string      `json:"title,omitempty"`
	UpdatedAt parley.Time `json:"updatedAt"`
}

// list lists sessions, the last active first.
func (s *server) list(ctx context.Context, params json.RawMessage) (any, error) {
	var given struct {
		Directory string `json:"cwd"`
		Cursor    string `json:"cursor"`
	}
	if len(params) > 0 && string(params) != "null" {
		if err := arguments(params, &given); err != nil {
			return nil, err
		}
	}
	page, err := s.api.Sessions(ctx, client.SessionsQuery{
		Limit: parley.MaxPage, Cursor: given.Cursor, Kind: []parley.SessionKind{parley.KindAgent},
		Mode: []parley.Mode{parley.ModeForeground},
	})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Sessions []listed `json:"sessions"`
		Next     string   `json:"nextCursor,omitempty"`
	}{Sessions: []listed{}, Next: page.Next}
	projects := map[parley.ID]string{}
	for i := range page.Data {
		of := &page.Data[i]
		var kept memory
		if mine, err := s.mine(ctx, of); err != nil {
			return nil, err
		} else if mine {
			kept = remembered(of)
		}
		if !kept.Goes.IsZero() {
			continue // it is listed where it goes on
		}
		directory := kept.Directory
		if directory == "" && !of.ProjectID.IsZero() {
			if _, known := projects[of.ProjectID]; !known {
				project, err := s.api.Project(ctx, of.ProjectID)
				if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
					return nil, err
				}
				projects[of.ProjectID] = project.Path
			}
			directory = projects[of.ProjectID]
		}
		if directory == "" {
			directory = rootFolder
		}
		if given.Directory == "" || path.Clean(given.Directory) == path.Clean(directory) {
			answer.Sessions = append(answer.Sessions, listed{of.ID.String(), directory, of.Title, of.UpdatedAt})
		}
	}
	return answer, nil
}

// choose gives a session another agent: the conversation goes on in a fork, or in a new session while it is empty.
func (s *server) choose(ctx context.Context, params json.RawMessage) (any, error) {
	var given struct {
		ID   string `json:"sessionId"`
		Mode string `json:"modeId"`
	}
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	x, err := s.opened(given.ID)
	if err != nil {
		return nil, err
	}
	if given.Mode == "" || strings.Contains(given.Mode, "/") {
		return nil, parley.InvalidField("modeId", "%q is not an agent", parley.Clip(given.Mode, 64))
	}
	agent, err := s.api.Agent(ctx, given.Mode)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case agent.ID == x.agent.ID:
		return struct{}{}, nil
	case len(x.turns) > 0:
		return nil, parley.Errorf(parley.CodeConflict, "a turn is running; choose the agent when it has ended")
	}
	of, err := s.api.Session(ctx, x.at)
	if err != nil {
		return nil, err
	}
	kept := remembering(of.Metadata, memory{Directory: x.directory, Program: s.own})
	change := client.SessionPatch{}
	var next parley.Session
	if of.LastSequence == 0 {
		next, err = s.api.CreateSession(ctx, client.SessionInput{
			AgentID: agent.ID.String(), ProjectID: of.ProjectID, Metadata: kept,
		})
		change.Archived = parley.Change[bool]{Set: true, Value: true}
	} else {
		next, err = s.api.ForkSession(ctx, of.ID, client.ForkInput{
			BranchInput: client.BranchInput{AgentID: agent.ID.String(), Metadata: kept},
		})
	}
	if err != nil {
		return nil, err
	}
	if mine, err := s.mine(ctx, &of); err != nil {
		return nil, err
	} else if mine { // somebody else's conversation does not continue here for them
		moved := remembered(&of)
		moved.Goes = next.ID
		change.Metadata = parley.Change[json.RawMessage]{Set: true, Value: remembering(of.Metadata, moved)}
		if _, err := s.api.UpdateSession(ctx, of.ID, change); err != nil {
			return nil, err
		}
	}
	x.at, x.agent = next.ID, agent
	return struct{}{}, nil
}

// close ends what a session's turn does, and forgets the session.
func (s *server) close(params json.RawMessage) (any, error) {
	var given setup
	if err := arguments(params, &given); err != nil {
		return nil, err
	}
	x, err := s.opened(given.ID)
	if err != nil {
		return nil, err
	}
	x.cancel()
	s.mu.Lock()
	delete(s.sessions, x.id)
	s.mu.Unlock()
	return struct{}{}, nil
}

// cancel cancels the turns that are followed.
func (x *session) cancel() {
	for _, t := range x.following() {
		t.cancel()
	}
}

// leave stops following turns; they go on.
func (x *session) leave() {
	for _, t := range x.following() {
		t.stop()
	}
}

func (x *session) following() (all []*turn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for t := range x.turns {
		all = append(all, t)
	}
	return all
}

// claim makes this program the one that answers the editor's tools in a session: of two editors that have it open, the
// last one that opened it or prompted there. Where the editor offers tools that change something, the session asks
// about them unless its agent has a rule. In sessions of others the editor's tools are not offered.
func (x *session) claim(ctx context.Context) error {
	s := x.server
	x.mu.Lock()
	at, agent := x.at, x.agent
	x.mu.Unlock()
	of, err := s.api.Session(ctx, at)
	if err != nil {
		return err
	}
	if mine, err := s.mine(ctx, &of); err != nil || !mine {
		return err
	}
	change, changes := client.SessionPatch{}, false
	if kept := remembered(&of); kept.Program != s.own {
		kept.Program = s.own
		change.Metadata, changes = parley.Change[json.RawMessage]{
			Set:   true,
			Value: remembering(of.Metadata, kept),
		}, true
	}
	offers := s.editorOffers()
	if missing := offers.rules(&agent, &of); len(missing) > 0 {
		grants := append(parley.ValueOf(of.Grants), missing...)
		change.Grants, changes = parley.Change[*[]parley.Grant]{Set: true, Value: &grants}, true
	}
	if changes {
		_, err = s.api.UpdateSession(ctx, at, change)
	}
	return err
}

// update tells the editor something about the session.
func (x *session) update(update any) {
	_ = x.server.conn.Notify(acpwire.MethodUpdate, struct { // the connection's reader learns that it is gone
		ID     string `json:"sessionId"`
		Update any    `json:"update"`
	}{x.id, update})
}
