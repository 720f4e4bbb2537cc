package main

import (
	"context"
	"log/slog"

	"parley"
	"parley/sqlite"
)

// openStore opens the database that the settings name.
func openStore(ctx context.Context, s settings, log *slog.Logger) (parley.Store, error) {
	if s.DatabaseURL != "" {
		return nil, parley.Errorf(parley.CodeUnsupported, "this version can migrate a PostgreSQL database and not yet serve from it; leave out database_url")
	}
	store, err := sqlite.Open(ctx, s.DataDir, sqlite.Options{Log: log})
	if err != nil {
		return nil, err // and no store: a nil *Store would be one
	}
	return store, nil
}
