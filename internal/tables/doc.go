// Package tables describes the tables that both databases keep: their columns, what each holds, which field of which
// Go type it is, and in which lists of a store's statements it stands. It owns no SQL and no rows. The migrations own
// the schemas, and a test of each store holds the description against its own.
//
// From the description `make generate` writes for each database the lists of columns and the functions that read and
// write them (sqlite/tables_gen.go, postgres/tables_gen.go); statements around them stay written by hand. The tables
// that move with a copy and the order of their rows come from it at run time (package transfer).
package tables
