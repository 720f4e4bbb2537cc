package zones

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEveryZoneIsRead: each packed zone has valid rules and is found by each of its names.
func TestEveryZoneIsRead(t *testing.T) {
	t.Parallel()
	all, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	index, _, _ := strings.Cut(all, "\n\n")
	found := 0
	for line := range strings.Lines(index) {
		for _, name := range strings.Fields(line)[1:] {
			rules, err := load(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if _, err := time.LoadLocationFromTZData(name, []byte(rules)); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if _, err := time.LoadLocation(name); err != nil {
				t.Errorf("%s is not known to package time: %v", name, err)
			}
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d names", found)
	}
}

// TestTheRulesAreTheZones: rules belong to their names, and unknown names have none.
func TestTheRulesAreTheZones(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{
		"Asia/Kathmandu": 5*time.Hour + 45*time.Minute, "America/St_Johns": -2*time.Hour - 30*time.Minute,
		"Europe/Berlin": 2 * time.Hour, "UTC": 0,
	} {
		rules, err := load(name)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocationFromTZData(name, []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		if _, seconds := time.Date(2026, 7, 1, 0, 0, 0, 0, zone).Zone(); seconds != int(offset.Seconds()) {
			t.Errorf("%s is %d seconds from UTC", name, seconds)
		}
	}
	for _, name := range []string{"", "Europe", "Europe/Nowhere", "36", "berlin"} {
		if _, err := load(name); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
