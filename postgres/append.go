package postgres

import (
	"context"

	"parley"
)

// flushWorkspaces bounds the workspaces whose streams are flushed in one round trip.
const flushWorkspaces = 64

// A flush shares the heads' locks, so that it comes wholly before a transition
// that ends its claim or settles its message, or wholly after.
const (
	shareHeads = `SELECT h.session_id, h.turn_id, h.epoch FROM parley.heads h WHERE h.session_id = ANY($2) AND h.workspace_id = $1
 AND h.deleted_at IS NULL AND h.turn_status = 'running' AND h.holder IS NOT NULL ORDER BY h.session_id FOR SHARE`
	appendVersions = `INSERT INTO parley.versions (workspace_id, message_id, n, kind, "offset", "end", chunks, text, created_at)
 SELECT $1, v.message_id, v.n, v.kind, v.from_byte, v.to_byte, v.chunks, v.text, $12
 FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::uuid[], $6::integer[], $7::text[], $8::bigint[], $9::bigint[], $10::integer[], $11::text[])
 v (session_id, turn_id, epoch, message_id, n, kind, from_byte, to_byte, chunks, text)
 JOIN parley.heads h ON h.session_id = v.session_id AND h.workspace_id = $1 AND h.turn_id = v.turn_id AND h.epoch = v.epoch
 AND h.deleted_at IS NULL AND h.turn_status = 'running' AND h.holder IS NOT NULL
 JOIN parley.messages m ON m.workspace_id = $1 AND m.id = v.message_id AND m.session_id = v.session_id AND m.status = 'streaming'
 ON CONFLICT DO NOTHING`
)

// AppendVersions implements parley.TurnStore. It does not change the sessions:
// their revisions stay.
func (s *Store) AppendVersions(ctx context.Context, versions []parley.FencedVersion) (fenced []parley.ID, err error) {
	byWorkspace := map[parley.ID][]int{}
	var order []parley.ID
	for i := range versions {
		id := versions[i].Fence.WorkspaceID
		if byWorkspace[id] == nil {
			order = append(order, id)
		}
		byWorkspace[id] = append(byWorkspace[id], i)
	}
	held := map[parley.Fence]bool{}
	for len(order) > 0 {
		some := order[:min(len(order), flushWorkspaces)]
		order = order[len(some):]
		if err := s.read(ctx, func() *batch { // a flush that is sent twice adds nothing
			b := tenant(some[0])
			for i, workspaceID := range some {
				if i > 0 {
					b.write("SELECT set_config('parley.workspace', $1, true)", workspaceID.String())
				}
				b.flush(workspaceID, versions, byWorkspace[workspaceID], s.clock.Now(), held)
			}
			return b
		}); err != nil {
			return nil, err
		}
	}
	for i := range versions {
		if !held[versions[i].Fence] {
			fenced = append(fenced, versions[i].Fence.SessionID)
		}
	}
	return fenced, nil
}

// flush adds the versions of one workspace and notes the claims that hold.
func (b *batch) flush(workspaceID parley.ID, versions []parley.FencedVersion, places []int, now parley.Time, held map[parley.Fence]bool) {
	n := len(places)
	sessions, turns, messages := make([]parley.ID, n), make([]parley.ID, n), make([]parley.ID, n)
	epochs, offsets, ends := make([]int64, n), make([]int64, n), make([]int64, n)
	numbers, chunks := make([]int, n), make([]int, n)
	kinds, texts := make([]string, n), make([]string, n)
	for i, place := range places {
		f, v := &versions[place].Fence, &versions[place].Version
		sessions[i], turns[i], epochs[i], messages[i] = f.SessionID, f.TurnID, f.Epoch, v.MessageID
		numbers[i], kinds[i], offsets[i], ends[i], chunks[i], texts[i] = v.N, string(v.Kind), int64(v.Offset), int64(v.End), v.Chunks, v.Text
	}
	b.read(shareHeads, func(r *row) error {
		held[parley.Fence{WorkspaceID: workspaceID, SessionID: r.id(), TurnID: r.id(), Epoch: r.int64()}] = true
		return nil
	}, workspaceID, sessions)
	b.write(appendVersions, workspaceID, sessions, turns, epochs, messages, numbers, kinds, offsets, ends, chunks, texts, now)
}
