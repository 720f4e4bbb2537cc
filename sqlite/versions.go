package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Versions lists the durable pieces of a message.
func (s *Store) Versions(
	ctx context.Context,
	scope store.Scope,
	messageID parley.ID,
) (versions []parley.Version, err error) {
	err = s.read(ctx, func(c *conn) error {
		message, err := visibleMessage(c, scope, messageID)
		if err != nil {
			return err
		}
		versions = []parley.Version{}
		err = c.each(
			`SELECT n, kind, "offset", "end", chunks, text, created_at FROM versions WHERE message_id = ? ORDER BY n`,
			func(r *row) error {
				versions = append(
					versions,
					parley.Version{MessageID: messageID, N: r.int(), Kind: parley.ContentKind(r.text()),
						Offset: r.int(), End: r.int(), Chunks: r.int(), Text: r.text(), CreatedAt: r.time()},
				)
				return nil
			},
			messageID,
		)
		if err != nil || !message.Status.Settled() {
			return err
		}
		chunks := 0
		if _, err := c.one("SELECT chunks FROM messages WHERE id = ?", func(r *row) error {
			chunks = r.int()
			return nil
		}, messageID); err != nil {
			return err
		}
		versions = transition.SettledVersions(&message, versions, chunks)
		return nil
	})
	return versions, err
}
