// Package timetable says when schedules are due. It reads cron expressions, durations and time zones from outside, and
// knows no clock and no store: every function is given its time.
package timetable

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/netresearch/go-cron"

	"example.org/parley"
)

// searchYears is how far ahead a cron expression is searched: far enough for a 29th of February.
const searchYears = 10

// parser reads the five fields of crontab(5). As there, a day matches either of day of month and day of week if both
// are restricted.
var parser = cron.MustNewParser( //nolint:gochecknoglobals // never written
	cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom,
).WithMaxSearchYears(searchYears)

// Check validates a timing from outside. It returns CodeInvalid, naming the field.
func Check(t *parley.Timing) error {
	set := 0
	for _, is := range []bool{t.Cron != "", t.Every != "", t.At != 0} {
		if is {
			set++
		}
	}
	if set != 1 {
		return parley.InvalidField("cron", "give exactly one of cron, every and at")
	}
	if err := parley.CheckText("time_zone", t.TimeZone, parley.MaxTimeZoneBytes); err != nil {
		return err
	}
	if _, err := parley.LoadZone(t.TimeZone); err != nil {
		return parley.InvalidField(
			"time_zone", "%q is not a time zone; use a name such as Europe/Berlin or UTC", t.TimeZone,
		)
	}
	jitter, err := Duration("jitter", t.Jitter, 0, parley.MaxScheduleJitter)
	if err != nil {
		return err
	}
	switch {
	case t.Every != "":
		every, err := Duration("every", t.Every, parley.MinScheduleEvery, parley.MaxScheduleEvery)
		if err == nil && jitter >= every {
			err = parley.InvalidField("jitter", "must be shorter than every")
		}
		return err
	case t.Cron != "":
		return checkCron(t.Cron)
	}
	return nil
}

func checkCron(text string) error {
	if err := parley.CheckText("cron", text, parley.MaxCronBytes); err != nil {
		return err
	}
	if strings.ContainsAny(text, "@=") { // descriptors and zones have fields of their own
		return parley.InvalidField("cron", "takes five fields: minute, hour, day of month, month, day of week")
	}
	if _, err := parser.Parse(text); err != nil {
		return parley.InvalidField(
			"cron",
			"cannot be read: %s; it takes five fields: minute, hour, day of month, month, day of week",
			parley.Clip(err.Error(), 200),
		)
	}
	if nextCron(text, time.UTC, time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return parley.InvalidField("cron", "names a day that never comes")
	}
	return nil
}

// Duration reads a duration of whole seconds between two bounds; "" is 0.
func Duration(field, text string, least, most time.Duration) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if err := parley.CheckText(field, text, parley.MaxTimeZoneBytes); err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, parley.InvalidField(field, "%q is not a duration; write 90m or 1h30m", parley.Clip(text, 32))
	case d%time.Second != 0:
		return 0, parley.InvalidField(field, "takes whole seconds")
	case d < least || d > most:
		return 0, parley.InvalidField(field, "must lie between %s and %s", least, most)
	}
	return d, nil
}

// Next returns the first time after another at which a schedule is due, jitter included; 0 if there is none. The
// schedule's timing has passed Check; one that cannot be read, because this machine does not know its zone, is never
// due.
func Next(s *parley.Schedule, after parley.Time) parley.Time {
	offset := jitter(s)
	nominal := next(&s.Timing, after-offset)
	if nominal == 0 {
		return 0
	}
	return nominal + offset
}

// jitter returns how much later than its timing a schedule runs, in milliseconds: always the same, so that its runs
// keep their distances. A schedule without an id has none.
func jitter(s *parley.Schedule) parley.Time {
	most, err := time.ParseDuration(s.Jitter)
	if err != nil || most <= 0 || s.ID.IsZero() {
		return 0
	}
	sum := parley.HashOf(s.ID[:])
	return parley.Time(binary.BigEndian.Uint64(sum[:]) % uint64(most.Milliseconds()+1)) //nolint:gosec // positive
}

// next is Next without jitter.
func next(t *parley.Timing, after parley.Time) parley.Time {
	switch {
	case t.At != 0:
		if t.At > after {
			return t.At
		}
		return 0
	case t.Every != "":
		every, err := time.ParseDuration(t.Every)
		if err != nil || every < time.Second {
			return 0
		}
		step := parley.Time(every.Milliseconds())
		if after < t.Anchor {
			return t.Anchor + step
		}
		return t.Anchor + ((after-t.Anchor)/step+1)*step
	}
	in, err := parley.LoadZone(t.TimeZone)
	if err != nil {
		return 0
	}
	found := nextCron(t.Cron, in, after.Std())
	if found.IsZero() {
		return 0
	}
	return parley.TimeOf(found)
}

// nextCron returns the first time after another that a cron expression names in a zone; the zero time if there is none.
// It searches the local clock as if that never jumped, and maps what it finds: a local time that a jump ahead leaves
// out becomes the moment of the jump, and one that a jump back repeats means its first pass. So every local time of the
// expression comes once.
func nextCron(text string, in *time.Location, after time.Time) time.Time {
	expression, err := parser.Parse(text)
	if err != nil {
		return time.Time{}
	}
	for local := onClock(after.In(in)); ; {
		local = expression.Next(local)
		if local.IsZero() {
			return time.Time{}
		}
		if at := moment(local, in); at.After(after) {
			return at
		}
	}
}

// onClock returns the time that a local clock shows, in UTC.
func onClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// moment returns when a zone's clock first shows a time, or jumps over it.
func moment(local time.Time, in *time.Location) time.Time {
	// the instant lies within a day of the same clock time in UTC
	at := local.Add(-24 * time.Hour).In(in)
	for {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		shown := local.Add(-time.Duration(offset) * time.Second)
		switch {
		case end.IsZero() || shown.Before(end):
			if shown.Before(at.UTC()) { // the clock jumped over it when this offset began
				return at.UTC()
			}
			return shown.UTC()
		default:
			at = end.In(in)
		}
	}
}
