-- +goose Up

-- A duration: how long the turns of a schedule's runs may take; null: the default.
ALTER TABLE parley.schedules ADD COLUMN deadline text;

-- +goose Down
ALTER TABLE parley.schedules DROP COLUMN deadline;
