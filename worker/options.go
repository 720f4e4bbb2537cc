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
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/webhook"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/runner"
	"example.org/parley/tool"
)

// The defaults of Options.
const (
	DefaultSlots       = 1024
	DefaultLease       = 10 * time.Second
	DefaultStoreFlush  = 600 * time.Millisecond
	DefaultToolTimeout = 60 * time.Second
	DefaultDrain       = 20 * time.Second

	// DefaultKeepVersions is how long the versions of streamed messages are kept.
	DefaultKeepVersions = 30 * 24 * time.Hour
)

// Options configure a Worker. Zero fields mean the defaults.
type Options struct {
	Slots       int           // turns at once
	Lease       time.Duration // how long the process's claims outlive its last renewal
	StoreFlush  time.Duration // between store flushes of streaming text
	ToolTimeout time.Duration // per tool call
	Drain       time.Duration // how long Stop lets running turns finish; negative: not at all
	// KeepVersions is how long the versions of messages are kept; negative: forever. Messages themselves stay.
	KeepVersions time.Duration
	// MaxSessions is how many sessions a workspace may have before no more tool sessions are opened in it; 0:
	// unlimited. Limits per principal belong to its keys.
	MaxSessions int64
	// MaxStorage bounds the bytes of a workspace's files, including those that tools return; 0: unlimited.
	MaxStorage int64

	ProcessName string           // for people; host and pid by default
	Runtimes    []runner.Runtime // beside the standard one; of equal names the last wins
	Log         *slog.Logger
	Observer    observe.Observer // observes the worker; nil: none
	// Background offers tools in the background sessions of agents, see package tool/team; nil: none, and no agent
	// hands work to another.
	Background tool.Background
	// Middleware is the program's own around every call, see model.Middleware. An Engine that shows calls needs the
	// same.
	Middleware []model.Middleware
	Redact     []parley.RedactPattern // hidden from every provider, whatever the agents' settings
	Documents  *artifact.Places       // where contents of artifacts are worked on; nil: the worker's own
	// Webhooks sends events to webhooks; nil: this process sends none.
	Webhooks *webhook.Sender

	sleep  func(ctx context.Context, d time.Duration) bool // false if ctx ended first
	jitter func(limit time.Duration) time.Duration         // a random duration in [0, limit]
	now    func() time.Time

	summaryPatience time.Duration // how long a full window waits for a summary
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
		host, _ := os.Hostname() // the name is for people; an empty host is harmless
		o.ProcessName = host + " pid " + strconv.Itoa(os.Getpid())
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.summaryPatience == 0 {
		o.summaryPatience = summaryPatience
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

// sleep waits for d; false if ctx ended first.
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
	// errOutOfTime: the turn has used up its seconds. The run settles what it has and fails the turn.
	errOutOfTime = errors.New("worker: the turn's time is over")
	// ErrLeaseLost: the claim is gone. The run writes nothing more.
	ErrLeaseLost = errors.New("worker: the lease was lost")
)
