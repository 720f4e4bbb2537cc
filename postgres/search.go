package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/internal/words"
	"example.org/parley/store"
)

// There are two ways to the newest matches. For a frequent word, the newest messages are scanned until enough match;
// for any other, the index of words lists the matches. A sample of the newest messages decides.
const (
	searchSample = 2_000  // newest messages in the sample
	searchOften  = 50     // matches in the sample from which scanning pays
	searchWalk   = 80_000 // messages scanned at most; then the index is used
)

// searchEnds is when the server ends a statement whose client has gone.
const searchEnds = store.SearchTime + time.Second

// Search implements store.Searcher. Matches are looked for as the role that sees
// all workspaces, in the one of the scope: under the row policies no condition on
// words may use an index, because what it raises could tell of rows that the policy
// hides. What is shown of the matches is read behind the wall, as everything is.
func (s *Store) Search(
	ctx context.Context,
	scope store.Scope,
	query store.SearchQuery,
) (page store.SearchPage, err error) {
	parts, err := s.searchedLogs(ctx, scope, query.SessionID)
	if err != nil {
		return page, err
	}
	borrowed, err := s.borrowedLogs(ctx, scope, &query)
	if err != nil {
		return page, err
	}
	ids := make([]parley.ID, len(parts))
	for i, part := range parts {
		ids[i] = part.LogID
	}
	asked := words.TSQuery(query.Terms, words.Place{Logs: ids, Borrowed: borrowed}.Scopes(scope, &query))
	sample := 0
	if err := s.read(ctx, func() *batch {
		b := searching(scope)
		b.read(
			"SELECT completed_at IS NOT NULL FROM parley.search_pass",
			func(r *row) error { page.Complete = r.bool(); return nil },
		)
		if len(parts) == 0 {
			var l filter
			l.newest(&query, searchSample)
			b.read(
				"SELECT count(*) FROM ("+l.where.String()+") r WHERE r.words @@ "+l.arg(asked)+"::tsquery",
				func(r *row) error { sample = r.int(); return nil },
				l.args...)
		}
		return b
	}); err != nil {
		return page, err
	}
	var matches []words.Candidate
	if sample >= searchOften {
		walk := 2 * searchSample // few different values, so that their statements stay prepared
		for walk < searchWalk && walk*sample < 2*store.MaxRanked*searchSample {
			walk *= 2
		}
		matches, err = s.matches(ctx, scope, &query, parts, asked, walk)
	}
	if err == nil && len(matches) < store.MaxRanked {
		matches, err = s.matches(ctx, scope, &query, parts, asked, 0)
	}
	if err != nil {
		return page, err
	}
	var best []words.Candidate
	best, page.Best, page.More = words.Rank(matches, &query)
	page.Hits, err = s.readHits(ctx, scope, best)
	return page, err
}

// searching begins a batch that looks for matches in a workspace.
func searching(scope store.Scope) *batch {
	b := system()
	b.snapshot = true
	b.read(
		"SELECT set_config('parley.workspace', $1, true), set_config('enable_seqscan', 'off', true), "+
			"set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), "+
			"set_config('statement_timeout', $2, true)",
		func(*row) error { return nil },
		scope.WorkspaceID.String(),
		strconv.FormatInt(searchEnds.Milliseconds(), 10),
	)
	return b
}

// searchedLogs returns the parts of a session's record to search, its own last; none if no session is named.
func (s *Store) searchedLogs(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
) (parts []transition.Part, err error) {
	if sessionID.IsZero() {
		return nil, nil
	}
	var own parley.ID
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		parts = nil
		b.read(sharedOf, func(r *row) error {
			part, err := scanPart(r)
			parts = append(parts, part)
			return err
		}, scope.WorkspaceID, sessionID)
		b.read(
			"SELECT log_id FROM parley.sessions WHERE workspace_id = $1 AND id = $2",
			func(r *row) error { own = r.id(); return nil },
			scope.WorkspaceID,
			sessionID,
		)
	})
	return append(parts, transition.Own(sessionID, own)), err
}

// borrowedLogs returns the logs that a scope sees only through forks, if the query has a filter that would otherwise
// miss them.
func (s *Store) borrowedLogs(ctx context.Context, scope store.Scope, q *store.SearchQuery) ([]parley.ID, error) {
	if !q.SessionID.IsZero() || scope.ViewerID.IsZero() && len(q.AgentIDs)+len(q.ProjectIDs) == 0 {
		return nil, nil
	}
	var l filter
	l.visible(scope)
	visible := l.where.String()
	return every(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"SELECT DISTINCT g.log_id FROM parley.session_logs g JOIN parley.sessions s "+
			"ON s.workspace_id = g.workspace_id "+
			"AND s.id = g.session_id WHERE g.workspace_id = "+here+" AND "+visible+
			" AND NOT EXISTS (SELECT 1 FROM parley.sessions s WHERE s.id = g.writer_id AND "+visible+") LIMIT "+l.arg(
			words.MaxBorrowed+1,
		),
		l.args...)
}

// newest queries the newest rows of the requested time.
func (l *filter) newest(q *store.SearchQuery, limit int) {
	l.must("r.workspace_id = " + here)
	l.inTime(q)
	terms := l.where.String()
	l.where.Reset()
	l.where.WriteString(
		"SELECT r.* FROM parley.search_rows r WHERE " + terms + " ORDER BY r.created_at DESC, r.id DESC LIMIT " +
			strconv.Itoa(
				limit,
			),
	)
}

func (l *filter) inTime(q *store.SearchQuery) {
	if q.CreatedFrom != 0 {
		l.must("r.created_at >= ?", int64(q.CreatedFrom))
	}
	for _, to := range []parley.Time{q.CreatedTo, q.AsOf} {
		if to != 0 {
			l.must("r.created_at < ?", int64(to))
		}
	}
}

// matches reads the newest matches: among the newest rows, or among all if walk is 0.
func (s *Store) matches(
	ctx context.Context,
	scope store.Scope,
	q *store.SearchQuery,
	parts []transition.Part,
	asked string,
	walk int,
) (matches []words.Candidate, err error) {
	text, args := searchQuery(scope, q, parts, asked, walk)
	err = s.read(ctx, func() *batch {
		matches = make([]words.Candidate, 0, store.DefaultHits)
		b := searching(scope)
		b.read(text, func(r *row) error {
			match := words.Candidate{
				MessageID: r.id(), CreatedAt: r.time(), Score: words.Score(r.bytes(), q.Terms), SessionID: r.id(),
			}
			if r.int64() == 0 { // a title
				match.MessageID = parley.ID{}
			}
			matches = append(matches, match)
			return nil
		}, args...)
		return b
	})
	return matches, err
}

func searchQuery(
	scope store.Scope,
	q *store.SearchQuery,
	parts []transition.Part,
	asked string,
	walk int,
) (string, []arg) {
	var l filter
	var begin, from string
	if walk > 0 {
		l.newest(q, min(walk, searchWalk))
		from = "(" + l.where.String() + ") r"
		l.where.Reset()
		l.must("r.words @@ ?::tsquery", asked)
	} else {
		l.must("r.words @@ ?::tsquery", asked) // only the index of words can serve this; it has the workspace as a word
		l.inTime(q)
		begin = "WITH hits AS MATERIALIZED (SELECT r.workspace_id, r.id, r.session_id, r.log_id, r.sequence, " +
			"r.created_at FROM parley.search_rows r WHERE " + l.where.String() + ") "
		from = "(SELECT * FROM hits ORDER BY created_at DESC, id DESC LIMIT " + strconv.Itoa(store.MaxSearched) + ") r"
		l.where.Reset()
		l.must("r.workspace_id = " + here)
	}
	shown := l.shownSession(scope, q)
	l.visible(scope)
	l.among("s.agent_id", q.AgentIDs)
	l.among("s.project_id", q.ProjectIDs)
	if q.Archived != nil {
		l.must("(s.archived_at IS NOT NULL) = ?", *q.Archived)
	}
	arms := make([]string, len(parts))
	for i, part := range parts {
		least := int64(1) // no titles of other sessions
		if i == len(parts)-1 {
			least = 0
		}
		arms[i] = "r.log_id = " + l.arg(
			part.LogID,
		) + " AND r.sequence BETWEEN " + l.arg(
			least,
		) + " AND " + l.arg(
			part.Through,
		)
	}
	if len(arms) > 0 {
		l.must("(" + strings.Join(arms, " OR ") + ")")
	}
	return begin + "SELECT r.id, r.created_at, (SELECT c.counts FROM parley.search_rows c WHERE c.workspace_id = " +
		here + " AND c.id = r.id), s.id, r.sequence FROM " + from +
		" CROSS JOIN LATERAL (SELECT " + shown + " AS id) x JOIN parley.sessions s ON s.workspace_id = " + here +
		" AND s.id = x.id WHERE " + l.where.String() +
		" ORDER BY r.created_at DESC, r.id DESC LIMIT " + strconv.Itoa(
		store.MaxRanked,
	), l.args
}

// shownSession selects the session in which to show a match: the one asked for, the one that wrote it, or the first
// visible one that shares it.
func (l *filter) shownSession(scope store.Scope, q *store.SearchQuery) string {
	if !q.SessionID.IsZero() {
		return l.arg(q.SessionID) + "::uuid"
	}
	inner := filter{args: l.args}
	inner.visible(scope)
	l.args = inner.args
	visible := inner.where.String()
	return "coalesce((SELECT s.id FROM parley.sessions s WHERE s.id = r.session_id AND " + visible + ")," +
		" (SELECT s.id FROM parley.session_logs g JOIN parley.sessions s ON s.workspace_id = g.workspace_id " +
		"AND s.id = g.session_id" +
		" WHERE g.workspace_id = " + here +
		" AND g.log_id = r.log_id AND g.through >= r.sequence AND r.sequence > 0 AND " + visible +
		" ORDER BY s.id LIMIT 1))"
}

// readHits reads what is shown of matches, as the tenant. It omits what has gone meanwhile.
func (s *Store) readHits(ctx context.Context, scope store.Scope, best []words.Candidate) ([]store.SearchHit, error) {
	var sessionIDs, messageIDs []parley.ID
	for _, match := range best {
		sessionIDs = append(sessionIDs, match.SessionID)
		if !match.MessageID.IsZero() {
			messageIDs = append(messageIDs, match.MessageID)
		}
	}
	var sessions map[parley.ID]store.FoundSession
	var messages map[parley.ID]*store.Found
	var l filter
	l.visible(scope)
	l.must("s.id = ANY(?)", sessionIDs)
	if err := s.read(ctx, func() *batch {
		sessions, messages = map[parley.ID]store.FoundSession{}, map[parley.ID]*store.Found{}
		b := tenant(scope.WorkspaceID)
		b.snapshot = true
		b.read("SELECT s.id, s.agent_id, s.project_id, s.title, s.status, s.archived_at"+sessionTables+"WHERE "+
			l.where.String(), func(r *row) error {
			session := store.FoundSession{
				ID: r.id(), AgentID: r.id(), ProjectID: r.id(), Title: r.text(),
				Status: parley.SessionStatus(r.text()), ArchivedAt: r.time(),
			}
			sessions[session.ID] = session
			return nil
		}, l.args...)
		b.read(
			"SELECT m.id, m.sequence, m.role, m.author_kind, m.author_id, m.author_name, m.tool_name, m.created_at, "+
				"substr(m.content, 1, $3) FROM parley.messages m WHERE m.workspace_id = $1 AND m.id = ANY($2)",
			func(r *row) error {
				m := store.Found{
					ID: r.id(), Sequence: r.int64(), Role: parley.Role(r.text()),
					Author:   parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()},
					ToolName: r.text(), CreatedAt: r.time(),
				}
				m.Text = words.BeginningOf(m.Role, m.ToolName, r.json())
				messages[m.ID] = &m
				return nil
			},
			scope.WorkspaceID,
			messageIDs,
			store.SearchTextBytes, // characters, of which each has a byte at least
		)
		return b
	}); err != nil {
		return nil, err
	}
	hits := make([]store.SearchHit, 0, len(best))
	for i := range best {
		hit := store.SearchHit{ID: best[i].ID(), Score: best[i].Score}
		session, there := sessions[best[i].SessionID]
		hit.Session = session
		hit.Message = messages[best[i].MessageID]
		if there && (hit.Message != nil || best[i].MessageID.IsZero()) {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}
