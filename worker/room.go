package worker

import (
	"errors"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// Bounds on the prompts of turns whose models are answering, in source bytes, per GiB of GOMEMLIMIT. The process holds
// several copies of each prompt. A turn without room waits for it and holds nothing meanwhile.
const (
	promptsHold  = 64 << 20
	promptsOfOne = promptsHold / 2 // per workspace

	promptFree  = 64 << 10  // of each prompt is free
	promptFirst = 256 << 10 // of the record is read before room is reserved
	promptPage  = 1 << 20   // is read at a time after that

	// claimBytes bounds the message that comes with a claim; a longer one is read when there is room for it.
	claimBytes = promptFree
)

// How long a turn waits before it looks for room again.
const (
	roomPause        = 50 * time.Millisecond
	longestRoomPause = 2 * time.Second
)

func newPrompts() *inflight.Bytes {
	scale := inflight.Scale()
	return inflight.NewBytes(promptsHold*scale, promptsOfOne*scale)
}

// errNoRoom means that there is no room for a prompt beside others; errNeverRoom, that there can never be.
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

// reserve grows the prompt's room to the given total of bytes.
func (c *claimed) reserve(bytes int) error {
	more := int64(bytes) - promptFree - c.reserved
	if more <= 0 {
		return nil
	}
	if c.reserved+more > promptsOfOne*inflight.Scale() {
		return errNeverRoom
	}
	if !c.w.prompts.Take(c.fence.WorkspaceID, more) {
		return errNoRoom
	}
	c.reserved += more
	return nil
}

// unreserve gives the prompt's room back.
func (c *claimed) unreserve() {
	c.read = 0
	if c.reserved > 0 {
		c.w.prompts.Give(c.fence.WorkspaceID, c.reserved)
		c.reserved = 0
	}
}

// weighed counts the bytes read for the prompt.
func (c *claimed) weighed(rows []parley.Message) error {
	for i := range rows {
		c.read += rows[i].Size()
	}
	return c.reserve(c.read)
}

// awaitRoom waits until there may be room for the turn's prompt; false if the turn ended first.
func (c *claimed) awaitRoom() bool {
	c.unreserve()
	for wait := roomPause; c.w.options.sleep(c.ctx, wait); wait = min(2*wait, longestRoomPause) {
		if c.w.prompts.Take(c.fence.WorkspaceID, promptPage) {
			c.w.prompts.Give(c.fence.WorkspaceID, promptPage)
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
