package words

import (
	"cmp"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Log is the state of a log for indexing: its contents, and how far they are indexed.
type Log struct {
	WorkspaceID, SessionID, LogID parley.ID // the session that writes it
	CreatedAt                     parley.Time
	Begins, End                   int64     // it begins after Begins and is to be indexed up to End
	Title                         string    // the session's, like the following fields
	OwnerID, AgentID, ProjectID   parley.ID // zero if deleted
	Visible                       bool      // to the workspace

	Known      bool      // the index already has it; then
	Through    int64     // it is indexed up to this sequence,
	Titled     string    // with this title,
	PlacedIn   parley.ID // in this project
	PlacedOpen bool      // and visible to the workspace
}

// Behind reports whether there is something to index.
func (l *Log) Behind() bool {
	return !l.Known || l.Through < l.End || l.Title != l.Titled || l.Moved()
}

// Moved reports whether a search for the log at its present place would miss what is indexed. Entries under a former
// place do no harm: a search there does not show them.
func (l *Log) Moved() bool {
	return l.Known && (l.Visible && !l.PlacedOpen || !l.ProjectID.IsZero() && l.ProjectID != l.PlacedIn)
}

// Row is one entry to index.
type Row struct {
	SessionID, LogID parley.ID
	Sequence         int64     // 0: the title
	MessageID        parley.ID // zero: the title
	Role             parley.Role
	ToolName         string
	CreatedAt        parley.Time
	Entry            Entry
	Scopes           []string
}

// TitleRow returns the row of a log's title; false if it has no words.
func (l *Log) TitleRow() (Row, bool) {
	return l.row(Row{CreatedAt: l.CreatedAt}, l.Title)
}

// MessageRow returns the row of a message; false for one that searches never find.
func (l *Log) MessageRow(m *parley.Message) (Row, bool) {
	if m.Internal {
		return Row{}, false
	}
	return l.row(
		Row{Sequence: m.Sequence, MessageID: m.ID, Role: m.Role, ToolName: m.ToolName, CreatedAt: m.CreatedAt},
		TextOf(m.Role, m.ToolName, m.Content),
	)
}

func (l *Log) row(r Row, text string) (Row, bool) {
	r.SessionID, r.LogID = l.SessionID, l.LogID
	r.Entry = EntryOf(text)
	if len(r.Entry.Words) == 0 {
		return Row{}, false
	}
	r.Scopes = []string{
		Scoped(ofWorkspace, l.WorkspaceID[:]),
		Scoped(ofLog, l.LogID[:]),
		Scoped(ofRole, []byte(r.Role)),
	}
	if r.ToolName != "" {
		r.Scopes = append(r.Scopes, Scoped(ofTool, []byte(r.ToolName)))
	}
	if !l.OwnerID.IsZero() {
		r.Scopes = append(r.Scopes, Scoped(ofOwner, l.OwnerID[:]), Scoped(ofAgent, l.AgentID[:]))
	}
	if l.PlacedOpen {
		r.Scopes = append(r.Scopes, Scoped(ofAll, nil))
	}
	if !l.PlacedIn.IsZero() {
		r.Scopes = append(r.Scopes, Scoped(ofProject, l.PlacedIn[:]))
	}
	return r, true
}

// The kinds of words that say where a message belongs.
const (
	ofWorkspace = "w"
	ofLog       = "l"
	ofRole      = "r"
	ofTool      = "t"
	ofOwner     = "o"
	ofAgent     = "a"
	ofProject   = "p"
	ofAll       = "v" // visible to the workspace
)

// MaxBorrowed bounds the logs of Borrowed.
const MaxBorrowed = 256

// Place is where a query searches, as far as the index knows.
type Place struct {
	Logs []parley.ID // logs of the named session, if any
	// Borrowed are logs that the scope sees only through forks, whoever wrote them, for whatever agent and project.
	// With more than MaxBorrowed of them the index does not restrict visibility, and every match is checked.
	Borrowed []parley.ID
}

// Scopes returns the groups of words that say where a query searches; a match needs one word of each group.
func (p Place) Scopes(scope store.Scope, q *store.SearchQuery) [][]string {
	groups := [][]string{{Scoped(ofWorkspace, scope.WorkspaceID[:])}}
	if len(q.Roles) > 0 {
		group := make([]string, len(q.Roles))
		for i, role := range q.Roles {
			group[i] = Scoped(ofRole, []byte(role))
		}
		groups = append(groups, group)
	}
	if len(q.ToolNames) > 0 {
		group := make([]string, len(q.ToolNames))
		for i, name := range q.ToolNames {
			group[i] = Scoped(ofTool, []byte(name))
		}
		groups = append(groups, group)
	}
	if len(p.Logs) > 0 {
		return append(groups, p.with(p.Logs))
	}
	if len(p.Borrowed) > MaxBorrowed {
		return groups
	}
	if !scope.ViewerID.IsZero() {
		groups = append(groups, p.with(p.Borrowed, Scoped(ofOwner, scope.ViewerID[:]), Scoped(ofAll, nil)))
	}
	for _, of := range []struct {
		kind string
		ids  []parley.ID
	}{{ofAgent, q.AgentIDs}, {ofProject, q.ProjectIDs}} {
		if len(of.ids) == 0 {
			continue
		}
		group := make([]string, len(of.ids))
		for i, id := range of.ids {
			group[i] = Scoped(of.kind, id[:])
		}
		groups = append(groups, p.with(p.Borrowed, group...))
	}
	return groups
}

func (p Place) with(logs []parley.ID, group ...string) []string {
	for _, id := range logs {
		group = append(group, Scoped(ofLog, id[:]))
	}
	return group
}

// Candidate is a match before it is ranked.
type Candidate struct {
	MessageID parley.ID // zero: a title
	SessionID parley.ID // the session that it is shown for
	CreatedAt parley.Time
	Score     float64
}

// ID identifies a candidate.
func (c *Candidate) ID() parley.ID {
	if c.MessageID.IsZero() {
		return c.SessionID
	}
	return c.MessageID
}

// Rank orders matches, best first, equal ones by time and then by id, and cuts the page that a query requests. It
// leaves out titles of sessions with a message among the matches. The page begins after the hit named by the query, at
// that hit's present rank; if the hit is gone, at its former rank.
func Rank(matches []Candidate, q *store.SearchQuery) (page []Candidate, best float64, more bool) {
	spoken := map[parley.ID]bool{}
	for i := range matches {
		if !matches[i].MessageID.IsZero() {
			spoken[matches[i].SessionID] = true
		}
	}
	matches = slices.DeleteFunc(matches, func(c Candidate) bool { return c.MessageID.IsZero() && spoken[c.SessionID] })
	slices.SortFunc(matches, func(a, b Candidate) int {
		first, second := a.ID(), b.ID()
		return cmp.Or(
			cmp.Compare(b.Score, a.Score),
			cmp.Compare(b.CreatedAt, a.CreatedAt),
			slices.Compare(second[:], first[:]),
		)
	})
	if len(matches) == 0 {
		return nil, 0, false
	}
	best = matches[0].Score
	if !q.AfterID.IsZero() {
		begin := slices.IndexFunc(matches, func(c Candidate) bool { return c.ID() == q.AfterID }) + 1
		if begin == 0 {
			if begin = slices.IndexFunc(matches, func(c Candidate) bool { return c.Score < q.AfterScore }); begin < 0 {
				begin = len(matches)
			}
		}
		matches = matches[begin:]
	}
	limit := q.Limit
	if limit <= 0 {
		limit = store.DefaultHits
	}
	return matches[:min(limit, len(matches))], best, len(matches) > limit
}
