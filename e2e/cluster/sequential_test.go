package cluster

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"example.org/parley"
)

// conversation is the sequential specification of a session: a record that only grows, and a
// queue that moves into it in order, one turn at a time. Turns progress by themselves, so the
// state contains only as much about them as responses have shown.
type conversation struct {
	posts     []int        // the numbers of users' messages in their order: the record's, then the queue's
	posted    []int        // the same with those that left the queue
	entered   int          // at least this many of them are in the record
	finished  int          // at least this many of their turns are over
	record    []parley.ID  // the whole record; zero where it is still unknown
	cancelled map[int]bool // the numbers of messages whose turns a cancel ended
}

// action is a client's request.
type action struct {
	kind   actionKind
	queued bool // of a cancel: the queued turns too
}

type actionKind string

const (
	actPost   actionKind = "post"
	actRead   actionKind = "read"
	actCancel actionKind = "cancel"
)

// shown is the content of the response. Unknown: there was none, and the action happened at
// some time or never.
type shown struct {
	unknown bool
	// the number of the message; for a cancel that of the turn that it ended, 0 if none
	post     int
	message  parley.ID   // of a post
	sequence int64       // of a post: 0 while it is queued
	later    bool        // of a post: an earlier attempt may have done it, so the sequence is from some later moment
	record   []parley.ID // of a read
	posts    []int       // of a read, as in the state
	users    int         // of a read: how many of posts are in the record
}

// sessionModel is the specification for the checker. Stay gives the final position of each
// message: states that cannot reach it are not followed, which changes only the time that
// checking takes.
func sessionModel(stay map[int]int) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{conversation{}} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, c := range state.(conversation).after(input.(action), output.(shown)) {
				if c.reaches(stay) {
					next = append(next, c)
				}
			}
			return next
		},
		Equal: func(a, b any) bool { return a.(conversation).equal(b.(conversation)) },
		Hash:  func(state any) uint64 { return state.(conversation).hash() },
	}
	return model.ToModel()
}

// describe is an action and its response, for people.
func describe(input, output any) string {
	in, out := input.(action), output.(shown)
	switch {
	case in.kind == actRead:
		return fmt.Sprintf(
			"read record of %d, posts %v, of them %d in the record",
			len(out.record),
			out.posts,
			out.users,
		)
	case out.unknown:
		return fmt.Sprintf("%s n%d (queued too: %t), unknown", in.kind, out.post, in.queued)
	case in.kind == actCancel:
		return fmt.Sprintf("cancel (queued too: %t) ended n%d", in.queued, out.post)
	}
	return fmt.Sprintf("post n%d, sequence %d (looked up later: %t)", out.post, out.sequence, out.later)
}

// after returns every state to which an action with this response may lead.
func (c conversation) after(in action, out shown) []conversation {
	switch {
	case in.kind == actPost:
		return c.afterPost(out)
	case in.kind == actRead:
		return c.afterRead(out)
	case out.unknown:
		return c.afterUnknownCancel(in.queued)
	// the turn was over before it could be stopped; its queue may still have been removed
	case out.post == 0 && in.queued:
		return append(c.afterCut(), c)
	case out.post == 0: // nothing ran, or it was over before it could be stopped
		return []conversation{c}
	}
	return c.afterCancel(out.post, in.queued)
}

func (c conversation) afterPost(out shown) []conversation {
	all := len(c.posts)
	next := c
	next.posts = append(slices.Clip(c.posts), out.post)
	next.posted = append(slices.Clip(c.posted), out.post)
	switch {
	case out.unknown || out.later:
		return []conversation{next}
	case out.sequence == 0: // a turn is unfinished
		if c.finished >= all {
			return nil
		}
		return []conversation{next}
	}
	// It found the session idle: everything before it is in the record and over.
	next.entered, next.finished = all+1, max(c.finished, all)
	if int64(len(c.record)) >= out.sequence {
		if seen := c.record[out.sequence-1]; !seen.IsZero() && seen != out.message {
			return nil
		}
	}
	next.record = make([]parley.ID, max(int64(len(c.record)), out.sequence))
	copy(next.record, c.record)
	next.record[out.sequence-1] = out.message
	return []conversation{next}
}

func (c conversation) afterRead(out shown) []conversation {
	if !slices.Equal(out.posts, c.posts) || out.users < c.entered || len(out.record) < len(c.record) {
		return nil
	}
	for i, id := range c.record {
		if !id.IsZero() && out.record[i] != id {
			return nil
		}
	}
	next := c
	next.record, next.entered = out.record, out.users
	next.finished = max(c.finished, out.users-1)
	return []conversation{next}
}

// afterCancel handles three cases: the turn was running; or it was the next one and had not
// begun, so that its message left the queue; or it had been cancelled before.
func (c conversation) afterCancel(trigger int, queued bool) []conversation {
	var states []conversation
	if at := slices.Index(c.posts, trigger); at >= 0 {
		if c.entered <= at+1 && c.finished <= at {
			running := c.ended(trigger)
			running.entered = at + 1
			running.finished = max(c.finished, at)
			if queued { // the queue was removed at the request, and the turn ends a little later
				running = running.ended(c.posts[at+1:]...)
				running.posts = slices.Clip(c.posts[:at+1])
			} else {
				running.finished = at + 1
			}
			states = append(states, running)
		}
		if c.entered <= at {
			removed := c.ended(trigger)
			removed.entered, removed.finished = at, max(c.finished, at)
			removed.posts = slices.Concat(c.posts[:at], c.posts[at+1:])
			if queued {
				removed = removed.ended(c.posts[at:]...)
				removed.posts = slices.Clip(c.posts[:at])
			}
			states = append(states, removed)
		}
	}
	if c.cancelled[trigger] {
		states = append(states, c)
	}
	return states
}

// afterUnknownCancel: nothing visible happened, or the next turn's message left the queue, or
// all of the queue did, wherever it began.
func (c conversation) afterUnknownCancel(queued bool) []conversation {
	states := []conversation{c}
	for at := c.entered; at < len(c.posts); at++ {
		next := c.ended(c.posts[at])
		next.entered, next.finished = at, max(c.finished, at)
		next.posts = slices.Concat(c.posts[:at], c.posts[at+1:])
		states = append(states, next)
		if queued {
			cut := next.ended(c.posts[at:]...)
			cut.posts = slices.Clip(c.posts[:at])
			states = append(states, cut)
		}
	}
	if queued {
		states = append(states, c.afterCut()...)
	}
	if len(c.posts) > 0 { // the last one ran, with nothing behind it
		last := c.ended(c.posts[len(c.posts)-1])
		last.entered = len(c.posts)
		last.finished = max(c.finished, len(c.posts)-1)
		states = append(states, last)
	}
	return states
}

// afterCut: some turn ran, everything queued behind it was removed, and the turn ends a little
// later, by the cancel or by itself.
func (c conversation) afterCut() []conversation {
	var states []conversation
	for at := max(1, c.entered); at < len(c.posts); at++ {
		behind := c.ended(c.posts[at-1:]...)
		behind.posts, behind.entered, behind.finished = slices.Clip(c.posts[:at]), at, max(c.finished, at-1)
		states = append(states, behind)
	}
	return states
}

// ended is the state with more turns ended by a cancel.
func (c conversation) ended(triggers ...int) conversation {
	c.cancelled = maps.Clone(c.cancelled)
	if c.cancelled == nil {
		c.cancelled = map[int]bool{}
	}
	for _, trigger := range triggers {
		c.cancelled[trigger] = true
	}
	return c
}

// reaches reports whether the final messages are still possible, in their order.
func (c conversation) reaches(stay map[int]int) bool {
	at, there := 0, 0
	for _, number := range c.posts {
		place, stays := stay[number]
		if !stays {
			continue
		}
		if there++; place < at {
			return false
		}
		at = place
	}
	for _, number := range c.posted {
		if _, stays := stay[number]; stays {
			there--
		}
	}
	return there == 0
}

func (c conversation) equal(d conversation) bool {
	if c.entered != d.entered || c.finished != d.finished || len(c.cancelled) != len(d.cancelled) ||
		!slices.Equal(c.posts, d.posts) || !slices.Equal(c.record, d.record) {
		return false
	}
	for id := range c.cancelled {
		if !d.cancelled[id] {
			return false
		}
	}
	return true
}

func (c conversation) hash() uint64 {
	h := fnv.New64a()
	for _, number := range c.posts {
		_, _ = fmt.Fprint(h, number, " ") // it never fails
	}
	for _, id := range c.record {
		_, _ = h.Write(id[:])
	}
	return h.Sum64() + uint64(c.entered)<<8 + uint64(c.finished)
}
