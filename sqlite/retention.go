package sqlite

import (
	"context"

	"example.org/parley"
)

// thinVersions finds old versions by their messages' ids, which begin with the time of minting, so no index of times
// must be maintained while texts stream. Versions of streaming messages still have their text.
const thinVersions = `DELETE FROM versions WHERE (message_id, n) IN (SELECT message_id, n FROM versions
	WHERE message_id < ?1 AND text IS NULL ORDER BY message_id, n LIMIT ?2)`

// ThinVersions implements store.Retention.
func (s *Store) ThinVersions(ctx context.Context, before parley.Time) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		first := parley.FirstID(before)
		gone, err := tx.exec(thinVersions, first[:], parley.PurgeBatch)
		return gone == parley.PurgeBatch, err
	})
}
