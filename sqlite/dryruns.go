package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CountDryRun implements store.DryRuns.
func (s *Store) CountDryRun(ctx context.Context, workspaceID parley.ID, run store.DryRun) error {
	return s.write(ctx, func(tx *txn) error {
		for i := range run.Calls {
			if err := tx.insertDryCall(workspaceID, &run, &run.Calls[i]); err != nil {
				return err
			}
		}
		subjects, used := run.Charge()
		return tx.spend(workspaceID, &transition.Spent{From: subjects, Used: used})
	})
}

func (t *txn) insertDryCall(workspaceID parley.ID, run *store.DryRun, call *parley.Call) error {
	usage, err := orNull(call.Usage, call.Usage.IsZero())
	if err != nil {
		return err
	}
	estimate, err := orNull(call.Estimate, call.Estimate == nil)
	if err != nil {
		return err
	}
	_, err = t.exec(
		`INSERT INTO dry_calls (id, workspace_id, session_id, owner_id, agent_id, model, usage, cost, saved, estimated,
			estimate, created_at)
 VALUES (?, ?, (SELECT s.id FROM sessions s WHERE s.id = ? AND s.deleted_at IS NULL), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		call.ID,
		workspaceID,
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
	return err
}

// orNull encodes a value as JSON, or as NULL if nothing is known.
func orNull[T any](value T, unknown bool) (arg, error) {
	if unknown {
		return nil, nil
	}
	return encode(value)
}
