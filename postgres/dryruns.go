package postgres

import (
	"context"
	"sort"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

const insertDryCall = `INSERT INTO parley.dry_calls (workspace_id, id, session_id, owner_id, agent_id, model, usage,
	cost, saved, estimated, estimate, created_at)
 VALUES ($1, $2, (SELECT s.id FROM parley.sessions s WHERE s.workspace_id = $1 AND s.id = $3 AND s.deleted_at IS NULL),
  $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// CountDryRun implements store.DryRuns.
func (s *Store) CountDryRun(ctx context.Context, workspaceID parley.ID, run store.DryRun) error {
	b := tenant(workspaceID)
	for i := range run.Calls {
		call := &run.Calls[i]
		usage, err := orNull(call.Usage, call.Usage.IsZero())
		if err != nil {
			return err
		}
		estimate, err := orNull(call.Estimate, call.Estimate == nil)
		if err != nil {
			return err
		}
		b.write(
			insertDryCall,
			workspaceID,
			call.ID,
			run.SessionID,
			run.OwnerID,
			run.AgentID,
			string(call.Model),
			usage,
			call.Cost,
			call.Cache.Saved,
			call.Estimated,
			estimate,
			call.CreatedAt,
		)
	}
	subjects, used := run.Charge()
	sort.Slice(subjects, func(i, j int) bool { return subjects[i].Compare(subjects[j]) < 0 }) // two cannot deadlock
	b.spend(workspaceID, &transition.Spent{From: subjects, Used: used})
	return mapError(s.send(ctx, b))
}

// orNull encodes a value as JSON, or as NULL if nothing is known.
func orNull[T any](value T, unknown bool) (arg, error) {
	if unknown {
		return nil, nil
	}
	return encode(value)
}
