package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/postgres"
	"example.org/parley/store"
)

// The sizes between which a claim's cost must not grow, and the number of claims.
const (
	fewSessions    = 100
	manySessions   = 1_000_000
	claimedAtOnce  = 64
	claimWorkspace = "claims"
)

// claimFigures measures a claim's cost in a small database and in a large one.
func claimFigures(ctx context.Context, l *lab, out io.Writer) error {
	var cost []time.Duration
	for _, sessions := range []int{fewSessions, manySessions} {
		took, err := l.claimCost(ctx, sessions)
		if err != nil {
			return err
		}
		cost = append(cost, took)
		fmt.Fprintf(
			out,
			"claiming %d ready turns among %d sessions: %v, %v each\n",
			claimedAtOnce,
			sessions,
			took.Round(time.Microsecond),
			(took / claimedAtOnce).Round(time.Microsecond),
		)
	}
	fmt.Fprintf(
		out,
		"claim among %d sessions to that among %d: %.2f× (bound 1.5×)\n",
		manySessions,
		fewSessions,
		ratio(cost[1], cost[0]),
	)
	return nil
}

func (l *lab) claimCost(ctx context.Context, sessions int) (_ time.Duration, err error) {
	url, err := l.database(ctx)
	if err != nil {
		return 0, err
	}
	db, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	workspace, err := db.Workspace(ctx, claimWorkspace)
	if err != nil {
		return 0, err
	}
	agent, err := db.Agent(ctx, workspace, parley.BuiltinAgentSlug)
	if err != nil {
		return 0, err
	}
	if err := l.idleSessions(ctx, workspace, agent.ID, sessions); err != nil {
		return 0, err
	}
	process := store.Process{ID: parley.NewID(), Name: "figures"}
	if err := db.RegisterProcess(ctx, process, time.Hour); err != nil {
		return 0, err
	}
	var took []time.Duration
	for round := range 10*l.rounds + 1 {
		if err := readyTurns(ctx, db, workspace, agent.ID); err != nil {
			return 0, err
		}
		began := time.Now()
		claims, err := db.Claim(ctx, process.ID, claimedAtOnce, store.Occupancy{Slots: manySessions})
		if err != nil {
			return 0, err
		}
		if len(claims) != claimedAtOnce {
			return 0, fmt.Errorf("%d of %d ready turns were claimed", len(claims), claimedAtOnce)
		}
		if round > 0 {
			took = append(took, time.Since(began))
		}
	}
	return medianOf(took), nil
}

// idleSessions fills the database with idle sessions.
func (l *lab) idleSessions(ctx context.Context, workspace, agent parley.ID, count int) error {
	database := fmt.Sprintf("bench_%d", l.databases)
	return l.postgres.Run(
		ctx,
		pgtest.Superuser,
		database,
		fmt.Sprintf(
			`INSERT INTO parley.sessions (id, workspace_id, agent_id, owner_id, visibility, log_id, kind, mode, status,
				created_at, updated_at)
 SELECT gen_random_uuid(), '%s', '%s', '%s', 'private', gen_random_uuid(), 'agent', 'foreground', 'completed', n, n
  FROM generate_series(1, %d) n`,
			workspace,
			agent,
			agent,
			count,
		),
		"INSERT INTO parley.heads (session_id, workspace_id, log_id) SELECT id, workspace_id, log_id "+
			"FROM parley.sessions",
		"VACUUM ANALYZE parley.sessions",
		"VACUUM ANALYZE parley.heads",
	)
}

// readyTurns makes unclaimed turns.
func readyTurns(ctx context.Context, db store.Turns, workspace, agent parley.ID) error {
	content, err := parley.EncodeContent(parley.UserContent{Text: prompt})
	if err != nil {
		return err
	}
	for range claimedAtOnce {
		session := parley.Session{
			ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent, OwnerID: agent, LogID: parley.NewID(),
			Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
		}
		first := store.NewMessage{
			ID:      parley.NewID(),
			TurnID:  parley.NewID(),
			Role:    parley.RoleUser,
			Author:  parley.Author{Kind: parley.AuthorService, ID: agent},
			Content: content,
		}
		if _, err := db.EnsureSession(
			ctx,
			store.Scope{WorkspaceID: workspace},
			store.NewSession{Session: session, First: &first},
			parley.ID{},
		); err != nil {
			return err
		}
	}
	return nil
}
