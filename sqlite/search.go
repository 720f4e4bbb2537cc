package sqlite

import (
	"context"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/internal/words"
	"example.org/parley/store"
)

// Search implements store.Searcher.
func (s *Store) Search(
	ctx context.Context,
	scope store.Scope,
	query store.SearchQuery,
) (page store.SearchPage, err error) {
	err = s.read(ctx, func(c *conn) error {
		page = store.SearchPage{}
		logs, err := searchedLogs(c, scope, query.SessionID)
		if err != nil {
			return err
		}
		borrowed, err := borrowedLogs(c, scope, &query)
		if err != nil {
			return err
		}
		text, args := searchQuery(scope, &query, logs, borrowed)
		matches := make([]words.Candidate, 0, store.DefaultHits)
		if err := c.eachUntil(ctx, text, func(r *row) error {
			matches = append(matches, words.Candidate{
				MessageID: r.id(), CreatedAt: r.time(), Score: words.Score(r.bytes(), query.Terms), SessionID: r.id(),
			})
			return nil
		}, args...); err != nil {
			return err
		}
		if page.Complete, err = c.has("SELECT 1 FROM search_pass WHERE completed_at IS NOT NULL"); err != nil {
			return err
		}
		var best []words.Candidate
		best, page.Best, page.More = words.Rank(matches, &query)
		page.Hits, err = readHits(ctx, c, scope, best)
		return err
	})
	return page, err
}

// searchedLogs returns the parts of a session's record to search, its own last; none if no session is named.
func searchedLogs(c *conn, scope store.Scope, sessionID parley.ID) ([]transition.Part, error) {
	if sessionID.IsZero() {
		return nil, nil
	}
	at, err := locate(c, scope, sessionID)
	if err != nil {
		return nil, err
	}
	return append(at.shared, transition.Own(sessionID, at.logID)), nil
}

// borrowedLogs returns the logs that a scope sees only through forks, if the query has a filter that would otherwise
// miss them.
func borrowedLogs(c *conn, scope store.Scope, q *store.SearchQuery) (logs []parley.ID, err error) {
	if !q.SessionID.IsZero() || scope.ViewerID.IsZero() && len(q.AgentIDs)+len(q.ProjectIDs) == 0 {
		return nil, nil
	}
	var l list
	l.visible(scope)
	visible := l.where.String()
	err = c.each(
		"SELECT DISTINCT g.log_id FROM session_logs g CROSS JOIN sessions s ON s.id = g.session_id WHERE "+visible+
			" AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = g.writer_id AND "+visible+") LIMIT ?",
		func(r *row) error {
			logs = append(logs, r.id())
			return nil
		},
		append(append(l.args, l.args...), words.MaxBorrowed+1)...)
	return logs, err
}

// searchQuery builds the query for the newest matches. The index of words returns rows newest first, and the query
// stops at as many as are ranked.
func searchQuery(
	scope store.Scope,
	q *store.SearchQuery,
	logs []transition.Part,
	borrowed []parley.ID,
) (string, []arg) {
	ids := make([]parley.ID, len(logs))
	for i, part := range logs {
		ids[i] = part.LogID
	}
	var l, found, shown list
	found.must("search_words MATCH ?", words.FTS5(q.Terms, words.Place{Logs: ids, Borrowed: borrowed}.Scopes(scope, q)))
	if q.CreatedFrom != 0 {
		found.must("rowid >= ?", firstKey(q.CreatedFrom))
		l.must("r.created_at >= ?", int64(q.CreatedFrom))
	}
	for _, to := range []parley.Time{q.CreatedTo, q.AsOf} {
		if to != 0 {
			found.must("rowid < ?", firstKey(to+1000))
			l.must("r.created_at < ?", int64(to))
		}
	}
	shown.visible(scope)
	before := append(found.args, store.MaxSearched) // arguments of what precedes the terms
	if q.SessionID.IsZero() {
		before = append(append(before, shown.args...), shown.args...) // for the writer, and for a fork
	} else {
		before = append(before, q.SessionID)
	}
	l.must("r.workspace_id = ?", scope.WorkspaceID)
	l.visible(scope)
	l.among("s.agent_id", q.AgentIDs)
	l.among("s.project_id", q.ProjectIDs)
	if q.Archived != nil {
		l.must("(s.archived_at IS NOT NULL) = ?", *q.Archived)
	}
	if len(logs) > 0 {
		arms := make([]string, len(logs))
		for i, part := range logs {
			least := int64(1) // no titles of other sessions
			if i == len(logs)-1 {
				least = 0
			}
			arms[i] = "r.log_id = ? AND r.sequence BETWEEN ? AND ?"
			l.args = append(l.args, part.LogID, least, part.Through)
		}
		l.must("(" + strings.Join(arms, " OR ") + ")")
	}
	return "SELECT r.message_id, r.created_at, r.counts, s.id FROM (SELECT rowid AS key FROM search_words WHERE " +
			found.where.String() + " ORDER BY rowid DESC LIMIT ?) w" +
			" CROSS JOIN search_rows r ON r.key = w.key CROSS JOIN sessions s ON s.id = " + shownSession(
			&shown,
			q,
		) +
			" WHERE " + l.where.String() + " ORDER BY w.key DESC LIMIT ?", append(
			append(before, l.args...),
			store.MaxRanked,
		)
}

// shownSession selects the session in which to show a match: the one asked for, the one that wrote it, or the first
// visible one that shares it.
func shownSession(visible *list, q *store.SearchQuery) string {
	if !q.SessionID.IsZero() {
		return "?"
	}
	return "ifnull((SELECT s.id FROM sessions s WHERE s.id = r.session_id AND " + visible.where.String() + ")," +
		" (SELECT s.id FROM session_logs g CROSS JOIN sessions s ON s.id = g.session_id " +
		"WHERE g.log_id = r.log_id AND g.through >= r.sequence AND r.sequence > 0 AND " +
		visible.where.String() + " ORDER BY s.id LIMIT 1))"
}

// readHits reads what is shown of matches. One whose message is gone by the wall of the
// scope is left out.
func readHits(ctx context.Context, c *conn, scope store.Scope, best []words.Candidate) ([]store.SearchHit, error) {
	hits := make([]store.SearchHit, 0, len(best))
	sessions := map[parley.ID]store.FoundSession{}
	left := store.SearchReadBytes
	for i := range best {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		hit := store.SearchHit{ID: best[i].ID(), Score: best[i].Score}
		session, known := sessions[best[i].SessionID]
		if !known {
			var err error
			if session, err = foundSession(c, scope, best[i].SessionID); err != nil {
				return nil, err
			}
			sessions[session.ID] = session
		}
		hit.Session = session
		if !best[i].MessageID.IsZero() {
			var err error
			if hit.Message, err = foundMessage(c, scope, best[i].MessageID, &left); err != nil {
				return nil, err
			}
			if hit.Message == nil {
				continue
			}
		}
		hits = append(hits, hit)
	}
	return slices.Clip(hits), nil
}

// foundSession reads what is shown of a session that the scope may see.
func foundSession(c *conn, scope store.Scope, id parley.ID) (s store.FoundSession, err error) {
	var l list
	l.must("s.id = ?", id)
	l.visible(scope)
	found, err := c.one(
		"SELECT s.id, s.agent_id, s.project_id, s.title, s.status, s.archived_at"+sessionTables+"WHERE "+
			l.where.String(),
		func(r *row) error {
			s = store.FoundSession{
				ID: r.id(), AgentID: r.id(), ProjectID: r.id(), Title: r.text(), Status: parley.SessionStatus(r.text()),
				ArchivedAt: r.time(),
			}
			return nil
		},
		l.args...)
	if err == nil && !found {
		err = transition.NotFound("session")
	}
	return s, err
}

// foundMessage reads what is shown of a message; nil when it is gone. SQLite reads a value
// whole to tell its beginning, so that a long one counts for what is left to be read.
func foundMessage(c *conn, scope store.Scope, id parley.ID, left *int) (m *store.Found, err error) {
	_, err = c.one(
		"SELECT m.sequence, m.role, m.author_kind, m.author_id, m.author_name, m.tool_name, m.created_at, "+
			"octet_length(m.content), CASE WHEN octet_length(m.content) <= ?3 THEN substr(m.content, 1, ?4) END "+
			"FROM messages m WHERE m.id = ?1 AND m.workspace_id = ?2",
		func(r *row) error {
			m = &store.Found{
				ID: id, Sequence: r.int64(), Role: parley.Role(r.text()),
				Author:   parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()},
				ToolName: r.text(), CreatedAt: r.time(),
			}
			size, content := r.int(), r.json()
			if size > store.SearchTextBytes && content != nil {
				*left -= size
			}
			m.Text = words.BeginningOf(m.Role, m.ToolName, content)
			return nil
		},
		id,
		scope.WorkspaceID,
		max(*left, store.SearchTextBytes),
		store.SearchTextBytes, // characters, of which each has a byte at least
	)
	return m, err
}

// keyBits are the bits of a row's key below its second.
const keyBits = 16

// firstKey returns the smallest key of the second of a time.
func firstKey(at parley.Time) int64 {
	const last = 1 << (62 - keyBits)
	return min(max(int64(at)/1000, 0), last) << keyBits
}
