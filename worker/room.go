package worker

import (
	"errors"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// How many bytes the prompts of turns may hold while their models answer, for each GiB of the memory limit, counted by
// what they are made from; a process keeps several copies of it. A turn that finds no room waits for it and holds
// nothing meanwhile.
const (
	promptsBytes        = 64 << 20
	promptsPerWorkspace = promptsBytes / 2 // of a workspace at most: half of what the others leave

	freePromptBytes = 64 << 10  // of each prompt are not counted
	firstPromptRead = 256 << 10 // of the record are read before room is reserved
	promptPageBytes = 1 << 20   // are read at a time after that

	// claimBytes bounds the message that comes with a claim; a longer one is read when there is room for it.
	claimBytes = freePromptBytes
)

// How long a turn waits before it looks for room again.
const (
	roomPause        = 50 * time.Millisecond
	longestRoomPause = 2 * time.Second
)

// How many bytes the answers of tools may hold until their results are in the record, for each GiB of the memory limit.
// A workspace holds at most half of what the others leave.
const (
	resultsBytes    = 128 << 20
	freeResultBytes = 256 << 10 // of each: not counted
)

func newResults() *inflight.Bytes { return inflight.NewBytes(resultsBytes*inflight.Scale(), 0) }

// errResultHolds is read by the model.
var errResultHolds = parley.Errorf(
	parley.CodeUnavailable,
	"The tool has run, and its answer takes more memory than this server has for it beside others. Ask it for less, "+
		"or again later.",
)

func newPrompts() *inflight.Bytes {
	scale := inflight.Scale()
	return inflight.NewBytes(promptsBytes*scale, 0)
}

// errNoRoom means that the prompts in memory leave no space for another; errNeverRoom, that a prompt exceeds the bound
// by itself.
var (
	errNoRoom    = errors.New("worker: prompts under way leave no room for this one")
	errNeverRoom = errors.New("worker: the prompt is longer than all prompts may be")
)

// Sentences for people.
const (
	noRoomSentence = "Long conversations whose models are answering hold as much memory as they may on this " +
		"server. Try again when one has ended."
	neverRoomSentence = "This conversation is longer than this server sends to a model. Set a context_policy " +
		"that shows less of it."
)

// owner is the workspace that the turn's memory is counted for.
func (c *claimed) owner() inflight.Owner { return inflight.Owner{WorkspaceID: c.fence.WorkspaceID} }

// reserve makes room for a prompt of so many bytes in total.
func (c *claimed) reserve(bytes int) error {
	more := int64(bytes) - freePromptBytes - c.reserved
	if more <= 0 {
		return nil
	}
	if c.reserved+more > promptsPerWorkspace*inflight.Scale() {
		return errNeverRoom
	}
	if !c.w.prompts.Take(c.owner(), more) {
		c.wanted = max(promptPageBytes, c.reserved+more)
		return errNoRoom
	}
	c.reserved += more
	return nil
}

// widen makes room for a page of twice as many bytes, or as many as there can be room for, because a row was longer
// than the page.
func (c *claimed) widen(most int) (wider int, err error) {
	left := int(promptsPerWorkspace*inflight.Scale()) + freePromptBytes - c.read
	if most >= left {
		return most, errNeverRoom
	}
	wider = min(2*most, left)
	return wider, c.reserve(c.read + wider)
}

// unreserve gives the prompt's room back.
func (c *claimed) unreserve() {
	c.read = 0
	if c.reserved > 0 {
		c.w.prompts.Give(c.owner(), c.reserved)
		c.reserved = 0
	}
}

// weighed counts what was read for the prompt, and gives back what was reserved for more.
func (c *claimed) weighed(rows []parley.Message) error {
	for i := range rows {
		c.read += rows[i].Size()
	}
	if spare := c.reserved - max(0, int64(c.read)-freePromptBytes); spare > 0 {
		c.w.prompts.Give(c.owner(), spare)
		c.reserved -= spare
	}
	return c.reserve(c.read)
}

// awaitRoom waits until there may be room for the turn's prompt; false if the turn ended first.
func (c *claimed) awaitRoom() bool {
	c.unreserve()
	for wait := roomPause; c.w.options.sleep(c.ctx, wait); wait = min(2*wait, longestRoomPause) {
		if c.w.prompts.Take(c.owner(), c.wanted) {
			c.w.prompts.Give(c.owner(), c.wanted)
			return true
		}
	}
	return false
}

// lightened returns a claim without its long message, which it would otherwise hold while it waits.
func lightened(claim store.Claim) store.Claim {
	if len(claim.Trigger.Content) > claimBytes {
		claim.Trigger.Content = nil
	}
	return claim
}
