package engine

import (
	"fmt"
	"sync"
	"time"

	"example.org/parley"
)

// Rebuilding a request to look at it (previews, the context, explained calls and their differences) costs a core and
// memory while it lasts; dry runs and replays cost the same and wait for a model; exports cost the same and wait for
// their reader, which must not keep others from looking. Each kind has its own bound.
const (
	looksAtOnce = 24 // in all
	looksOfOne  = 8  // per principal

	rehearsalsAtOnce = 32
	rehearsalsOfOne  = 8

	exportsAtOnce = 24
	exportsOfOne  = 4

	roomAfter = time.Second // when to try again
)

func busy(format string, args ...any) error {
	return &parley.Error{Code: parley.CodeRateLimited, RetryAfter: roomAfter, Message: fmt.Sprintf(format, args...)}
}

// room bounds how many of a kind run at once.
type room struct {
	what      string
	most, own int // in all, per principal

	mu  sync.Mutex // guards the rest
	all int
	of  map[parley.ID]int
}

// enter takes a place for a principal, and leave gives it back. It returns CodeRateLimited if there is none.
func (r *room) enter(principal parley.Principal) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.of[principal.ID] >= r.own:
		return nil, busy("%d %s of yours run at once already; wait until one has ended", r.own, r.what)
	case r.all >= r.most:
		return nil, busy("%d %s run at once already; wait a moment and send it again", r.most, r.what)
	}
	if r.of == nil {
		r.of = map[parley.ID]int{}
	}
	r.all++
	r.of[principal.ID]++
	return func() { r.leave(principal.ID) }, nil
}

func (r *room) leave(principal parley.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.of[principal]--; r.of[principal] == 0 {
		delete(r.of, principal)
	}
}
