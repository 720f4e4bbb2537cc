package a2a

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// The bounds of a list of tasks.
const (
	standardTasks = 50
	maxTasks      = 100
	maxWholeTasks = 20 // with what they say
	maxPageToken  = 4096
	maxListReads  = 128 // pages of turns that a page of tasks looks through; the next one continues
)

// tasks is a page of tasks.
type tasks struct {
	Tasks []*task `json:"tasks"`
	Next  string  `json:"nextPageToken"`
	Size  int     `json:"pageSize"`
	Total int     `json:"totalSize"` // that are known of
}

// pageToken is where the next page begins.
type pageToken struct {
	Sessions string `json:"s,omitempty"` // the page of sessions
	Skip     int    `json:"k,omitempty"` // sessions of that page
	Turns    string `json:"t,omitempty"` // the page of the session's turns
	Before   int    `json:"n,omitempty"` // tasks listed before
}

func (p pageToken) encode() string {
	raw, _ := json.Marshal(p) //nolint:errchkjson // texts and numbers
	return base64.RawURLEncoding.EncodeToString(raw)
}

func readPageToken(text string) (p pageToken, err error) {
	if text == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if len(text) > maxPageToken || err != nil || json.Unmarshal(raw, &p) != nil || p.Skip < 0 || p.Before < 0 {
		return p, invalid("pageToken is not one of this list")
	}
	return p, nil
}

// wanted selects tasks.
type wanted struct {
	state    taskState
	statuses []parley.TurnStatus
	after    parley.Time
}

// wants reads what a request selects; nothing reports that no turn is ever that.
func (r *request) wants() (w wanted, nothing bool, err error) {
	switch w.state = r.Status; r.Status {
	case "", "TASK_STATE_UNSPECIFIED", "UNRECOGNIZED": // the last is what @a2a-js/sdk makes of none
		w.state = ""
	case submitted:
		w.statuses = []parley.TurnStatus{parley.TurnQueued}
	case working:
		w.statuses = []parley.TurnStatus{parley.TurnQueued, parley.TurnRunning, parley.TurnWaiting}
	case inputRequired:
		w.statuses = []parley.TurnStatus{parley.TurnWaiting}
	case completed:
		w.statuses = []parley.TurnStatus{parley.TurnCompleted}
	case failed:
		w.statuses = []parley.TurnStatus{parley.TurnFailed}
	case canceled:
		w.statuses = []parley.TurnStatus{parley.TurnCancelled}
	case "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED":
		nothing = true
	default:
		return w, false, invalid("status is not a state of tasks")
	}
	if r.StatusAfter != "" {
		at, err := time.Parse(time.RFC3339Nano, r.StatusAfter)
		if err != nil {
			return w, false, invalid("statusTimestampAfter is not a time such as 2026-11-28T10:00:00Z")
		}
		w.after = parley.Time(at.UnixMilli())
	}
	return w, nothing, nil
}

// list lists tasks: of a context, or of all, those of the context that was active last first.
func (a *api) list(ctx context.Context, r *request) (any, error) {
	made := &tasks{Tasks: []*task{}, Size: standardTasks}
	if r.PageSize != nil {
		made.Size = *r.PageSize
	}
	whole := r.IncludeArtifact || r.HistoryLength != nil && *r.HistoryLength > 0
	if whole {
		made.Size = min(made.Size, maxWholeTasks)
	}
	w, nothing, err := r.wants()
	if err != nil || nothing {
		return made, err
	}
	from, err := readPageToken(r.PageToken)
	if err != nil {
		return nil, err
	}
	sessions, next, err := a.contexts(ctx, r, from.Sessions)
	if err != nil {
		return nil, err
	}
	at := pageToken{Sessions: from.Sessions, Turns: from.Turns}
	at.Skip = from.Skip
	for reads := 0; at.Skip < len(sessions) && len(made.Tasks) < made.Size && reads < maxListReads; reads++ {
		session := &sessions[at.Skip]
		page, err := a.engine.Turns(ctx, r.x.Principal, session.ID, engine.TurnList{
			Paging:   engine.Paging{Limit: made.Size - len(made.Tasks), Cursor: at.Turns},
			Statuses: w.statuses,
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Data {
			f := &found{turn: page.Data[i], session: *session}
			one := f.outline()
			if w.state != "" && one.Status.State != w.state || one.Status.At < w.after {
				continue
			}
			if whole {
				if err := a.fill(ctx, r, f, one); err != nil {
					return nil, err
				}
			}
			made.Tasks = append(made.Tasks, one)
		}
		if at.Turns = parley.ValueOf(page.Next); at.Turns == "" {
			at.Skip++
		}
	}
	made.Total = from.Before + len(made.Tasks)
	if at.Skip >= len(sessions) {
		at = pageToken{Sessions: next}
	}
	if at.Sessions != "" || at.Skip > 0 || at.Turns != "" {
		at.Before = made.Total
		made.Next = at.encode()
		made.Total++ // there is more
	}
	return made, nil
}

// fill adds to a listed task what it says.
func (a *api) fill(ctx context.Context, r *request, f *found, one *task) error {
	if err := a.read(ctx, r, f); err != nil {
		return err
	}
	if r.IncludeArtifact {
		one.Artifacts = f.artifacts()
	}
	if r.HistoryLength != nil {
		one.History = f.history(r.HistoryLength)
	}
	return nil
}

// contexts reads a page of the sessions whose tasks are listed.
func (a *api) contexts(ctx context.Context, r *request, cursor string) ([]parley.Session, string, error) {
	var agents []string
	if r.agent != "" {
		agent, err := a.agent(ctx, r)
		if err != nil {
			return nil, "", err
		}
		agents = []string{agent.ID.String()}
	}
	if r.ContextID == "" {
		page, err := a.engine.Sessions(ctx, r.x.Principal, engine.SessionList{
			Paging: engine.Paging{Limit: maxTasks, Cursor: cursor}, Agents: agents,
		})
		return page.Data, parley.ValueOf(page.Next), err
	}
	session, err := a.context(ctx, r, r.ContextID)
	if err != nil {
		return nil, "", err
	}
	if agents != nil && agents[0] != session.AgentID.String() {
		return nil, "", nil
	}
	return []parley.Session{session}, "", nil
}

// context finds the session of a context.
func (a *api) context(ctx context.Context, r *request, id string) (parley.Session, error) {
	unknown := invalid("There is no context with this id. Leave it out to begin one.")
	sessionID, err := parley.ParseID(id)
	if err != nil {
		return parley.Session{}, unknown
	}
	session, err := a.engine.Session(ctx, r.x.Principal, sessionID)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = unknown
	}
	return session, err
}
