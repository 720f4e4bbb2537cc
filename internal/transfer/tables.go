package transfer

import "example.org/parley/internal/tables"

// Tables are the tables that move, in the order in which they do, with the columns
// that move. What a process has for itself (its lease, the schema's own tables) stays.
var Tables = tables.Moving() //nolint:gochecknoglobals // never written
