package engine

import (
	"context"
	"errors"

	"example.org/parley"
	"example.org/parley/internal/words"
	"example.org/parley/store"
)

// SearchList selects messages and titles by their words, best first. Several values of a filter are alternatives.
type SearchList struct {
	Query                  string // words, "a phrase", -without; the last word may be a prefix
	Roles                  []parley.Role
	ToolNames              []string
	Agents                 []string // ids or slugs; none: all
	ProjectIDs             []parley.ID
	SessionID              parley.ID
	CreatedFrom, CreatedTo parley.Time    // [from, to)
	Archived               ArchivedFilter // "" is ArchivedAny: a search looks everywhere
	Cursor                 string
	Limit                  int // 0: store.DefaultHits
}

// SearchResults is a page of a search.
type SearchResults struct {
	Data     []SearchHit `json:"data"`
	Next     *string     `json:"next"`
	Complete bool        `json:"complete" doc:"false while the index is first built: something may be missing. New messages are found within seconds."`
}

// SearchHit is a found message, or a session found by its title alone.
type SearchHit struct {
	Session FoundSession  `json:"session" doc:"The session that wrote the message; if it is gone or hidden, the first fork that shares the message; with session, that session."`
	Message *FoundMessage `json:"message" doc:"null if only the title matched."`
	Snippet Snippet       `json:"snippet"`
	Score   float64       `json:"score" doc:"From 0 to 1, relative to the search's best hit."`
}

// FoundSession describes a session in which something was found.
type FoundSession struct {
	ID         parley.ID            `json:"id"`
	Title      string               `json:"title"`
	AgentID    parley.ID            `json:"agent_id"`
	ProjectID  parley.ID            `json:"project_id"`
	Status     parley.SessionStatus `json:"status"`
	ArchivedAt parley.Time          `json:"archived_at"`
}

// FoundMessage describes a found message.
type FoundMessage struct {
	ID        parley.ID     `json:"id"`
	Sequence  int64         `json:"sequence"`
	Role      parley.Role   `json:"role"`
	Author    parley.Author `json:"author"`
	ToolName  string        `json:"tool_name" doc:"For calls and results; else empty."`
	CreatedAt parley.Time   `json:"created_at"`
}

// Snippet is a piece of a text with the matches in it.
type Snippet struct {
	Text  string       `json:"text" doc:"White space becomes one space; … marks a cut."`
	Marks []words.Mark `json:"marks" doc:"The matches in order: [from, to) in Unicode code points."`
}

// Search finds messages and titles that the principal may read. It returns CodeInvalid for a query that can match
// nothing, and CodeNotFound for an agent or a session that the principal does not see.
func (e *Engine) Search(ctx context.Context, principal parley.Principal, list SearchList) (_ SearchResults, err error) {
	ctx, call, err := e.enter(ctx, principal, "search", ReadSessions)
	if err != nil {
		return SearchResults{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if !list.SessionID.IsZero() {
		call.about(of(list.SessionID))
	}
	query, err := e.searchQuery(ctx, scope, &list)
	if err != nil {
		return SearchResults{}, err
	}
	page, err := e.search(ctx, principal, scope, query)
	if err != nil {
		return SearchResults{}, err
	}
	results := SearchResults{Data: make([]SearchHit, len(page.Hits)), Complete: page.Complete}
	for i := range page.Hits {
		results.Data[i] = shownHit(&page.Hits[i], query.Terms, page.Best)
	}
	if n := len(page.Hits); page.More && n > 0 {
		last, asOf := &page.Hits[n-1], query.AsOf
		if asOf == 0 { // later messages must not shift the pages
			asOf = parley.Now() + 1
		}
		results.Next = cursor{List: "search", At: asOf, ID: last.ID, Score: last.Score}.text()
	}
	return results, nil
}

// errSlowSearch ends a search that takes too long.
var errSlowSearch = parley.InvalidField(
	"q",
	"finds so much that looking through it takes longer than %s; add a word, a session or a created_from",
	store.SearchTime,
)

// search asks the store, if there is room for one more search, for as long as one may take.
func (e *Engine) search(
	ctx context.Context,
	principal parley.Principal,
	scope store.Scope,
	query store.SearchQuery,
) (store.SearchPage, error) {
	leave, err := e.searches.enter(principal)
	if err != nil {
		return store.SearchPage{}, err
	}
	defer leave()
	ctx, stop := context.WithTimeoutCause(ctx, store.SearchTime, errSlowSearch)
	defer stop()
	page, err := e.store.Search(ctx, scope, query)
	if err != nil && errors.Is(context.Cause(ctx), errSlowSearch) {
		err = errSlowSearch
	}
	return page, err
}

func (e *Engine) searchQuery(ctx context.Context, scope store.Scope, list *SearchList) (store.SearchQuery, error) {
	query := store.SearchQuery{
		Roles: list.Roles, ToolNames: list.ToolNames, ProjectIDs: list.ProjectIDs, SessionID: list.SessionID,
		CreatedFrom: list.CreatedFrom, CreatedTo: list.CreatedTo, Limit: list.Limit,
	}
	var err error
	if query.Terms, err = words.Parse(list.Query); err != nil {
		return query, err
	}
	for _, role := range list.Roles {
		if !role.Valid() {
			return query, parley.InvalidField(
				"role",
				"%q is not one of user, assistant, tool_call, tool_result, summary, system",
				parley.Clip(string(role), 32),
			)
		}
	}
	if err := checkCount("project", len(list.ProjectIDs)); err != nil {
		return query, err
	}
	if err := checkCount("tool", len(list.ToolNames)); err != nil {
		return query, err
	}
	if err := checkAll(textsBound{"tool", list.ToolNames, parley.MaxNameBytes}); err != nil {
		return query, err
	}
	switch yes, no := true, false; list.Archived {
	case "", ArchivedAny:
	case ArchivedOnly:
		query.Archived = &yes
	case ArchivedHidden:
		query.Archived = &no
	default:
		return query, parley.InvalidField(
			"archived",
			"%q is not one of false, true, any",
			parley.Clip(string(list.Archived), 16),
		)
	}
	if list.Limit == 0 {
		query.Limit = store.DefaultHits
	} else if list.Limit < 0 || list.Limit > store.MaxHits {
		return query, parley.InvalidField("limit", "must lie between 1 and %d", store.MaxHits)
	}
	from, _, _, err := Paging{Cursor: list.Cursor}.start("search", "")
	if err != nil {
		return query, err
	}
	query.AsOf, query.AfterID, query.AfterScore = from.At, from.ID, from.Score
	query.AgentIDs, err = e.agentIDs(ctx, scope, list.Agents)
	return query, err
}

// shownHit returns the API's form of a hit.
func shownHit(hit *store.SearchHit, terms []store.SearchTerm, best float64) SearchHit {
	s := &hit.Session
	shown := SearchHit{
		Session: FoundSession{
			ID:         s.ID,
			Title:      s.Title,
			AgentID:    s.AgentID,
			ProjectID:  s.ProjectID,
			Status:     s.Status,
			ArchivedAt: s.ArchivedAt,
		},
	}
	text := s.Title
	if m := hit.Message; m != nil {
		shown.Message = &FoundMessage{
			ID:        m.ID,
			Sequence:  m.Sequence,
			Role:      m.Role,
			Author:    m.Author,
			ToolName:  m.ToolName,
			CreatedAt: m.CreatedAt,
		}
		text = m.Text
	}
	shown.Snippet.Text, shown.Snippet.Marks = words.Snippet(text, terms)
	if shown.Snippet.Marks == nil {
		shown.Snippet.Marks = []words.Mark{}
	}
	if best > 0 {
		shown.Score = hit.Score / best
	}
	return shown
}
