package main

import (
	"fmt"

	"example.org/parley"
	"example.org/parley/client"
)

// scheduleWhen says when a schedule is due.
func scheduleWhen(s *parley.Schedule) string {
	switch {
	case s.Cron != "":
		return s.Cron + " (" + s.TimeZone + ")"
	case s.Every != "":
		return "every " + s.Every
	}
	return s.At.String()
}

func scheduleNext(s *parley.Schedule) string {
	switch {
	case !s.Enabled:
		return "disabled"
	case s.NextAt == 0:
		return "over"
	}
	return s.NextAt.String()
}

func scheduleLast(s *parley.Schedule) string {
	switch {
	case s.LastRun == nil:
		return "-"
	case s.LastRun.State == parley.RunSkipped:
		return "skipped: " + string(s.LastRun.Reason)
	}
	return string(s.LastRun.State) + " " + s.LastRun.CreatedAt.String()
}

// printTimes prints a preview, a line for each time.
func printTimes(t terminal, preview *client.SchedulePreview) error {
	for _, at := range preview.Times {
		if _, err := fmt.Fprintln(t.out, at); err != nil {
			return err
		}
	}
	return nil
}

// printTask says where a task is done.
func printTask(t terminal, task *parley.Message) error {
	_, err := fmt.Fprintf(t.out, "task %s in session %s\n", task.ID, task.SessionID)
	return err
}
