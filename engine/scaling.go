package engine

import (
	"context"
	"slices"
	"sync"

	"example.org/parley"
)

const (
	// thumbnailsAtOnce is how many images are decoded at once, each for a different workspace: one that requests many
	// delays no other.
	thumbnailsAtOnce = 2
	// pixelsAtOnce bounds the memory of all of them, at up to 8 bytes a pixel.
	pixelsAtOnce = parley.MaxImagePixels
)

// scaling decides who makes a thumbnail when. Each image is scaled once, however many callers ask; workspaces take
// turns. The zero value is ready to use.
type scaling struct {
	mu      sync.Mutex // guards the rest
	jobs    map[imageID]*job
	working []*slot // at most thumbnailsAtOnce
	waiting []*slot // in order of asking
	last    map[parley.ID]uint64
	turn    uint64
}

// imageID names the bytes of an image.
type imageID struct{ workspace, blob parley.ID }

// job is one image's thumbnail in the making.
type job struct {
	done chan struct{} // closed when data and err are set
	data []byte
	err  error
	left bool // the first caller left before its turn
}

// slot is the permission to decode an image.
type slot struct {
	workspace parley.ID
	pixels    int64
	given     chan struct{}
}

// begin returns the job of an image, and whether the caller is to do it.
func (s *scaling) begin(id imageID) (j *job, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.jobs[id]; ok {
		return j, false
	}
	if s.jobs == nil {
		s.jobs = map[imageID]*job{}
	}
	j = &job{done: make(chan struct{})}
	s.jobs[id] = j
	return j, true
}

// finish gives a job's outcome to everybody who waits for it.
func (s *scaling) finish(id imageID, j *job) {
	s.mu.Lock()
	delete(s.jobs, id)
	s.mu.Unlock()
	close(j.done)
}

// enter waits for the caller's turn. The caller must leave the slot that it gets.
func (s *scaling) enter(ctx context.Context, workspace parley.ID, pixels int64) (*slot, error) {
	mine := &slot{workspace: workspace, pixels: pixels, given: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, mine)
	s.give()
	s.mu.Unlock()
	select {
	case <-mine.given:
		return mine, nil
	case <-ctx.Done():
		s.leave(mine)
		return nil, context.Cause(ctx)
	}
}

// leave gives a slot back, or stops waiting for one.
func (s *scaling) leave(mine *slot) {
	is := func(one *slot) bool { return one == mine }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = slices.DeleteFunc(s.working, is)
	s.waiting = slices.DeleteFunc(s.waiting, is)
	s.give()
}

// give hands out free slots: to the workspace that has waited longest since its last one. An image that does not fit
// into memory yet holds up those after it, so that its turn comes. The caller holds mu.
func (s *scaling) give() {
	for len(s.working) < thumbnailsAtOnce {
		next, pixels := -1, int64(0)
		for _, one := range s.working {
			pixels += one.pixels
		}
		for i, one := range s.waiting {
			busy := slices.ContainsFunc(s.working, func(other *slot) bool { return other.workspace == one.workspace })
			if !busy && (next < 0 || s.last[one.workspace] < s.last[s.waiting[next].workspace]) {
				next = i
			}
		}
		if next < 0 || len(s.working) > 0 && pixels+s.waiting[next].pixels > pixelsAtOnce {
			break
		}
		chosen := s.waiting[next]
		s.waiting = slices.Delete(s.waiting, next, next+1)
		s.working = append(s.working, chosen)
		if s.last == nil {
			s.last = map[parley.ID]uint64{}
		}
		s.turn++
		s.last[chosen.workspace] = s.turn
		close(chosen.given)
	}
	if len(s.waiting) == 0 {
		clear(s.last) // all have waited equally long
	}
}
