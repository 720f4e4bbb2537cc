package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// diskCommit returns the time of one small durable write on this disk: the median of appends, each synced.
func diskCommit(dir string) (time.Duration, error) {
	file, err := os.CreateTemp(dir, "commit-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // the directory is removed too
	defer file.Close()           //nolint:errcheck // nobody reads it
	block := make([]byte, 4096)
	var took []time.Duration
	for range 300 {
		began := time.Now()
		if _, err := file.Write(block); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	return medianOf(took), nil
}

// storeFigures measures durable message appends with 64 writers against the disk's own sequential commits.
func storeFigures(ctx context.Context, l *lab, out io.Writer) error {
	var appends, commits []float64
	for range l.rounds {
		commit, err := diskCommit(l.dir)
		if err != nil {
			return err
		}
		commits = append(commits, 1/commit.Seconds())
		rate, err := appendRate(ctx, l.dir)
		if err != nil {
			return err
		}
		appends = append(appends, rate)
	}
	a, c := medianOf(appends), medianOf(commits)
	fmt.Fprintf(
		out,
		"durable message appends, 64 writers: %.0f/s; the disk's single-writer commits: %.0f/s: %.1f× (bound 3×)\n",
		a,
		c,
		a/c,
	)
	return nil
}

func appendRate(ctx context.Context, parent string) (float64, error) {
	const writers, each = 64, 150
	dir := filepath.Join(parent, "store")
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return 0, err
	}
	workspace, err := db.Workspace(ctx, parley.DefaultWorkspace)
	if err != nil {
		return 0, err
	}
	owner, err := db.LocalOwner(ctx, workspace)
	if err != nil {
		return 0, err
	}
	agent, err := db.Agent(ctx, workspace, parley.BuiltinAgentSlug)
	if err != nil {
		return 0, err
	}
	scope := store.Scope{WorkspaceID: workspace}
	content, err := parley.EncodeContent(
		parley.UserContent{Text: "a message that is to be durable before anybody is told so"},
	)
	if err != nil {
		return 0, err
	}
	sessions := make([]parley.ID, writers)
	for i := range sessions {
		opened, err := db.EnsureSession(ctx, scope, store.NewSession{Session: parley.Session{
			ID: parley.NewID(), WorkspaceID: workspace, AgentID: agent.ID, OwnerID: owner.ID,
			Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
		}}, parley.ID{})
		if err != nil {
			return 0, err
		}
		sessions[i] = opened.Session.ID
	}
	var wg sync.WaitGroup
	failures := make(chan error, writers)
	began := time.Now()
	for _, session := range sessions {
		wg.Go(func() {
			for range each {
				_, err := db.PostMessage(
					ctx,
					scope,
					session,
					store.NewMessage{
						ID:      parley.NewID(),
						Role:    parley.RoleUser,
						Author:  owner.Author(),
						Content: content,
					},
					parley.ID{},
				)
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	close(failures)
	var errs []error
	for err := range failures {
		errs = append(errs, err)
	}
	errs = append(errs, db.Close(), os.RemoveAll(dir))
	return writers * each / took.Seconds(), errors.Join(errs...)
}
