-- +goose Up

-- Errands that were left before the clock was set back are found among the many that are due much later.
CREATE INDEX outbox_created ON outbox (created_at);

-- +goose Down
DROP INDEX outbox_created;
