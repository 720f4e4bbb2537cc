-- +goose Up

-- What a session's window leaves out for length, and that the model's length is unknown, are said once.
ALTER TABLE parley.heads
  ADD COLUMN context_dropped bigint NOT NULL DEFAULT 0,      -- the first of the messages dropped before context_anchor; 0: none
  ADD COLUMN context_assumed boolean NOT NULL DEFAULT false; -- it was said that the model's length is assumed

-- +goose Down
ALTER TABLE parley.heads DROP COLUMN context_dropped, DROP COLUMN context_assumed;
