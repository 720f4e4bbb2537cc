//go:build race

package sqlite_test

// stride is the distance of the points at which the crash tests kill: SQLite in
// Go is ten times slower under the race detector, and each point is a life.
const stride = 7
