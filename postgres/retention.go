package postgres

import (
	"context"

	"example.org/parley"
)

// thinVersions finds old versions by their messages' ids, which begin with the time of minting, so no index of times
// must be maintained while texts stream. Versions of streaming messages still have their text.
const thinVersions = `DELETE FROM parley.versions v USING (SELECT o.workspace_id, o.message_id, o.n
	FROM parley.workspaces w CROSS JOIN LATERAL
 (SELECT workspace_id, message_id, n FROM parley.versions WHERE workspace_id = w.id AND message_id < $1 AND text IS NULL
  ORDER BY message_id, n LIMIT $2) o LIMIT $2) d
 WHERE v.workspace_id = d.workspace_id AND v.message_id = d.message_id AND v.n = d.n`

// ThinVersions implements store.Retention.
func (s *Store) ThinVersions(ctx context.Context, before parley.Time) (bool, error) {
	var gone int64
	b := system()
	b.counted(&gone, thinVersions, parley.FirstID(before), parley.PurgeBatch)
	err := s.send(ctx, b)
	return gone == parley.PurgeBatch, mapError(err)
}
