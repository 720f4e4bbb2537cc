package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Bounds of a flush.
const (
	flushWorkspaces = 64 // workspaces whose streams one round trip flushes
	flushTries      = 3  // tries for locked sessions; a transition takes a few milliseconds
	flushPause      = 5 * time.Millisecond
)

// A flush shares the heads' locks, so it comes entirely before or entirely after a transition that ends its claim or
// settles its message. It never waits for a lock: one session that somebody keeps locked would hold up every stream of
// the process, and the transitions of the sessions that it has locked. The insertion learns from a setting of the
// transaction which locks were obtained; it needs its own snapshot, taken while holding the locks.
const (
	holding    = "h.workspace_id = $1 AND h.deleted_at IS NULL AND h.turn_status = 'running' AND h.holder IS NOT NULL"
	shareHeads = `WITH shared AS MATERIALIZED (SELECT h.session_id FROM parley.heads h
		WHERE h.session_id = ANY($2) AND ` + holding + ` FOR SHARE SKIP LOCKED),
 told AS MATERIALIZED (SELECT set_config('parley.shared', coalesce(string_agg(session_id::text, ','), ''), true)
  FROM shared)
 SELECT h.session_id, h.turn_id, h.epoch, EXISTS (SELECT 1 FROM shared s WHERE s.session_id = h.session_id)
 FROM told LEFT JOIN parley.heads h ON h.session_id = ANY($2) AND ` + holding
	appendVersions = `INSERT INTO parley.versions (workspace_id, message_id, n, kind, "offset", "end", chunks, text,
		created_at)
 SELECT $1, v.message_id, v.n, v.kind, v.from_byte, v.to_byte, v.chunks, v.text, $12
 FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::uuid[], $6::integer[], $7::text[], $8::bigint[], $9::bigint[],
  $10::integer[], $11::text[])
 v (session_id, turn_id, epoch, message_id, n, kind, from_byte, to_byte, chunks, text)
 JOIN parley.heads h ON h.session_id = v.session_id AND h.turn_id = v.turn_id AND h.epoch = v.epoch AND ` + holding + `
 JOIN parley.messages m ON m.workspace_id = $1 AND m.id = v.message_id AND m.session_id = v.session_id
  AND m.status = 'streaming'
 WHERE v.session_id = ANY(string_to_array(current_setting('parley.shared'), ',')::uuid[])
 ON CONFLICT DO NOTHING`
)

// AppendVersions implements store.Turns. It does not change the sessions or their revisions.
func (s *Store) AppendVersions(
	ctx context.Context,
	versions []store.FencedVersion,
) (appended store.Appended, err error) {
	for try := 1; len(versions) > 0; try++ {
		written, err := s.appendSome(ctx, versions)
		if err != nil {
			return store.Appended{}, err
		}
		appended.Locked = appended.Locked[:0]
		var locked []store.FencedVersion
		for i := range versions {
			fence := versions[i].Fence
			switch done, holds := written[fence]; {
			case !holds && !slices.Contains(appended.Fenced, fence):
				appended.Fenced = append(appended.Fenced, fence)
			case holds && !done:
				locked = append(locked, versions[i])
				if !slices.Contains(appended.Locked, fence) {
					appended.Locked = append(appended.Locked, fence)
				}
			}
		}
		if versions = locked; try == flushTries || len(versions) > 0 && sleep(ctx, flushPause) != nil {
			break
		}
	}
	return appended, nil //nolint:nilerr // an interrupted pause only ends the tries
}

// appendSome adds versions where that needs no waiting. It returns the claims that hold, and whether their versions
// were written.
func (s *Store) appendSome(
	ctx context.Context,
	versions []store.FencedVersion,
) (written map[store.Fence]bool, err error) {
	byWorkspace := map[parley.ID][]int{}
	var order []parley.ID
	for i := range versions {
		id := versions[i].Fence.WorkspaceID
		if byWorkspace[id] == nil {
			order = append(order, id)
		}
		byWorkspace[id] = append(byWorkspace[id], i)
	}
	written = map[store.Fence]bool{}
	for some := range slices.Chunk(order, flushWorkspaces) {
		var found map[store.Fence]bool
		if err := s.read(ctx, func() *batch { // repeating a flush adds nothing
			found = map[store.Fence]bool{}
			b := tenant(some[0])
			for i, workspaceID := range some {
				if i > 0 {
					b.write("SELECT set_config('parley.workspace', $1, true)", workspaceID.String())
				}
				b.flush(workspaceID, versions, byWorkspace[workspaceID], s.clock.Now(), found)
			}
			return b
		}); err != nil {
			return nil, err
		}
		maps.Copy(written, found)
	}
	return written, nil
}

// flush adds the versions of one workspace, and records which claims hold and whether their versions are written.
func (b *batch) flush(
	workspaceID parley.ID,
	versions []store.FencedVersion,
	positions []int,
	now parley.Time,
	written map[store.Fence]bool,
) {
	n := len(positions)
	sessions, turns, messages := make([]parley.ID, n), make([]parley.ID, n), make([]parley.ID, n)
	epochs, offsets, ends := make([]int64, n), make([]int64, n), make([]int64, n)
	numbers, chunks := make([]int, n), make([]int, n)
	kinds, texts := make([]string, n), make([]string, n)
	for i, position := range positions {
		f, v := &versions[position].Fence, &versions[position].Version
		sessions[i], turns[i], epochs[i], messages[i] = f.SessionID, f.TurnID, f.Epoch, v.MessageID
		numbers[i], kinds[i], offsets[i], ends[i], chunks[i], texts[i] = v.N, string(
			v.Kind,
		), int64(
			v.Offset,
		), int64(
			v.End,
		), v.Chunks, v.Text
	}
	b.read(shareHeads, func(r *row) error {
		written[store.Fence{WorkspaceID: workspaceID, SessionID: r.id(), TurnID: r.id(), Epoch: r.int64()}] = r.bool()
		return nil
	}, workspaceID, sessions)
	b.write(
		appendVersions,
		workspaceID,
		sessions,
		turns,
		epochs,
		messages,
		numbers,
		kinds,
		offsets,
		ends,
		chunks,
		texts,
		now,
	)
}
