package httpapi

import (
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// featureInput names a feature whose sessions to archive.
type featureInput struct {
	Feature string `json:"feature" required:"true"`
}

func serveCreateSession(a *api, x *exchange) error {
	return a.openSession(x, a.engine.OpenSession, a.engine.DryRunSession)
}

func serveEnsureSession(a *api, x *exchange) error {
	return a.openSession(x, a.engine.EnsureSession, a.engine.DryRunEnsureSession)
}

// openSession answers with the session or, if a message is posted and a stream is asked for, with the frames of its
// turn.
func (a *api) openSession(x *exchange, open openVerb, dry dryOpenVerb) error {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return args.err
	}
	var input engine.SessionInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if agent := x.r.PathValue("agent"); agent != "" {
		if input.AgentID != "" {
			if err := a.sameAgent(x, "agent_id", input.AgentID, agent); err != nil {
				return err
			}
		}
		input.AgentID = agent
	}
	if input.DryRun {
		return a.dryRunSession(x, dry, input, flush)
	}
	idempotency, err := x.idempotency(x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	opened, err := open(x.r.Context(), x.principal, input, idempotency)
	if err != nil {
		return err
	}
	return a.answerOpened(x, &opened, flush)
}

// answerOpened answers with a session, or with the frames of the turn of the message that was posted with it.
func (a *api) answerOpened(x *exchange, opened *store.Opened, flush time.Duration) error {
	x.w.Header().Set("Location", "/v1/sessions/"+opened.Session.ID.String())
	if opened.Posted != nil {
		x.tellPosted(opened.Posted)
		if x.waits {
			return a.answerPosted(x, opened.Posted)
		}
		if x.wantsStream() && !opened.Posted.Message.TurnID.IsZero() {
			return a.streamTurn(x, turnOf(opened.Posted, flush))
		}
	}
	if x.waits {
		return sendJSON(x, http.StatusOK, Answered{Messages: []parley.Message{}})
	}
	if x.streamed {
		return x.noFrames()
	}
	status := http.StatusOK
	if opened.Created {
		status = http.StatusCreated
	}
	return x.sendSession(status, &opened.Session)
}

// sameAgent refuses a request that names another agent in a field than in its path; each may be named by id or slug.
func (a *api) sameAgent(x *exchange, field, one, other string) error {
	if one == other {
		return nil
	}
	first, err := a.engine.Agent(x.r.Context(), x.principal, one)
	if err != nil {
		return err
	}
	second, err := a.engine.Agent(x.r.Context(), x.principal, other)
	if err != nil {
		return err
	}
	if first.ID != second.ID {
		return parley.InvalidField(field, "differs from the agent in the path; leave it out")
	}
	return nil
}

func serveListSessions(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.SessionList{
		Paging:      args.paging(),
		Agents:      words[string](args, "agent"),
		ProjectIDs:  args.ids("project"),
		ParentIDs:   args.ids("parent"),
		Types:       words[string](args, "type"),
		Features:    words[string](args, "feature"),
		Tasks:       words[string](args, "task"),
		Kinds:       words[parley.SessionKind](args, "kind"),
		Modes:       words[parley.Mode](args, "mode"),
		Statuses:    words[parley.SessionStatus](args, "status"),
		Archived:    engine.ArchivedFilter(args.text("archived")),
		Pinned:      args.flag("pinned"),
		Tags:        words[string](args, "tag"),
		CreatedFrom: args.since("created_from"),
		CreatedTo:   args.until("created_to"),
	}
	if args.err != nil {
		return args.err
	}
	if agent := x.r.PathValue("agent"); agent != "" {
		for _, named := range list.Agents {
			if err := a.sameAgent(x, "agent", named, agent); err != nil {
				return err
			}
		}
		list.Agents = []string{agent}
	}
	sessions, err := a.engine.Sessions(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	body := make([]byte, 0, 64+len(sessions.Data)*sessionBytes)
	return x.sendBytes(http.StatusOK, appendPage(body, sessions.Data, sessions.Next, appendSession))
}

// sessionBytes is the usual size of a listed session.
const sessionBytes = 1650

func serveSession(a *api, x *exchange) error {
	id, err := x.pathID("session")
	if err != nil {
		return err
	}
	var session parley.Session
	if agent := x.r.PathValue("agent"); agent != "" {
		session, err = a.engine.SessionOfAgent(x.r.Context(), x.principal, agent, id)
	} else {
		session, err = a.engine.Session(x.r.Context(), x.principal, id)
	}
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}

func serveSessionByKey(a *api, x *exchange) error {
	args := x.arguments()
	name := engine.SessionName{
		Key: args.text("key"), Type: args.text("type"), Feature: args.text("feature"), Task: args.text("task"),
	}
	if args.err != nil {
		return args.err
	}
	session, err := a.engine.SessionByKey(x.r.Context(), x.principal, name)
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}

func serveUpdateSession(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var patch engine.SessionPatch
	if err := checked(a, x, &patch); err != nil {
		return err
	}
	patch.If = ifMatch(x, func(current *parley.Session) ([]byte, error) { return appendSession(nil, current), nil })
	session, err := a.engine.UpdateSession(x.r.Context(), x.principal, id, patch)
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}

func serveClearContext(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	session, err := a.engine.ClearContext(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}

func serveDeleteSession(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	if err := a.engine.DeleteSession(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

func serveArchiveFeature(a *api, x *exchange) error {
	var input featureInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	archived, err := a.engine.ArchiveFeature(x.r.Context(), x.principal, input.Feature)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, archived)
}

func (x *exchange) sendSession(status int, session *parley.Session) error {
	return x.sendBytes(status, appendSession(make([]byte, 0, sessionBytes), session))
}

func serveTree(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	tree, err := a.engine.SessionTree(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, tree)
}
