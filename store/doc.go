// Package store is the port of databases. It owns the interfaces that a database implements, the
// fences under which workers write, the inputs and outcomes of transitions, the queries of lists,
// and the hints that announce commits. The root package owns the domain itself (sessions, messages,
// turns).
//
// A store is transitions, not CRUD: one method is one transaction and one legal step, including its
// events. It checks first and writes afterwards, so a refusal writes nothing. The database is
// authoritative; readers of a hint read again by sequence.
//
// A list of rows that can be large (parley.Agent and others with a Size) ends with the row that
// reaches parley.MaxPageBytes, but has at least two rows: fewer rows than asked for do not mean
// that no more follow.
//
// sqlite and postgres implement Store; storetest is its contract.
package store
