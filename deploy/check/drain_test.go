package check

import (
	"regexp"
	"testing"
	"time"
)

// closeTime is what a process takes after its drain to end requests and to let
// go of turns that do not end by themselves: both 5 s in the program.
const closeTime = 10 * time.Second

// defaultDrainWait is that of a process on PostgreSQL.
const defaultDrainWait = 2 * time.Second

// slowestStop is how long a process may take from SIGTERM to its end when its
// drain is the standard one.
func slowestStop(t *testing.T, wait time.Duration) time.Duration {
	t.Helper()
	found := regexp.MustCompile(`--drain duration.*\(default ([0-9a-z.]+)\)`).FindStringSubmatch(help(t, "serve"))
	if found == nil {
		t.Fatal("`parley serve --help` does not say how long a drain takes")
	}
	drain, err := time.ParseDuration(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return wait + drain + closeTime
}
