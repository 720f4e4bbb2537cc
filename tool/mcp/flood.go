package mcp

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// The SDK queues a server's notifications without a bound, and answers each of its requests in a goroutine. Each
// connection therefore bounds the messages that belong to no call and no list.
const (
	floodPerSecond = 1 << 20  // bytes
	floodAtOnce    = 16 << 20 // bytes
	messageCost    = 2 << 10  // bytes that a message takes beside its text: its context, place in the queue, goroutine
	maxUnanswered  = 256      // requests of the server whose answers it has not taken
	// A changed list is read again after leastRelist, and after relistShare times what the last one took.
	leastRelist = time.Second
	relistShare = 10
)

// errFlood ends a connection.
var errFlood = errors.New("it sends more messages than this client accepts")

// flood counts the messages of a server that belong to no request. It is safe for concurrent use.
type flood struct {
	allowed    *rate.Limiter
	unanswered atomic.Int64
	over       atomic.Bool // message has returned errFlood
}

func newFlood() *flood { return &flood{allowed: rate.NewLimiter(floodPerSecond, floodAtOnce)} }

// message counts a message with this many bytes; it returns errFlood beyond the bounds.
func (f *flood) message(bytes int64) error {
	if !f.allowed.AllowN(time.Now(), int(bytes+messageCost)) {
		f.over.Store(true)
		return errFlood
	}
	return nil
}

// open counts a request that waits for its answer until done.
func (f *flood) open() error {
	if f.unanswered.Add(1) > maxUnanswered {
		f.over.Store(true)
		return errFlood
	}
	return nil
}

func (f *flood) done() { f.unanswered.Add(-1) }

// relistPause is the least time between the end of a list that took this long and the next one.
func relistPause(took time.Duration) time.Duration { return max(leastRelist, relistShare*took) }
