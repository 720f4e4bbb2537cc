package transfer

import "example.org/parley/internal/tables"

// Tables are the tables that are copied, in copying order, with the columns that are copied. What belongs to a process
// or to the schema itself (leases, migrations) stays.
var Tables = tables.Moving() //nolint:gochecknoglobals // never written
