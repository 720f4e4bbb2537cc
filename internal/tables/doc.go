// Package tables describes the tables of both databases: their columns, what each contains, the Go field of each, and
// the lists of the stores' statements that contain it. It owns no SQL and no rows. The migrations own the schemas; a
// test of each store compares the description with its schema.
//
// From the description `make generate` writes, for each database, the lists of columns and the functions that read and
// write them (sqlite/tables_gen.go, postgres/tables_gen.go); the statements around them are written by hand. Package
// transfer takes from it, at run time, which tables a copy moves and the order of their rows.
package tables
