package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/timetable"
	"example.org/parley/store"
)

// How schedules are posted. There is no timer per schedule: each process looks for due ones by an index, at intervals,
// and any number of processes may look.
const (
	scheduleLook    = time.Second            // between looks
	scheduleBatch   = 100                    // schedules read at once
	schedulePosters = 16                     // posts at once: the database commits them together
	schedulePace    = 250 * time.Millisecond // least time for a batch: 400 posts a second leave room for other writes
)

// scheduler posts the messages of due schedules.
type scheduler struct {
	store Store
	log   *slog.Logger
}

// scheduleLoop posts the messages of due schedules, until Stop ends it.
func (w *Worker) scheduleLoop() {
	look := time.NewTimer(w.options.jitter(scheduleLook))
	defer look.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-look.C:
		}
		began := time.Now()
		more, err := w.scheduler.post(context.Background())
		switch {
		case err != nil:
			w.log.Warn("due schedules could not be posted", "error", err)
			look.Reset(scheduleLook)
		case more:
			look.Reset(schedulePace - time.Since(began)) // immediately if the batch took longer
		default:
			look.Reset(scheduleLook + w.options.jitter(scheduleLook/10)) // so that processes do not coincide
		}
	}
}

// post handles a batch of schedules and reports whether there may be more.
func (s *scheduler) post(ctx context.Context) (more bool, err error) {
	found, err := s.store.DueSchedules(ctx, scheduleBatch)
	if err != nil {
		return false, err
	}
	for _, ahead := range found.Ahead {
		// its next time was found when the clock was ahead
		next := timetable.Next(&ahead, found.Now)
		if _, err := s.store.MoveSchedule(ctx, store.ScheduleMove{Schedule: ahead, NextAt: next}); err != nil {
			return false, err
		}
	}
	if len(found.Ahead) > 0 { // what was due may be so no more
		return true, nil
	}
	// other processes may have read the same: begin with different ones
	rand.Shuffle(len(found.Due), func(i, j int) { found.Due[i], found.Due[j] = found.Due[j], found.Due[i] })
	return len(found.Due) == scheduleBatch, s.postAll(ctx, found)
}

// postAll posts some schedules, several at once. It returns the errors of the store; a schedule that is refused is
// noted as skipped.
func (s *scheduler) postAll(ctx context.Context, found store.DueSchedules) error {
	var posters sync.WaitGroup
	var mu sync.Mutex // guards errs
	var errs []error
	next := make(chan *parley.Schedule, len(found.Due))
	for i := range found.Due {
		next <- &found.Due[i]
	}
	close(next)
	for range min(schedulePosters, len(found.Due)) {
		posters.Go(func() { // ends with the last schedule
			for schedule := range next {
				err := s.postOne(ctx, schedule, found.Now)
				if err == nil {
					continue
				}
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
				if parley.ErrorCode(err) != parley.CodeInternal { // the others would fail too
					return
				}
			}
		})
	}
	posters.Wait()
	return errors.Join(errs...)
}

// postOne posts a due schedule's message, or does with a missed one as the schedule says.
func (s *scheduler) postOne(ctx context.Context, schedule *parley.Schedule, now parley.Time) error {
	move := store.ScheduleMove{Schedule: *schedule, NextAt: timetable.Next(schedule, now)}
	if schedule.Missed == parley.MissedSkip && now-schedule.NextAt > parley.Time(parley.ScheduleGrace.Milliseconds()) {
		move.Reason = parley.SkipMissed
		_, err := s.store.MoveSchedule(ctx, move)
		return err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: schedule.Message})
	if err != nil {
		return err
	}
	post := store.ScheduledPost{Schedule: *schedule, NextAt: move.NextAt, Content: content}
	_, err = s.store.PostScheduled(ctx, post)
	switch code := parley.ErrorCode(err); {
	case err == nil:
		return nil
	case code == parley.CodeArchived:
		move.Reason = parley.SkipArchived
	case code == parley.CodeInternal, code == parley.CodeUnavailable, code == parley.CodeStorageFull:
		return err
	default: // it would be refused again, and hold up others
		s.log.Warn("a schedule's message was refused", "schedule", schedule.ID.String(), "error", err)
		post.Refused, move.Reason = true, parley.SkipRefused
		if _, err = s.store.PostScheduled(ctx, post); parley.ErrorCode(err) != parley.CodeNotFound {
			return err
		}
	}
	_, err = s.store.MoveSchedule(ctx, move)
	return err
}
