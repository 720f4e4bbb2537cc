//go:build !race

package sqlite_test

// stride is the distance of the points at which the crash tests kill.
const stride = 1
