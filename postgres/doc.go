// Package postgres implements store.Store on PostgreSQL, for many Parley processes on one database.
// It owns the schema parley, its migrations, its two roles, and all SQL on it.
//
// It sends statements in batches: those of a batch travel together and are one transaction. Each
// batch first sets a role and names its workspace, for the row-level security behind the queries'
// own filters. The database is authoritative for every row and for the clock; it confirms what this
// process keeps in memory with each write. When many sessions are written at the same time, their
// batches travel and commit together (groups).
//
// Processes announce their commits, and live hints, by NOTIFY on separate connections (Relay).
// Everybody who may connect to the database can listen to the channel, and so read the text of
// answers that are being watched: only let people connect who may read it.
package postgres
