package store

import (
	"context"

	"example.org/parley"
)

// Retention thins out what is kept of how messages came to be; the messages
// themselves stay.
type Retention interface {
	// ThinVersions deletes versions of settled messages whose writing began before a
	// time: at most PurgeBatch of them, in one transaction. It reports whether there
	// may be more. The text stays readable as one version. Several may run at once.
	ThinVersions(ctx context.Context, before parley.Time) (more bool, err error)
}
