package timetable_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones below, whatever this machine has

	"example.org/parley"
	"example.org/parley/internal/timetable"
)

func at(t *testing.T, text string) parley.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parley.TimeOf(parsed)
}

// times returns the next times of a timing, with the local offset of each.
func times(t *testing.T, timing parley.Timing, after string, n int) (found []string) {
	t.Helper()
	if err := timetable.Check(&timing); err != nil {
		t.Fatal(err)
	}
	in, err := time.LoadLocation(timing.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	next := at(t, after)
	for range n {
		if next = timetable.Next(&parley.Schedule{Timing: timing}, next); next == 0 {
			return append(found, "never")
		}
		found = append(found, next.Std().In(in).Format(time.RFC3339))
	}
	return found
}

func TestCronInTheZonesOfTheWorld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cron, zone, after string
		want              []string
	}{
		"every weekday": {"0 9 * * 1-5", "Europe/Berlin", "2026-01-02T12:00:00Z", []string{
			"2026-01-05T09:00:00+01:00", "2026-01-06T09:00:00+01:00",
		}},
		"the offset follows summer time": {"0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", []string{
			"2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00",
		}},
		"a time that does not exist runs once, at the jump": {
			"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"},
		},
		"several times that do not exist run once": {
			"*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"},
		},
		"a time that exists twice runs in its first pass": {
			"30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		},
		"not in its second pass": {"45 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", []string{
			"2026-11-02T01:45:00-05:00",
		}},
		"half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{
			"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00",
		}},
		"a midnight that does not exist": {"0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", []string{
			"2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00",
		}},
		"a day that does not exist": {"0 12 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", []string{
			"2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00",
		}},
		"a day of the month or of the week": {"0 0 13 * 5", "UTC", "2026-02-01T00:00:00Z", []string{
			"2026-02-06T00:00:00Z", "2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z",
		}},
		"a leap day": {"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timing := parley.Timing{Cron: test.cron, TimeZone: test.zone}
			if got := times(t, timing, test.after, len(test.want)); !slices.Equal(got, test.want) {
				t.Errorf("%s in %s after %s comes at\n%s\nwant\n%s", test.cron, test.zone, test.after,
					strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestEveryAndAt(t *testing.T) {
	t.Parallel()
	every := parley.Timing{Every: "90m", TimeZone: "UTC", Anchor: at(t, "2026-01-01T00:00:00Z")}
	want := []string{"2026-01-01T13:30:00Z", "2026-01-01T15:00:00Z"}
	if got := times(t, every, "2026-01-01T12:00:00Z", 2); !slices.Equal(got, want) {
		t.Errorf("every 90m comes at %v, want %v", got, want)
	}
	want = []string{"2026-01-01T01:30:00Z"}
	if got := times(t, every, "2025-12-01T00:00:00Z", 1); !slices.Equal(got, want) {
		t.Errorf("before it begins, it comes at %v, want %v", got, want)
	}
	once := parley.Timing{At: at(t, "2026-05-01T10:00:00Z"), TimeZone: "UTC"}
	want = []string{"2026-05-01T10:00:00Z", "never"}
	if got := times(t, once, "2026-01-01T00:00:00Z", 2); !slices.Equal(got, want) {
		t.Errorf("once comes at %v, want %v", got, want)
	}
}

// TestJitterStays: a schedule's jitter is the same at each of its times, within the bound, and differs between
// schedules.
func TestJitterStays(t *testing.T) {
	t.Parallel()
	offsets := map[parley.Time]bool{}
	for range 20 {
		s := parley.Schedule{
			ID: parley.NewID(), Timing: parley.Timing{Cron: "0 * * * *", TimeZone: "UTC", Jitter: "10m"},
		}
		first := timetable.Next(&s, at(t, "2026-01-01T00:30:00Z"))
		second := timetable.Next(&s, first)
		if offset := first - at(
			t,
			"2026-01-01T01:00:00Z",
		); offset < 0 || offset > 600_000 ||
			second-first != 3_600_000 {
			t.Fatalf("the first run is %d ms late, and the second comes %d ms later", offset, second-first)
		}
		offsets[first] = true
	}
	if len(offsets) < 2 {
		t.Error("all schedules have the same jitter")
	}
}

func TestUnusableTimingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, timing := range map[string]parley.Timing{
		"nothing":                        {TimeZone: "UTC"},
		"two":                            {TimeZone: "UTC", Cron: "* * * * *", Every: "1h"},
		"a sixth field":                  {TimeZone: "UTC", Cron: "0 * * * * *"},
		"a descriptor":                   {TimeZone: "UTC", Cron: "@every 1s"},
		"a zone in cron":                 {TimeZone: "UTC", Cron: "TZ=UTC 0 * * * *"},
		"a minute of 60":                 {TimeZone: "UTC", Cron: "60 * * * *"},
		"30 February":                    {TimeZone: "UTC", Cron: "0 0 30 2 *"},
		"an unknown zone":                {TimeZone: "Europe/Atlantis", Cron: "0 * * * *"},
		"this machine's zone":            {TimeZone: "Local", Cron: "0 * * * *"},
		"this machine's zone, as a file": {TimeZone: "localtime", Cron: "0 * * * *"},
		"this machine's zone, elsewhere": {TimeZone: "posix/LOCALTIME", Cron: "0 * * * *"},
		"this machine's rules":           {TimeZone: "posixrules", Cron: "0 * * * *"},
		"a path as a zone":               {TimeZone: "../../etc/passwd", Cron: "0 * * * *"},
		"too often":                      {TimeZone: "UTC", Every: "59s"},
		"parts of seconds":               {TimeZone: "UTC", Every: "90500ms"},
		"hardly ever":                    {TimeZone: "UTC", Every: "10000h"},
		"no duration":                    {TimeZone: "UTC", Every: "daily"},
		"a negative jitter":              {TimeZone: "UTC", Every: "2h", Jitter: "-1m"},
		"a long jitter":                  {TimeZone: "UTC", Every: "24h", Jitter: "2h"},
		"a jitter beyond every":          {TimeZone: "UTC", Every: "2m", Jitter: "2m"},
		"an endless expression":          {TimeZone: "UTC", Cron: strings.Repeat("1,", 500) + "1 * * * *"},
		"an expression of zeros":         {TimeZone: "UTC", Cron: "\x00 * * * *"},
	} {
		if err := timetable.Check(&timing); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzCron: whatever the expression, its times lie ahead and come in order.
func FuzzCron(f *testing.F) {
	for _, seed := range []string{
		"* * * * *", "0 9 * * 1-5", "*/7 2-4 1,15 jan-mar fri", "0 0 29 2 1", "59 23 31 12 7",
	} {
		f.Add(seed, int64(1_772_000_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, after int64) {
		timing := parley.Timing{Cron: text, TimeZone: "America/New_York"}
		if timetable.Check(&timing) != nil || after < 0 || after > 4_000_000_000_000 {
			return
		}
		last := parley.Time(after)
		for range 3 {
			next := timetable.Next(&parley.Schedule{Timing: timing}, last)
			if next == 0 {
				return
			}
			if next <= last || next%60_000 != 0 {
				t.Fatalf("%q after %s comes at %s", text, last, next)
			}
			last = next
		}
	})
}
