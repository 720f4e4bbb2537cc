package worker

import (
	"log/slog"

	"example.org/parley/store"
)

// logOf returns the log of one turn: each line names the turn.
func (w *Worker) logOf(fence store.Fence) *slog.Logger {
	return w.log.With("workspace_id", fence.WorkspaceID, "session_id", fence.SessionID, "turn_id", fence.TurnID)
}

func (c *claimed) log() *slog.Logger { return c.w.logOf(c.fence) }
