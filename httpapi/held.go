package httpapi

import (
	"context"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/internal/inflight"
)

// How much memory running requests may hold: bodies that arrive, files that are uploaded or fetched, answers that wait
// for their readers. The number of connections bounds what is small.
const (
	heldAtOnce = 256 << 20 // of everybody; half of it of a workspace
	heldOfOne  = 64 << 20  // of a principal
	heldFree   = 64 << 10  // of a request, free of charge

	decodedMost = heldOfOne / 2 // of a body, once it is decoded

	uploadHolds = 3 << 20 // of an upload at most: the current chunk, and what is decoded of a picture

	roomRetry = 50 * time.Millisecond // between looks for room
	heldRetry = time.Second           // until a request that found no room should be repeated
)

// hold counts bytes that the request keeps in memory until letGo. CodeRateLimited if there is no room for them.
func (x *exchange) hold(n int64) error {
	if n <= heldFree {
		return nil
	}
	if x.held == 0 {
		x.holder = inflight.Owner{WorkspaceID: x.principal.WorkspaceID, PrincipalID: x.principal.ID}
	}
	if !x.memory.Take(x.holder, n) {
		return &parley.Error{Code: parley.CodeRateLimited, RetryAfter: heldRetry,
			Message: "Too many large requests are running. Wait until one has ended."}
	}
	x.held += n
	return nil
}

// holdApart counts bytes of which free gives back what letGo does not.
func (x *exchange) holdApart(n int64) (free func(), err error) {
	apart := exchange{memory: x.memory, principal: x.principal}
	if err := apart.hold(n); err != nil {
		return nil, err
	}
	return apart.letGo, nil
}

// holdDecoded counts the memory that the decoded body takes, which can be far more than its text.
func (x *exchange) holdDecoded() error {
	n := parley.JSONHolds(x.body)
	if n > decodedMost {
		return parley.Errorf(
			parley.CodeTooLarge,
			"The body holds too many objects and values for one request. Send them in several.",
		)
	}
	return x.hold(n)
}

// holdUpload counts the memory of an upload.
func (x *exchange) holdUpload() error {
	if x.r.ContentLength >= 0 {
		return x.hold(min(x.r.ContentLength, uploadHolds))
	}
	return x.hold(uploadHolds)
}

// letGo gives the request's memory back.
func (x *exchange) letGo() {
	if x.held > 0 {
		x.memory.Give(x.holder, x.held)
		x.held = 0
	}
}

// holdAnswer counts an answer. It refuses none that reports a change: the change is already made. One that waited for a
// turn waits for room, too.
func (x *exchange) holdAnswer(size int) error {
	err := x.hold(int64(size))
	if x.waits {
		return x.awaitRoom(size, err)
	}
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return nil
	}
	return err
}

// awaitRoom counts an answer once there is room for it. full is the first try's error.
func (x *exchange) awaitRoom(size int, full error) error {
	again := time.NewTicker(roomRetry)
	defer again.Stop()
	ctx, stop := context.WithTimeout(x.r.Context(), StandardWait)
	defer stop()
	for full != nil {
		select {
		case <-again.C:
			full = x.hold(int64(size))
		case <-ctx.Done():
			return full
		}
	}
	return nil
}
