-- +goose Up

-- Errands that were left before the clock was set back are found among the many that are due much later.
CREATE INDEX outbox_created ON parley.outbox (created_at);

-- +goose Down
DROP INDEX parley.outbox_created;
