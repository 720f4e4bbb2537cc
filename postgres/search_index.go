package postgres

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/internal/words"
	"example.org/parley/store"
)

// searchReadBytes bounds the contents read for one transaction; the message that reaches it is the last.
const searchReadBytes = 4 << 20

// IndexSessions implements store.SearchIndex. It reads and prepares new messages first, and writes them unless another
// process has done so.
func (s *Store) IndexSessions(ctx context.Context, sessions []parley.ID) ([]parley.ID, error) {
	const most = 256 // sessions examined in one round trip
	rest := sessions[min(most, len(sessions)):]
	logs, of, err := s.logsOf(ctx, sessions[:min(most, len(sessions))])
	if err != nil {
		return nil, err
	}
	pieces, left, err := s.gather(ctx, logs, of)
	if err == nil && len(pieces) > 0 {
		err = s.trying(ctx, func() error { return s.once(ctx, indexing(pieces)) }, unsent)
	}
	return append(left, rest...), mapError(err)
}

// logsOf returns the logs to index that have something new, with the session that each is for: the sessions' own logs,
// and those that they share from deleted sessions.
func (s *Store) logsOf(ctx context.Context, sessions []parley.ID) (logs []words.Stretch, of []parley.ID, err error) {
	add := func(log words.Stretch, session parley.ID) {
		if log.Behind() {
			logs, of = append(logs, log), append(of, session)
		}
	}
	err = s.read(ctx, func() *batch {
		logs, of = nil, nil
		b := system()
		b.snapshot = true
		b.read(
			`SELECT g.session_id, g.workspace_id, g.log_id, g.writer_id, g.through, i.log_id IS NOT NULL, i.through,
				i.title, i.visible, i.project_id FROM parley.session_logs g
 LEFT JOIN parley.search_logs i ON i.workspace_id = g.workspace_id AND i.log_id = g.log_id
 WHERE (g.workspace_id, g.session_id) IN (SELECT h.workspace_id, h.session_id FROM parley.heads h
  JOIN parley.sessions s ON s.workspace_id = h.workspace_id AND s.id = h.session_id
  WHERE h.session_id = ANY($1) AND h.deleted_at IS NULL AND s.forked_through IS NOT NULL)
 AND NOT EXISTS (SELECT 1 FROM parley.heads h WHERE h.workspace_id = g.workspace_id AND h.session_id = g.writer_id
  AND h.deleted_at IS NULL)`,
			func(r *row) error {
				id, log := r.id(), words.Stretch{Shared: true}
				log.WorkspaceID, log.LogID, log.SessionID, log.End = r.id(), r.id(), r.id(), r.int64()
				log.Known, log.Through, log.Titled, log.PlacedOpen, log.PlacedIn = r.bool(), r.int64(), r.text(),
					r.bool(), r.id()
				log.Title = log.Titled
				add(log, id)
				return nil
			},
			sessions,
		)
		b.read(
			`SELECT s.workspace_id, s.id, s.log_id, s.owner_id, s.agent_id, s.project_id, s.created_at, s.title,
				s.visibility = 'workspace', coalesce(s.forked_through, 0), h.next_sequence - 1,
 i.log_id IS NOT NULL, coalesce(i.through, s.forked_through, 0), i.title, i.visible, i.project_id
 FROM parley.heads h JOIN parley.sessions s ON s.workspace_id = h.workspace_id AND s.id = h.session_id
 LEFT JOIN parley.search_logs i ON i.workspace_id = s.workspace_id AND i.log_id = s.log_id
  WHERE h.session_id = ANY($1) AND h.deleted_at IS NULL ORDER BY s.id DESC`,
			func(r *row) error {
				log := words.Stretch{}
				log.WorkspaceID, log.SessionID, log.LogID, log.OwnerID, log.AgentID, log.ProjectID = r.id(), r.id(),
					r.id(), r.id(), r.id(), r.id()
				log.CreatedAt, log.Title, log.Visible, log.Begins, log.End = r.time(), r.text(), r.bool(),
					r.int64(), r.int64()
				log.Known, log.Through, log.Titled, log.PlacedOpen, log.PlacedIn = r.bool(), r.int64(), r.text(),
					r.bool(), r.id()
				add(log, log.SessionID)
				return nil
			},
			sessions,
		)
		return b
	})
	return logs, of, err
}

// gather reads and prepares the next messages of logs, up to the bounds of a transaction, and returns the sessions that
// it did not finish.
func (s *Store) gather(
	ctx context.Context,
	logs []words.Stretch,
	of []parley.ID,
) (pieces []words.Stretch, left []parley.ID, err error) {
	if len(logs) == 0 {
		return nil, nil, nil
	}
	messages, cut, err := s.unindexed(ctx, logs)
	if err != nil {
		return nil, nil, err
	}
	budget := words.NewBudget()
	for i := range logs {
		piece := &logs[i]
		if budget.Spent() {
			left = append(left, of[i])
			continue
		}
		if piece.Moved() {
			budget.Clear(piece)
			pieces, left = append(pieces, *piece), append(left, of[i])
			messages = slices.DeleteFunc(messages, func(m parley.Message) bool { return m.LogID == piece.LogID })
			continue
		}
		budget.Begin(piece)
		for ; len(messages) > 0 && messages[0].LogID == piece.LogID; messages = messages[1:] {
			if !budget.Take(piece, &messages[0]) {
				messages = slices.DeleteFunc(messages, func(m parley.Message) bool { return m.LogID == piece.LogID })
				break
			}
		}
		if piece.News() {
			pieces = append(pieces, *piece)
		}
		if budget.Spent() || cut && len(messages) == 0 { // it may or may not be finished
			left = append(left, of[i])
		}
	}
	return pieces, slices.Compact(left), nil
}

// unindexed reads the next messages of logs, log by log; cut reports that there may be more.
func (s *Store) unindexed(ctx context.Context, logs []words.Stretch) (messages []parley.Message, cut bool, err error) {
	var workspaces, ids []parley.ID
	var from, to []int64
	for i := range logs {
		workspaces, ids = append(workspaces, logs[i].WorkspaceID), append(ids, logs[i].LogID)
		from, to = append(from, logs[i].Through), append(to, logs[i].End)
	}
	err = s.read(ctx, func() *batch {
		messages, cut = nil, false
		b := system()
		b.read(
			`SELECT a.log_id, a.id, a.sequence, a.role, a.status, a.content, a.tool_name, a.internal, a.created_at
				FROM (
 SELECT m.*, l.n, row_number() OVER w AS row, sum(octet_length(m.content)) OVER
  (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
 FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[]) WITH ORDINALITY l (workspace_id, log_id, below, most,
  n) CROSS JOIN LATERAL
 (SELECT m.* FROM parley.messages m WHERE m.workspace_id = l.workspace_id AND m.log_id = l.log_id
  AND m.sequence IS NOT NULL AND m.sequence > l.below AND m.sequence <= l.most
  ORDER BY m.sequence LIMIT $5) m WINDOW w AS (ORDER BY l.n, m.sequence)) a
  	WHERE a.row <= $5 AND coalesce(a.before, 0) < $6 ORDER BY a.n, a.sequence`,
			func(r *row) error {
				m := parley.Message{
					LogID:    r.id(),
					ID:       r.id(),
					Sequence: r.int64(),
					Role:     parley.Role(r.text()),
					Status:   parley.MessageStatus(r.text()),
				}
				m.Content, m.ToolName, m.Internal, m.CreatedAt = r.json(), r.text(), r.bool(), r.time()
				messages = append(messages, m)
				return nil
			},
			workspaces,
			ids,
			from,
			to,
			store.SearchBatch,
			searchReadBytes,
		)
		return b
	})
	if len(messages) > 0 {
		last := &messages[len(messages)-1]
		i := slices.IndexFunc(logs, func(l words.Stretch) bool { return l.LogID == last.LogID })
		cut = i < len(logs)-1 || last.Sequence < logs[i].End
	}
	return messages, cut, err
}

// Locks on logs exclude purging and indexing the same log at the same time; whoever holds the lock sees what the other
// has done.
const lockLogs = "SELECT count(pg_advisory_xact_lock(lock)) FROM unnest($1::bigint[]) lock"

// lockOfLog returns the lock of a log, which differs from those of texts with sufficient probability.
func lockOfLog(logID parley.ID) int64 {
	hash := parley.HashOf(append([]byte("search"), logID[:]...))
	return int64(binary.BigEndian.Uint64(hash[:8])) //nolint:gosec // any bits will do
}

// indexing builds the transaction that writes pieces, except those that somebody else has partly written, and those of
// logs to be deleted.
func indexing(pieces []words.Stretch) *batch {
	locks := make([]int64, len(pieces))
	for i := range pieces {
		locks[i] = lockOfLog(pieces[i].LogID)
	}
	slices.Sort(locks) // all take them in this order
	b := system()
	b.write(lockLogs, slices.Compact(locks))
	for i := range pieces {
		p := &pieces[i]
		if p.Moved() {
			b.unindex(p)
			continue
		}
		alive := "EXISTS (SELECT 1 FROM parley.heads h WHERE h.workspace_id = $1 AND h.session_id = $5 " +
			"AND h.deleted_at IS NULL)"
		if p.Shared {
			alive = "EXISTS (SELECT 1 FROM parley.session_logs g " +
				"WHERE g.workspace_id = $1 AND g.log_id = $2 AND g.through >= $3 AND $5::uuid IS NOT NULL)"
		}
		a := arraysOf(p)
		b.write(
			`WITH fits AS (INSERT INTO parley.search_logs AS i (workspace_id, log_id, through, title, visible,
				project_id) SELECT $1, $2, $3, $4, $14, $15::uuid WHERE `+alive+`
  ON CONFLICT (workspace_id, log_id) DO UPDATE SET through = excluded.through, title = excluded.title
  	WHERE $6 AND i.through = $7 AND i.visible = $14 AND i.project_id IS NOT DISTINCT FROM $15::uuid RETURNING 1),
 gone AS (DELETE FROM parley.search_rows WHERE workspace_id = $1 AND log_id = $2 AND sequence = 0 AND $8
  AND EXISTS (SELECT 1 FROM fits))
 INSERT INTO parley.search_rows (workspace_id, id, session_id, log_id, sequence, created_at, counts, words)
 SELECT $1, r.id, $5, $2, r.sequence, r.created_at, r.counts, r.words::tsvector
  FROM unnest($9::uuid[], $10::bigint[], $11::bigint[], $12::bytea[], $13::text[]) r (id, sequence, created_at,
  	counts, words)
 WHERE EXISTS (SELECT 1 FROM fits) ON CONFLICT (workspace_id, id) DO UPDATE
  SET counts = excluded.counts, words = excluded.words`,
			p.WorkspaceID,
			p.LogID,
			p.To,
			p.Title,
			p.SessionID,
			p.Known,
			p.Through,
			p.Known && p.Title != p.Titled && !a.titled,
			a.ids,
			a.sequences,
			a.times,
			a.counts,
			a.words,
			p.PlacedOpen,
			p.PlacedIn,
		)
	}
	return b
}

// unindex removes some of a moved log from the index and, with the last piece, the note that the log is indexed.
func (b *batch) unindex(log *words.Stretch) {
	b.write(
		`WITH same AS (SELECT 1 FROM parley.search_logs WHERE workspace_id = $1 AND log_id = $2 AND through = $3
			AND visible = $4 AND project_id IS NOT DISTINCT FROM $5::uuid),
 gone AS (DELETE FROM parley.search_rows WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.search_rows
  WHERE workspace_id = $1 AND log_id = $2 LIMIT $6) AND EXISTS (SELECT 1 FROM same) RETURNING 1)
 UPDATE parley.search_logs SET through = $7, title = '', visible = $8, project_id = $9
  WHERE workspace_id = $1 AND log_id = $2 AND EXISTS (SELECT 1 FROM same) AND (SELECT count(*) FROM gone) < $6`,
		log.WorkspaceID,
		log.LogID,
		log.Through,
		log.PlacedOpen,
		log.PlacedIn,
		parley.PurgeBatch,
		log.Begins,
		log.Visible,
		log.ProjectID,
	)
}

// arrays are the rows of a piece, one slice per column.
type arrays struct {
	ids              []parley.ID
	sequences, times []int64
	counts           [][]byte
	words            []string
	titled           bool // includes the title
}

func arraysOf(p *words.Stretch) arrays {
	a := arrays{ids: []parley.ID{}, sequences: []int64{}, times: []int64{}, counts: [][]byte{}, words: []string{}}
	for i := range p.Rows {
		r := &p.Rows[i]
		id := r.MessageID
		if id.IsZero() {
			id, a.titled = r.SessionID, true
		}
		a.ids, a.sequences, a.times = append(
			a.ids,
			id,
		), append(
			a.sequences,
			r.Sequence,
		), append(
			a.times,
			int64(r.CreatedAt),
		)
		a.counts, a.words = append(a.counts, r.Entry.Counts), append(a.words, r.Entry.TSVector(r.Scopes))
	}
	return a
}

// TakeSearchStep implements store.SearchIndex.
func (s *Store) TakeSearchStep(ctx context.Context, startPass bool) (step store.SearchStep, taken bool, err error) {
	var after parley.ID
	b := system()
	b.read(
		`UPDATE parley.search_pass SET due_at = parley.now_ms() + $1
			WHERE id = (SELECT id FROM parley.search_pass WHERE due_at <= parley.now_ms() OR $2 AND after_id IS NULL
				FOR UPDATE SKIP LOCKED) RETURNING after_id`,
		func(r *row) error {
			taken, after = true, r.id()
			return nil
		},
		store.SearchLease.Milliseconds(),
		startPass,
	)
	if err := s.send(ctx, b); err != nil || !taken {
		return step, false, mapError(err)
	}
	step, err = s.stepAfter(ctx, after)
	return step, err == nil, err
}

// EndSearchStep implements store.SearchIndex.
func (s *Store) EndSearchStep(ctx context.Context, step store.SearchStep, rest time.Duration) error {
	b := system()
	if step.Last.IsZero() { // end of the pass
		b.write(
			"UPDATE parley.search_pass SET after_id = NULL, due_at = parley.now_ms() + $1, "+
				"completed_at = coalesce(completed_at, parley.now_ms())",
			rest.Milliseconds(),
		)
	} else {
		b.write("UPDATE parley.search_pass SET after_id = $1, due_at = parley.now_ms()", step.Last)
	}
	return mapError(s.send(ctx, b))
}

// stepAfter returns the step of a pass after a session.
func (s *Store) stepAfter(ctx context.Context, after parley.ID) (step store.SearchStep, err error) {
	err = s.read(ctx, func() *batch {
		seen := 0
		step = store.SearchStep{}
		b := system()
		b.read(
			`SELECT h.session_id, h.deleted_at IS NULL AND (i.log_id IS NULL OR i.through < h.next_sequence - 1
				OR i.title <> s.title
  OR NOT i.visible AND s.visibility = 'workspace' OR s.project_id IS NOT NULL AND s.project_id IS DISTINCT
  	FROM i.project_id
  OR s.forked_through IS NOT NULL AND EXISTS (SELECT 1 FROM parley.session_logs g
  	LEFT JOIN parley.search_logs o ON o.workspace_id = g.workspace_id AND o.log_id = g.log_id
   WHERE g.workspace_id = s.workspace_id AND g.session_id = s.id AND coalesce(o.through, 0) < g.through))
 FROM (SELECT * FROM parley.heads WHERE session_id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  ORDER BY session_id DESC LIMIT $2) h
 JOIN parley.sessions s ON s.workspace_id = h.workspace_id AND s.id = h.session_id
 LEFT JOIN parley.search_logs i ON i.workspace_id = h.workspace_id AND i.log_id = h.log_id ORDER BY h.session_id DESC`,
			func(r *row) error {
				seen++
				id := r.id()
				if r.bool() {
					step.Sessions = append(step.Sessions, id)
				}
				if seen == store.SearchSweep || len(step.Sessions) == store.SearchBehind {
					step.Last = id
					return errPageFull
				}
				return nil
			},
			after,
			store.SearchSweep,
		)
		return b
	})
	return step, err
}

// RebuildSearch implements store.Searcher.
func (s *Store) RebuildSearch(ctx context.Context) error {
	b := system()
	b.write("TRUNCATE parley.search_rows, parley.search_logs")
	b.write("UPDATE parley.search_pass SET after_id = NULL, due_at = 0, completed_at = NULL")
	return mapError(s.send(ctx, b))
}
