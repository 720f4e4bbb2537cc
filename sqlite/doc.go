// Package sqlite keeps Parley's record in one SQLite file. It owns that file, its schema and the
// lock beside it, but not the meaning of the rows: store.Store defines the rules, and storetest
// checks them.
//
// One goroutine writes. It groups waiting writes into one transaction, so many writers share one
// fsync. Readers have their own connections; each read is one short snapshot. The database is
// authoritative. The file lock makes this process its only user, so every claim found at Open is
// dead.
package sqlite
