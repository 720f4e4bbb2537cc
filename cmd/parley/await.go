package main

import (
	"context"
	"log/slog"
	"time"

	"example.org/parley"
	"example.org/parley/postgres"
	"example.org/parley/store"
)

// How often to try a database that does not answer, and how often to log that.
const (
	firstLook   = 250 * time.Millisecond
	longestLook = 5 * time.Second
	waitTold    = 10 * time.Second
)

// awaitStore opens the database that the settings name. It waits for a PostgreSQL server that does not answer yet, and
// logs that it waits. It does not wait for one that refuses.
func (s *server) awaitStore(ctx context.Context) (store.Store, error) {
	began, pause := time.Now(), firstLook
	patience := time.Duration(s.settings.DatabaseWait)
	var told time.Time
	for {
		store, err := openStore(ctx, s.settings, s.log)
		if err == nil || s.settings.DatabaseURL == "" {
			return store, err
		}
		if ctx.Err() != nil {
			return nil, parley.WrapError(
				parley.CodeUnavailable,
				err,
				"stopped while waiting for "+databaseName(s.settings.DatabaseURL),
			)
		}
		if !postgres.Absent(err) {
			return nil, err
		}
		left := patience - time.Since(began)
		if left <= 0 {
			return nil, parley.WrapError(parley.CodeUnavailable, err, databaseName(s.settings.DatabaseURL)+
				" did not answer within "+patience.String()+
				"; start it, correct PARLEY_DATABASE_URL, or wait longer with --database-wait")
		}
		if time.Since(told) >= waitTold {
			told = time.Now()
			s.log.LogAttrs(
				ctx,
				slog.LevelWarn,
				"waiting for the database, which does not answer",
				slog.String(
					"database",
					databaseName(s.settings.DatabaseURL),
				),
				slog.Duration("for_another", left.Round(time.Second)),
			)
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		pause = min(2*pause, longestLook)
	}
}
