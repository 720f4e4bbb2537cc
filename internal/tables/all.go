package tables

import "slices"

// All are the tables, those that move with a copy in the order in which they do.
var All = slices.Concat(people, sessions, record, house) //nolint:gochecknoglobals // never written
