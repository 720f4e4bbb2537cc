package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// The pace at which a running server verifies its store: small steps, long rests, over and over.
const (
	patrolStep  = 2 * time.Second // between two steps: 250 messages or one table in a second at most
	patrolRest  = 6 * time.Hour   // between two rounds
	patrolAgain = time.Minute     // after an error of the store
	patrolBound = 2 * time.Minute // of one step
	// of one table's check, which on SQLite keeps the write-ahead log from starting over
	patrolTable = 30 * time.Second
)

// patrol verifies the store in the background until stop is closed, which also ends the current step. It logs its
// findings; the store itself records damaged pages.
func patrol(stop <-chan struct{}, store store.Verifiable, log *slog.Logger) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	go func() { // ends with patrol, whose end ends ctx
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	}()
	store = passing{Verifiable: store, table: patrolTable, log: log}
	place := parley.VerifyPlace{}
	rest := time.NewTimer(patrolStep)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		next, pause := patrolOne(ctx, store, place, log)
		place = next
		rest.Reset(pause)
	}
}

// patrolOne takes one step, and returns where and when the next one begins.
func patrolOne(
	ctx context.Context,
	store store.Verifiable,
	place parley.VerifyPlace,
	log *slog.Logger,
) (next parley.VerifyPlace, pause time.Duration) {
	step, err := verifyStep(ctx, store, place)
	if ctx.Err() != nil {
		return place, patrolRest // the patrol ends
	}
	if err != nil {
		log.Warn(
			"the store could not be verified in the background; trying again",
			"stage",
			string(place.Stage),
			"error",
			err,
		)
		return place, patrolAgain
	}
	for _, f := range step.Findings {
		log.Error(
			"the store is damaged or was changed by another program",
			"stage",
			string(f.Stage),
			"where",
			f.Where,
			"says",
			f.Says,
			"do",
			f.Do,
		)
	}
	if step.Next.Stage == parley.VerifyDone {
		return parley.VerifyPlace{}, patrolRest
	}
	return step.Next, patrolStep
}

func verifyStep(ctx context.Context, store store.Verifiable, place parley.VerifyPlace) (parley.VerifyStep, error) {
	ctx, end := context.WithTimeout(ctx, patrolBound)
	defer end()
	return engine.Verify(ctx, store, place, nil)
}

// passing is a store that skips a table whose check takes too long, so that a round reaches the stages after it and
// never checks such a table twice.
type passing struct {
	store.Verifiable
	table time.Duration
	log   *slog.Logger
}

// CheckPages implements store.Verifiable.
func (b passing) CheckPages(ctx context.Context, after string) (table string, findings []parley.Finding, err error) {
	within, end := context.WithTimeout(ctx, b.table)
	defer end()
	table, findings, err = b.Verifiable.CheckPages(within, after)
	if err == nil || table == "" || ctx.Err() != nil || !errors.Is(within.Err(), context.DeadlineExceeded) {
		return table, findings, err
	}
	b.log.Warn(
		"skipped a table that is too large to check in the background: run parley verify when the server has "+
			"little to do",
		"table",
		table,
		"bound",
		b.table.String(),
	)
	return table, findings, nil
}
