-- +goose Up

-- A program that knows less than 17 would let pass by what people rely on here: it
-- asks for no approval (3), forgets iterations (4), budgets (5) and the results of
-- tool sessions (6), shows no files (7), takes down nothing for the audit (8), takes
-- messages that stream outside for its own (9), moves windows (10), does not read what
-- forks share (14), and enters no summaries (17).
-- A later migration that older programs cannot live with raises this itself.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 17);

-- +goose Down
UPDATE parley.compatibility SET compatible_from = 1;
