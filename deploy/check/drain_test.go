package check

import (
	"regexp"
	"testing"
	"time"
)

// closeTime is the time after its drain in which a process ends requests and releases turns that do not end by
// themselves: both 5 s in the program.
const closeTime = 10 * time.Second

// defaultDrainWait is the default of a process on PostgreSQL.
const defaultDrainWait = 2 * time.Second

// slowestStop returns how long a process with the standard drain may take from SIGTERM to its end.
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
