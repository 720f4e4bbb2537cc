package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/internal/words"
	"example.org/parley/store"
)

// Indexing has two halves: a reader reads and prepares new messages, so the writer does not wait for that; the writer
// then writes them, unless somebody else has.

// IndexSessions implements store.Searcher.
func (s *Store) IndexSessions(ctx context.Context, sessions []parley.ID) ([]parley.ID, error) {
	var pieces []words.Stretch
	var left []parley.ID
	if err := s.read(ctx, func(c *conn) (err error) {
		pieces, left, err = gather(c, sessions)
		return err
	}); err != nil || len(pieces) == 0 {
		return left, err
	}
	if err := s.write(ctx, func(tx *txn) error { return tx.index(pieces) }); err != nil {
		return nil, err
	}
	return left, s.mergeWords(ctx)
}

// The index of words grows by small segments, which are merged piece by piece so that no transition waits long. Left to
// itself, FTS5 merges inside the indexing transactions, the longest of which took a quarter of a second.
const (
	mergePages  = 64 // merged in one transaction, approximately
	mergePieces = 4  // merging transactions after each indexing one, enough to keep up
)

// mergeWords merges segments of the index of words while there is anything to merge.
func (s *Store) mergeWords(ctx context.Context) error {
	for range mergePieces {
		more, err := transact(ctx, s, func(tx *txn) (more bool, err error) {
			before, err := tx.changes()
			if err != nil {
				return false, err
			}
			if _, err := tx.exec(
				"INSERT INTO search_words (search_words, rank) VALUES ('merge', ?)",
				mergePages,
			); err != nil {
				return false, err
			}
			after, err := tx.changes()
			return after-before > 1, err // the statement itself counts as one
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// changes returns how many rows the connection has changed so far.
func (t *txn) changes() (changes int64, err error) {
	_, err = t.one("SELECT total_changes()", func(r *row) error {
		changes = r.int64()
		return nil
	})
	return changes, err
}

// gather reads and prepares unindexed messages of sessions, up to the bounds of a transaction, and returns the sessions
// that it did not finish.
func gather(c *conn, sessions []parley.ID) (pieces []words.Stretch, left []parley.ID, err error) {
	budget := words.NewBudget()
	for _, id := range sessions {
		if budget.Spent() {
			left = append(left, id)
			continue
		}
		logs, err := logsOf(c, id)
		if err != nil {
			return nil, nil, err
		}
		for _, piece := range logs {
			if budget.Spent() {
				left = append(left, id)
				break
			}
			if !piece.Behind() {
				continue
			}
			if piece.Moved() {
				budget.Clear(&piece)
			} else if err := readStretch(c, &budget, &piece); err != nil {
				return nil, nil, err
			}
			if piece.News() {
				pieces = append(pieces, piece)
			}
		}
		if budget.Spent() && (len(left) == 0 || left[len(left)-1] != id) { // it may or may not be finished
			left = append(left, id)
		}
	}
	return pieces, left, nil
}

// logsOf returns the logs to index with a session: its own, and those that it shares from deleted sessions.
func logsOf(c *conn, sessionID parley.ID) (logs []words.Stretch, err error) {
	forked := false
	own := words.Stretch{}
	found, err := c.one(
		`SELECT s.workspace_id, s.id, s.log_id, s.owner_id, s.agent_id, s.project_id, s.created_at, s.title,
			s.visibility = 'workspace', s.forked_through IS NOT NULL, ifnull(s.forked_through, 0), h.next_sequence - 1,
 i.log_id IS NOT NULL, ifnull(i.through, ifnull(s.forked_through, 0)), i.title, i.visible, i.project_id
 FROM sessions s CROSS JOIN heads h ON h.session_id = s.id LEFT JOIN search_logs i ON i.log_id = s.log_id
  WHERE s.id = ? AND s.deleted_at IS NULL`,
		func(r *row) error {
			own.WorkspaceID, own.SessionID, own.LogID, own.OwnerID, own.AgentID, own.ProjectID = r.id(), r.id(), r.id(),
				r.id(), r.id(), r.id()
			own.CreatedAt, own.Title, own.Visible, forked, own.Begins, own.End = r.time(), r.text(), r.bool(), r.bool(),
				r.int64(), r.int64()
			own.Known, own.Through, own.Titled, own.PlacedOpen, own.PlacedIn = r.bool(), r.int64(), r.text(),
				r.bool(), r.id()
			return nil
		},
		sessionID,
	)
	if err != nil || !found {
		return nil, err
	}
	if forked {
		err = c.each(
			`SELECT g.log_id, g.writer_id, g.through, i.log_id IS NOT NULL, i.through, i.title, i.visible, i.project_id
				FROM session_logs g LEFT JOIN search_logs i ON i.log_id = g.log_id
 WHERE g.session_id = ? AND NOT EXISTS (SELECT 1 FROM heads h
  WHERE h.session_id = g.writer_id AND h.deleted_at IS NULL)`,
			func(r *row) error {
				log := words.Stretch{Shared: true}
				log.WorkspaceID, log.LogID, log.SessionID, log.End = own.WorkspaceID, r.id(), r.id(), r.int64()
				log.Known, log.Through, log.Titled, log.PlacedOpen, log.PlacedIn = r.bool(), r.int64(), r.text(),
					r.bool(), r.id()
				log.Title = log.Titled
				logs = append(logs, log)
				return nil
			},
			sessionID,
		)
	}
	return append(logs, own), err
}

// readStretch prepares the next messages of a log, up to a streaming one.
func readStretch(c *conn, budget *words.Budget, piece *words.Stretch) error {
	budget.Begin(piece)
	err := c.each(
		`SELECT id, sequence, role, status, content, tool_name, internal, created_at
			FROM messages INDEXED BY messages_sequence
 WHERE log_id = ? AND sequence IS NOT NULL AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`,
		func(r *row) error {
			m := parley.Message{
				ID:        r.id(),
				Sequence:  r.int64(),
				Role:      parley.Role(r.text()),
				Status:    parley.MessageStatus(r.text()),
				Content:   r.json(),
				ToolName:  r.text(),
				Internal:  r.bool(),
				CreatedAt: r.time(),
			}
			if !budget.Take(piece, &m) {
				return errPageFull
			}
			return nil
		},
		piece.LogID,
		piece.Through,
		piece.End,
		store.SearchBatch,
	)
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return err
}

// index writes pieces, except those that somebody else has partly written, and those of logs to be deleted.
func (t *txn) index(pieces []words.Stretch) error {
	var rows []words.Row
	var of []*words.Stretch // of each row
	for i := range pieces {
		piece := &pieces[i]
		if fits, err := t.indexable(piece); err != nil {
			return err
		} else if !fits {
			continue
		}
		if piece.Moved() {
			if err := t.unindex(piece); err != nil {
				return err
			}
			continue
		}
		if piece.Known && piece.Title != piece.Titled {
			if _, err := t.exec("DELETE FROM search_rows WHERE log_id = ? AND sequence = 0", piece.LogID); err != nil {
				return err
			}
		}
		if _, err := t.exec(
			"INSERT INTO search_logs (log_id, workspace_id, through, title, visible, project_id) "+
				"VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET through = excluded.through, title = "+
				"excluded.title",
			piece.LogID,
			piece.WorkspaceID,
			piece.To,
			piece.Title,
			piece.PlacedOpen,
			piece.PlacedIn,
		); err != nil {
			return err
		}
		rows = append(rows, piece.Rows...)
		for range piece.Rows {
			of = append(of, piece)
		}
	}
	return t.indexRows(rows, of)
}

// indexable reports whether a piece is the next one of its log, and the log stays.
func (t *txn) indexable(piece *words.Stretch) (bool, error) {
	known, same := false, false
	if _, err := t.one("SELECT through, visible, project_id FROM search_logs WHERE log_id = ?", func(r *row) error {
		known, same = true, r.int64() == piece.Through && r.bool() == piece.PlacedOpen && r.id() == piece.PlacedIn
		return nil
	}, piece.LogID); err != nil || known != piece.Known || known && !same {
		return false, err
	}
	if piece.Shared {
		return t.has("SELECT 1 FROM session_logs WHERE log_id = ? AND through >= ?", piece.LogID, piece.To)
	}
	return t.has("SELECT 1 FROM heads WHERE session_id = ? AND deleted_at IS NULL", piece.SessionID)
}

// unindex removes some of a moved log from the index and, with the last piece, the note that the log is indexed.
func (t *txn) unindex(log *words.Stretch) error {
	gone, err := t.exec(
		"DELETE FROM search_rows WHERE key IN (SELECT key FROM search_rows WHERE log_id = ? LIMIT ?)",
		log.LogID,
		parley.PurgeBatch,
	)
	if err == nil && gone < parley.PurgeBatch {
		_, err = t.exec(
			"UPDATE search_logs SET through = ?, title = '', visible = ?, project_id = ? WHERE log_id = ?",
			log.Begins,
			log.Visible,
			log.ProjectID,
			log.LogID,
		)
	}
	return err
}

// indexRows adds rows in key order, which suits the index of words.
func (t *txn) indexRows(rows []words.Row, of []*words.Stretch) error {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].CreatedAt, rows[b].CreatedAt) })
	key := int64(-1)
	for _, i := range order {
		r := &rows[i]
		var err error
		if key, err = t.nextKey(r.CreatedAt, key); err != nil {
			return err
		}
		if _, err := t.exec(
			`INSERT INTO search_rows (key, workspace_id, session_id, log_id, sequence, message_id, role, tool_name,
				created_at, counts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			key,
			of[i].WorkspaceID,
			r.SessionID,
			r.LogID,
			r.Sequence,
			r.MessageID,
			string(r.Role),
			r.ToolName,
			int64(r.CreatedAt),
			r.Entry.Counts,
		); err != nil {
			return err
		}
		if _, err := t.exec(
			"INSERT INTO search_words (rowid, words, scope) VALUES (?, ?, ?)",
			key,
			strings.Join(r.Entry.Words, " "),
			strings.Join(r.Scopes, " "),
		); err != nil {
			return err
		}
	}
	return nil
}

// nextKey returns the first free key of a second, or of a later second if it is full. last is the previous key, for
// rows in order.
func (t *txn) nextKey(at parley.Time, last int64) (int64, error) {
	base := firstKey(at)
	if last >= base && (last+1)%(1<<keyBits) != 0 {
		return last + 1, nil
	}
	for base = max(base, last+1); ; base += 1 << keyBits {
		highest := int64(-1)
		if _, err := t.one("SELECT max(key) FROM search_rows WHERE key >= ? AND key < ?", func(r *row) error {
			if key := r.maybe(); key != nil {
				highest = *key
			}
			return nil
		}, base, base+1<<keyBits); err != nil {
			return 0, err
		}
		switch {
		case highest < 0:
			return base, nil
		case highest+1 < base+1<<keyBits:
			return highest + 1, nil
		}
	}
}

// TakeSearchStep implements store.SearchIndex.
func (s *Store) TakeSearchStep(ctx context.Context, startPass bool) (store.SearchStep, bool, error) {
	after, err := transact(ctx, s, func(tx *txn) (after *parley.ID, err error) {
		_, err = tx.one(
			"UPDATE search_pass SET due_at = ? WHERE due_at <= ? OR ? AND after_id IS NULL RETURNING after_id",
			func(r *row) error {
				id := r.id()
				after = &id
				return nil
			},
			int64(tx.now)+store.SearchLease.Milliseconds(),
			int64(tx.now),
			startPass,
		)
		tx.wrote = after != nil
		return after, err
	})
	if err != nil || after == nil {
		return store.SearchStep{}, false, err
	}
	step, err := s.stepAfter(ctx, *after)
	return step, err == nil, err
}

// EndSearchStep implements store.SearchIndex.
func (s *Store) EndSearchStep(ctx context.Context, step store.SearchStep, rest time.Duration) error {
	return s.write(ctx, func(tx *txn) error {
		if step.Last.IsZero() { // end of the pass
			_, err := tx.exec(
				"UPDATE search_pass SET after_id = NULL, due_at = ?, completed_at = ifnull(completed_at, ?)",
				int64(tx.now)+rest.Milliseconds(),
				int64(tx.now),
			)
			return err
		}
		_, err := tx.exec("UPDATE search_pass SET after_id = ?, due_at = ?", step.Last, int64(tx.now))
		return err
	})
}

// stepAfter returns the step of a pass after a session.
func (s *Store) stepAfter(ctx context.Context, after parley.ID) (step store.SearchStep, err error) {
	if after.IsZero() {
		for i := range after {
			after[i] = 0xff
		}
	}
	err = s.read(ctx, func(c *conn) error {
		seen := 0
		step = store.SearchStep{}
		err := c.each(
			`SELECT h.session_id, h.deleted_at IS NULL AND (i.log_id IS NULL OR i.through < h.next_sequence - 1
				OR i.title <> s.title
  OR i.visible = 0 AND s.visibility = 'workspace' OR s.project_id IS NOT NULL AND s.project_id IS NOT i.project_id
  OR s.forked_through IS NOT NULL AND EXISTS (SELECT 1 FROM session_logs g
  	LEFT JOIN search_logs o ON o.log_id = g.log_id WHERE g.session_id = s.id AND ifnull(o.through, 0) < g.through))
 FROM heads h CROSS JOIN sessions s ON s.id = h.session_id LEFT JOIN search_logs i ON i.log_id = h.log_id
  WHERE h.session_id < ? ORDER BY h.session_id DESC LIMIT ?`,
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
		if errors.Is(err, errPageFull) {
			err = nil
		}
		return err
	})
	return step, err
}

// RebuildSearch implements store.SearchIndex.
func (s *Store) RebuildSearch(ctx context.Context) error {
	return s.write(ctx, func(tx *txn) error {
		for _, statement := range []string{"INSERT INTO search_words (search_words) VALUES ('delete-all')",
			"DROP TRIGGER search_rows_gone", "DELETE FROM search_rows",
			searchTrigger, "DELETE FROM search_logs",
			"UPDATE search_pass SET after_id = NULL, due_at = 0, completed_at = NULL"} {
			if _, err := tx.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// searchTrigger is the trigger that the migration creates.
const searchTrigger = "CREATE TRIGGER search_rows_gone AFTER DELETE ON search_rows BEGIN DELETE FROM search_words " +
	"WHERE rowid = old.key; END"
