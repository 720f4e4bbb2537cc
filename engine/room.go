package engine

import (
	"fmt"
	"sync"
	"time"

	"example.org/parley"
)

// Requests that are made again to be looked at (previews, the context, explained
// calls and their differences) cost a core and memory while they last; dry runs and
// replays do so and wait for a model; exports do so and wait for whoever reads them,
// which must not keep others from looking. Each has room for so many at once.
const (
	looksAtOnce = 24 // of everybody
	looksOfOne  = 8  // of a principal

	rehearsalsAtOnce = 32
	rehearsalsOfOne  = 8

	exportsAtOnce = 24
	exportsOfOne  = 4

	roomAfter = time.Second // when to ask again
)

func busy(format string, args ...any) error {
	return &parley.Error{Code: parley.CodeRateLimited, RetryAfter: roomAfter, Message: fmt.Sprintf(format, args...)}
}

// room counts what runs at once.
type room struct {
	what      string
	most, own int // of everybody, of a principal

	mu  sync.Mutex // guards the rest
	all int
	of  map[parley.ID]int
}

// enter takes a place for a principal. leave gives it back; CodeRateLimited when
// there is none.
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
