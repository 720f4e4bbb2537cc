package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// most is the exposure that `systemd-analyze security` may report, from 0 to 10 (below 2 it calls a service "OK", its
// best rating).
const most = 1.5

// installed copies a unit to where systemd-analyze can read it, with the binary that this test built.
func installed(t *testing.T, unit, as string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatal("systemd-analyze is needed to check the units: install systemd")
	}
	text := read(t, "systemd/"+unit)
	if !strings.Contains(text, "\nExecStart=/usr/local/bin/parley ") {
		t.Fatalf("%s starts something other than /usr/local/bin/parley", unit)
	}
	path := filepath.Join(t.TempDir(), as)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/usr/local/bin/parley", binary)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var units = map[string]string{
	"parley.service":  "parley.service",
	"parley@.service": "parley@7871.service",
}

// TestUnitsVerify: systemd reads the units without a warning.
func TestUnitsVerify(t *testing.T) {
	t.Parallel()
	for unit, as := range units {
		path := installed(t, unit, as)
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).
			CombinedOutput(); err != nil ||
			len(out) > 0 {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(
			path,
			[]byte(strings.Replace(string(text), "ProtectHome", "ProtectHomes", 1)),
			0o600,
		); err != nil {
			t.Fatal(err)
		}
		if out, _ := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); len(out) == 0 {
			t.Errorf("%s: systemd-analyze accepts an unknown key", unit)
		}
	}
}

// TestUnitsAreHardened requires a low exposure, a stop longer than a drain, and arguments that the binary knows.
func TestUnitsAreHardened(t *testing.T) {
	t.Parallel()
	for unit, as := range units {
		text := read(t, "systemd/"+unit)
		out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--no-pager", installed(t, unit, as)).
			CombinedOutput()
		found := regexp.MustCompile(`Overall exposure level[^:]*: ([0-9.]+)`).FindSubmatch(out)
		if found == nil {
			t.Fatalf("%s: %v\n%s", unit, err, out)
		}
		if exposure, err := strconv.ParseFloat(string(found[1]), 64); err != nil || exposure > most {
			t.Errorf("%s: exposure %s, at most %.1f\n%s", unit, found[1], most, out)
		}
		families := regexp.MustCompile(`(?m)^RestrictAddressFamilies=(.+)$`).FindStringSubmatch(text)
		if families == nil || !slices.Contains(strings.Fields(families[1]), "AF_NETLINK") {
			t.Errorf("%s may not ask the kernel which user connects", unit)
		}
		stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(text)
		if stop == nil {
			t.Fatalf("%s has no TimeoutStopSec", unit)
		}
		if given, err := time.ParseDuration(stop[1]); err != nil || given <= slowestStop(t, defaultDrainWait) {
			t.Errorf("%s is killed after %s; a drain may take %s", unit, stop[1], slowestStop(t, defaultDrainWait))
		}
		start := regexp.MustCompile(`(?m)^ExecStart=\S+ (.+)$`).FindStringSubmatch(text)
		checkCommand(t, unit, strings.Fields(start[1]))
	}
}
