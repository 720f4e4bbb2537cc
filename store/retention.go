package store

import (
	"context"

	"example.org/parley"
)

// Retention deletes old versions of messages; the messages themselves stay.
type Retention interface {
	// ThinVersions deletes versions of settled messages that started before a time: at most PurgeBatch of them, in one
	// transaction. It reports whether more may remain. The text stays readable as one version. Several may run at once.
	ThinVersions(ctx context.Context, before parley.Time) (more bool, err error)
}
