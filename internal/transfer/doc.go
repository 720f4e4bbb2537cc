// Package transfer copies a whole database from one store to another, row by row, and verifies the
// copy. It owns the neutral description of the tables (Tables), the steps of a copy (Copy), and the
// definitions of equal databases (Digest) and of an intact record (Records). Each store owns its
// SQL: it offers its rows as an Archive and accepts rows as a Destination.
//
// Nobody may use either database during a copy. The destination stores the progress, written in the
// same transaction as the rows: after a kill, the same command continues after the last copied row.
// No server opens a database that has this progress in it. At the end both sides are read back
// completely.
package transfer
