package store

import (
	"context"

	"example.org/parley"
)

// ToolAuthorizations stores what workspaces may do at tool servers: one row for each workspace and server.
type ToolAuthorizations interface {
	// SaveToolAuthorization stores a row: a new one if its Revision is 0, else a change of the one with this Revision,
	// which goes up by one. CodeConflict if somebody was faster.
	SaveToolAuthorization(ctx context.Context, a parley.ToolAuthorization) (parley.ToolAuthorization, error)
	// DeleteToolAuthorization removes a server's row. CodeNotFound if there is none.
	DeleteToolAuthorization(ctx context.Context, workspaceID parley.ID, server string) error
	// ToolAuthorizations reads the rows of a workspace, by server.
	ToolAuthorizations(ctx context.Context, workspaceID parley.ID) ([]parley.ToolAuthorization, error)
}
