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

// How a server looks after its store by itself: a whole verification in small steps,
// with long rests, over and over.
const (
	patrolStep  = 2 * time.Second // between two steps: 250 messages or one table in a second at most
	patrolRest  = 6 * time.Hour   // between two rounds
	patrolAgain = time.Minute     // after an error of the store
	patrolBound = 2 * time.Minute // of one step
	// of the check of one table, which on SQLite keeps the write-ahead log from starting over
	patrolTable = 30 * time.Second
)

// patrol verifies the store in passing until stop is closed, which ends a step that
// is under way. What it finds is logged; damaged pages are noted by the store itself.
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

// patrolOne makes one step, and says where the next one begins and when.
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
		log.Warn("the store could not be verified in passing; trying again", "stage", string(place.Stage), "error", err)
		return place, patrolAgain
	}
	for _, f := range step.Findings {
		log.Error(
			"the store is damaged or was changed by another hand",
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

// passing is a store that passes over a table whose check takes too long: the stages
// behind it are reached, and what one table takes is never taken twice in a round.
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
		"a table is too large to be checked in passing, and was passed over: run parley verify when the server has "+
			"little to do",
		"table",
		table,
		"bound",
		b.table.String(),
	)
	return table, findings, nil
}
