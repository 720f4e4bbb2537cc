package worker

import (
	"errors"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// What the prompts of turns may hold while their models speak, in bytes of what they are
// made of, for each GiB of GOMEMLIMIT. A process keeps several copies of it. A turn that
// finds no room waits for it, holding nothing.
const (
	promptsHold  = 64 << 20
	promptsOfOne = promptsHold / 2 // of a workspace

	promptFree  = 64 << 10  // of each prompt: it counts nothing
	promptFirst = 256 << 10 // of the record, that is read before there is room
	promptPage  = 1 << 20   // of it, that is read at once from there on

	// claimKeeps bounds the message that a claim brings along; a longer one is read
	// when there is room for it.
	claimKeeps = promptFree
)

// How long a turn rests before it looks for room again.
const (
	roomPause        = 50 * time.Millisecond
	longestRoomPause = 2 * time.Second
)

func newPrompts() *inflight.Bytes {
	scale := inflight.Scale()
	return inflight.NewBytes(promptsHold*scale, promptsOfOne*scale)
}

// errNoRoom is a prompt for which there is no room beside others; errNeverRoom is one
// for which there is none at all.
var (
	errNoRoom    = errors.New("worker: prompts under way leave no room for this one")
	errNeverRoom = errors.New("worker: the prompt is longer than all prompts may be")
)

// sentences for whoever asks.
const (
	noRoomSentence = "Long conversations whose models are answering hold as much memory as they may on this " +
		"server. Try again when one has ended."
	neverRoomSentence = "This conversation is longer than this server sends to a model. Set a context_policy " +
		"that shows less of it."
)

// reserve has room for a prompt of so many bytes, all in all.
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

// weighed counts what was read for the prompt.
func (c *claimed) weighed(rows []parley.Message) error {
	for i := range rows {
		c.read += rows[i].Size()
	}
	return c.reserve(c.read)
}

// awaitRoom waits until there may be room for the turn's prompt; false when the turn
// ended first.
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

// lightened is a claim without a message that is long: while it waits it would hold it.
func lightened(claim store.Claim) store.Claim {
	if len(claim.Trigger.Content) > claimKeeps {
		claim.Trigger.Content = nil
	}
	return claim
}
