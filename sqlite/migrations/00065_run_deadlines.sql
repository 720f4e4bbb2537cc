-- +goose Up

-- A duration: how long the turns of a schedule's runs may take; null: the default.
ALTER TABLE schedules ADD COLUMN deadline TEXT;

-- +goose Down
ALTER TABLE schedules DROP COLUMN deadline;
