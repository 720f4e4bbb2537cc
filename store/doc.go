// Package store is the port of databases: what Parley asks of one, and what it
// hands over and gets back. It owns the fences under which workers write, the inputs
// and outcomes of transitions, the queries of lists, and the hints that tell of
// commits. The domain itself (sessions, messages, turns) is the root package's.
//
// A store is transitions, not CRUD: one method is one transaction is one legal step,
// its events included. It checks first and writes after, so a refusal writes
// nothing. The database is authoritative; whoever reads a hint re-reads by sequence.
//
// Lists of rows that can be large (parley.Agent and others with a Size) end with the
// row with which they reach parley.MaxPageBytes, and with two at least: fewer rows
// than asked for do not mean that no more follow.
//
// sqlite and postgres implement Store; storetest is its contract.
package store
