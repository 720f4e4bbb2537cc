package tables

import "slices"

// All are the tables; those that move with a copy are in copying order.
var All = slices.Concat(people, sessions, record, house, transforms) //nolint:gochecknoglobals // never written
