-- +goose Up

-- A program that knows less than 8 would let pass by what people rely on here: it
-- asks for no approval (3), forgets iterations (4), budgets (5) and the results of
-- tool sessions (6), shows no files (7), and takes down nothing for the audit (8).
-- A later migration that older programs cannot live with raises this itself.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 8);

-- +goose Down
UPDATE parley.compatibility SET compatible_from = 1;
