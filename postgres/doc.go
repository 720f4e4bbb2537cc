// Package postgres is store.Store on PostgreSQL: many Parley processes on one
// database. It owns the schema parley, its migrations and its two roles, and
// all SQL that works there.
//
// What goes to the database goes in batches: statements that travel together
// and are one transaction. Each begins by taking a role and naming its
// workspace, for the row-level security that stands behind the queries' own
// terms. Who is authoritative: the database, for every row and for the clock;
// what this process keeps in memory is confirmed by the database with each write.
// When many sessions are written at the same time, their batches travel and are
// committed together (groups).
//
// Processes tell each other what they have committed, and hints of the live side,
// by NOTIFY on connections apart (Relay). Whoever on the server may connect to the
// database can hear the channel, and with it the text of answers that are watched:
// let nobody connect who may not read it.
package postgres
