package main

import (
	"context"
	"log/slog"

	"parley"
	"parley/postgres"
	"parley/sqlite"
)

// openStore opens the database that the settings name.
func openStore(ctx context.Context, s settings, log *slog.Logger) (parley.Store, error) {
	if s.DatabaseURL != "" {
		store, err := postgres.Open(ctx, s.DatabaseURL, postgres.Options{Log: log, MaxConns: s.MaxConns, ListenURL: s.ListenURL})
		if err != nil {
			return nil, err // and no store: a nil *Store would be one
		}
		return store, nil
	}
	store, err := sqlite.Open(ctx, s.DataDir, sqlite.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return store, nil
}
