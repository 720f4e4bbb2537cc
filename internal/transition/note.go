package transition

import (
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// contextNote builds the note of a user message: the moment's facts from user_context, then what has become known since
// the session's block of knowledge was chosen, then the poster's own note. It is made once, with the message: a steer
// is sent before it enters the record, and "in an hour" counts from when it was said.
func (t *Tx) contextNote(h *Head, author parley.Author, given string) (string, error) {
	version, _, err := t.agent(h.WorkspaceID, h.AgentID)
	if err != nil {
		return "", err
	}
	agent, err := t.rows.AgentVersion(h.WorkspaceID, h.AgentID, version)
	if err != nil || agent == nil {
		return given, err
	}
	news, err := t.knowledgeNews(h, agent)
	if err != nil {
		return "", err
	}
	if given != "" && news != "" {
		news += "\n\n"
	}
	given = news + given
	settings := parley.ValueOf(setting.Middleware.Nearest(&agent.Settings, &h.Settings))
	if settings.UserContext == nil || len(*settings.UserContext) == 0 {
		return given, nil
	}
	var lines []string
	for _, field := range parley.ContextFields() {
		if !settings.Tells(field) {
			continue
		}
		value := ""
		switch field {
		case parley.ContextRequest:
			value = h.Title
		case parley.ContextProject:
			if value, err = t.projectLine(h); err != nil {
				return "", err
			}
		case parley.ContextUser:
			value = author.Name
		case parley.ContextTime:
			value = t.now.Std().Format(time.RFC3339)
		}
		if value = strings.Join(strings.Fields(value), " "); value != "" { // one line each, whatever the name contains
			lines = append(lines, string(field)+": "+parley.Clip(value, parley.MaxContextNoteLine))
		}
	}
	if len(lines) == 0 {
		return given, nil
	}
	note := "<context>\n" + strings.Join(lines, "\n") + "\n</context>"
	if given != "" {
		note += "\n\n" + given
	}
	return note, nil
}

// newsSlack is how much older than a block an item may be and still count as later, in milliseconds: those who wrote
// the two may have different clocks.
const newsSlack = parley.Time(10 * 60 * 1000)

// knowledgeNews returns what a session has not been told of what agents know, and notes it as told; "" if nothing.
func (t *Tx) knowledgeNews(h *Head, agent *parley.Agent) (string, error) {
	if h.Changes.New != nil || h.KnowledgeTokens(setting.KnowledgeTokens.Nearest(&agent.Settings, &h.Settings)) == 0 {
		return "", nil
	}
	block := h.Changes.Told // by another message of this transition
	if block == nil {
		var err error
		if block, err = t.rows.ChosenKnowledge(h); err != nil || block == nil {
			return "", err
		}
	}
	known, err := t.rows.UsableKnowledge(store.KnowledgeReach{
		WorkspaceID: h.WorkspaceID, AgentID: h.AgentID, ReaderID: h.ReaderID(), Since: block.ChosenAt - newsSlack,
		Limit: parley.KnowledgeCandidates,
	}, false)
	if err != nil {
		return "", err
	}
	news := block.News(known)
	if len(news) > 0 {
		h.Changes.Told = block
	}
	return parley.KnowledgeNewsText(news, block.N), nil
}

func (t *Tx) projectLine(h *Head) (string, error) {
	if h.ProjectID.IsZero() {
		return "", nil
	}
	project, err := t.rows.Project(h.WorkspaceID, h.ProjectID)
	if err != nil || project == nil {
		return "", err
	}
	return project.Name + " (" + project.Path + ")", nil
}

// agent reads the current version and status of an agent, once per transition.
func (t *Tx) agent(workspaceID, agentID parley.ID) (version int, status parley.AgentStatus, err error) {
	known := &t.known
	if known.id != agentID || known.version == 0 {
		if version, status, err = t.rows.Agent(workspaceID, agentID); err != nil {
			return 0, "", err
		}
		*known = knownAgent{agentID, version, status}
	}
	return known.version, known.status, nil
}

// knownAgent is an agent that the transition has read.
type knownAgent struct {
	id      parley.ID
	version int // 0: it does not exist
	status  parley.AgentStatus
}
