package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/runner"
)

// The defaults of Options.
const (
	DefaultSlots       = 1024
	DefaultLease       = 10 * time.Second
	DefaultStoreFlush  = 600 * time.Millisecond
	DefaultToolTimeout = 60 * time.Second
	DefaultDrain       = 20 * time.Second

	// DefaultKeepVersions is how long it is kept in which pieces a text was streamed.
	DefaultKeepVersions = 30 * 24 * time.Hour
)

// Options configure a Worker. Zero fields mean the defaults.
type Options struct {
	Slots       int           // turns at once
	Lease       time.Duration // how long the process's claims outlive its last renewal
	StoreFlush  time.Duration // between store flushes of streaming text
	ToolTimeout time.Duration // for one tool call
	Drain       time.Duration // how long Stop lets running turns finish; negative: not at all
	// KeepVersions is how long the versions of messages are kept; negative: for ever.
	// Messages always are.
	KeepVersions time.Duration
	// MaxSessions is how many sessions a workspace may have before no tool session is
	// opened in it; 0: not limited. Of a principal its keys say that.
	MaxSessions int64
	// MaxStorage bounds the bytes of a workspace's files, those that tools answer with among
	// them; 0: not limited.
	MaxStorage int64

	ProcessName string           // for people; host and pid by default
	Runtimes    []runner.Runtime // beside the standard one; a name used twice keeps the last
	Log         *slog.Logger
	Observer    observe.Observer // is told what the worker does; nil: nobody
	// Middleware is the program's own around every call, see model.Middleware. An
	// Engine that shows calls wants the same.
	Middleware []model.Middleware
	Redact     []parley.RedactPattern // hidden from every provider, whatever agents set

	sleep  func(ctx context.Context, d time.Duration) bool // false when ctx ended first
	jitter func(limit time.Duration) time.Duration         // somewhere in [0, limit]
	now    func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Slots <= 0 {
		o.Slots = DefaultSlots
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.StoreFlush <= 0 {
		o.StoreFlush = DefaultStoreFlush
	}
	if o.ToolTimeout <= 0 {
		o.ToolTimeout = DefaultToolTimeout
	}
	if o.Drain == 0 {
		o.Drain = DefaultDrain
	}
	if o.KeepVersions == 0 {
		o.KeepVersions = DefaultKeepVersions
	}
	if o.ProcessName == "" {
		host, _ := os.Hostname() // the name is for people; an empty host does no harm
		o.ProcessName = host + " pid " + strconv.Itoa(os.Getpid())
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	if o.jitter == nil {
		o.jitter = func(limit time.Duration) time.Duration { return rand.N(limit + 1) }
	}
	if o.now == nil {
		o.now = time.Now
	}
	return o
}

// sleep waits for d; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// The causes with which the context of a run ends before its turn does.
var (
	// ErrCancelled: the turn was cancelled. The run settles what it has and ends
	// the turn as cancelled.
	ErrCancelled = errors.New("worker: the turn was cancelled")
	// ErrStopped: the process stops. The run gives its claim back unfinished.
	ErrStopped = errors.New("worker: the process stops")
	// errOutOfTime: the turn's limit of seconds is reached. The run settles what it
	// has and ends the turn as failed.
	errOutOfTime = errors.New("worker: the turn's time is over")
	// ErrLeaseLost: the claim is gone. The run writes nothing any more.
	ErrLeaseLost = errors.New("worker: the lease was lost")
)
