package main

import (
	"context"
	"log/slog"

	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// openStore opens the database that the settings name.
func openStore(ctx context.Context, s settings, log *slog.Logger) (store.Store, error) {
	if s.DatabaseURL != "" {
		store, err := postgres.Open(
			ctx,
			s.DatabaseURL,
			postgres.Options{Log: log, MaxConns: s.MaxConns, ListenURL: s.ListenURL},
		)
		if err != nil {
			return nil, err // not a nil *Store, which would be a non-nil store
		}
		return store, nil
	}
	store, err := sqlite.Open(ctx, s.DataDir, sqlite.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return store, nil
}
