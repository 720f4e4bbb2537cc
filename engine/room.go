package engine

import (
	"fmt"
	"sync"
	"time"

	"example.org/parley"
)

// Some requests cost CPU time and memory as long as they run, so only so many of each kind run at once, and a workspace
// gets at most half of what the others leave. Previews, the context, explained calls and their differences rebuild
// requests to models; dry runs and replays also wait for a model; exports wait for their readers, and have places of
// their own so that they block no previews; imports hold a whole file; searches read what they show.
const (
	maxLooks          = 24 // in all
	looksPerPrincipal = 8  // per principal

	maxRehearsals          = 32
	rehearsalsPerPrincipal = 8

	maxExports          = 24
	exportsPerPrincipal = 4

	maxImports          = 8
	importsPerPrincipal = 2

	maxSearches          = 16
	searchesPerPrincipal = 4

	roomAfter = time.Second // when to ask again
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
	of  map[parley.ID]int // by principal
	in  map[parley.ID]int // by workspace
}

func newRoom(what string, most, own int) *room {
	return &room{what: what, most: most, own: own, of: map[parley.ID]int{}, in: map[parley.ID]int{}}
}

// enter takes a place for a principal, and leave gives it back. It returns CodeRateLimited if there is none.
func (r *room) enter(principal parley.Principal) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	here := r.in[principal.WorkspaceID]
	switch others := r.all - here; {
	case r.of[principal.ID] >= r.own:
		return nil, busy("%d %s of yours run at once already; wait until one has ended", r.own, r.what)
	case r.all >= r.most:
		return nil, busy("%d %s run at once already; wait a moment and send it again", r.most, r.what)
	case here >= (r.most-others+1)/2:
		return nil, busy(
			"%d %s of this workspace run at once already, as many as others leave it; wait until one has ended",
			here,
			r.what,
		)
	}
	r.all++
	r.of[principal.ID]++
	r.in[principal.WorkspaceID]++
	return func() { r.leave(principal) }, nil
}

func (r *room) leave(principal parley.Principal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all--
	if r.of[principal.ID]--; r.of[principal.ID] == 0 {
		delete(r.of, principal.ID)
	}
	if r.in[principal.WorkspaceID]--; r.in[principal.WorkspaceID] == 0 {
		delete(r.in, principal.WorkspaceID)
	}
}
