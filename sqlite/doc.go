// Package sqlite keeps Parley's record in one SQLite file. It owns that file,
// its schema and the lock beside it; it does not own what the rows mean: the
// rules are store.Store's, and storetest is their judge.
//
// One goroutine writes. It groups whatever waits into one transaction, so that
// many writers share one fsync; readers have connections of their own, each read
// one short snapshot. The file lock makes this process the only one, so the
// database is authoritative and every claim found at Open is dead.
package sqlite
