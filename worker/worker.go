package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/inflight"
	"example.org/parley/internal/upload"
	"example.org/parley/live"
	"example.org/parley/model"
	"example.org/parley/observe"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/runner/standard"
	"example.org/parley/store"
	"example.org/parley/tool"
)

var (
	_ runner.Worker = (*Worker)(nil)
	_ store.Hints   = (*Worker)(nil)
)

// evictPatience is how long Stop waits for runs that it told to end.
const evictPatience = 5 * time.Second

// Worker is the part of a process that runs turns. It implements
// runner.Worker for the engine and store.Hints for the store.
type Worker struct {
	store    turnStore
	observer observe.Observer
	models   model.Source
	tools    tool.Source
	hub      *live.Hub
	options  Options
	log      *slog.Logger
	runtimes map[string]runner.Runtime
	flusher  *flusher
	toolsets *toolsets
	missed   *missed
	layers   layerCache
	weights  *weights
	ratios   *prompt.Ratios
	pauses   *pauses
	// cacheKeys chooses the cache keys of requests whose sessions share them.
	cacheKeys *cacheKeys
	// prefixes compares successive requests for the observer; nil: nobody observes, or the worker runs dry.
	prefixes *prefixes
	answers  *inflight.Bytes // that the answers being given hold, by workspace
	results  *inflight.Bytes // that the answers of tools hold, by workspace

	// recalling is held while an answer of a turn that was taken over is read, to check a loop's condition: it may be
	// as long as an answer may be.
	recalling sync.Mutex

	prompts *inflight.Bytes // that the prompts hold which are being answered, by workspace
	script  *script         // of a dry run: it answers for all tools; else nil
	// responses is the store's response cache; nil in dry runs.
	responses store.ResponseCache
	// uploads stores files in tools' answers; nil in dry runs, whose tools answer from a script.
	uploads upload.Store

	compactor *compactor
	documents *artifact.Places
	linker    *linker  // nil in dry runs
	indexer   *indexer // nil in dry runs
	scheduler *scheduler
	postman   *postman // nil if this process sends no events to webhooks

	claimNow  chan struct{} // capacity 1: the claimer may find something
	outboxNow chan struct{} // capacity 1: the outbox may hold something
	keptNow   chan struct{} // capacity 1: a turn that a runtime keeps something for may run elsewhere
	stopping  chan struct{} // closed by Stop: claimer, sweeper and outbox end
	ended     chan struct{} // closed by Stop once all runs are gone: lease and flusher end
	claimers  sync.WaitGroup
	keepers   sync.WaitGroup
	toolCalls sync.WaitGroup // running tools, including those that nobody waits for

	mu        sync.Mutex // guards what follows
	started   bool
	draining  bool
	aborted   error // what ended all runs, for those still starting
	behind    bool  // sessions may be waiting that come before any post
	claiming  bool  // a claim is on its way
	places    store.Occupancy
	lease     *lease
	runs      map[parley.ID]*run // by turn
	early     [64]parley.ID      // the latest cancels of turns that did not run here; a renewal tells of others
	earlyNext int
	idle      chan struct{} // while draining, closed once every slot is free
}

// run is one turn that this process runs.
type run struct {
	claim  store.Claim
	lease  *lease
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the run has released its turn

	// How it ended, for the observer; guarded by Worker.mu.
	outcome observe.TurnOutcome // "" until the store has taken an end
	failure *parley.Failure
	waits   parley.WaitReason
	limit   parley.Limit
}

// New makes a worker; Start runs it. The store must tell it of commits (store.Listen(w)) before the first transition.
func New(db Store, models model.Source, tools tool.Source, hub *live.Hub, options Options) *Worker {
	options = options.withDefaults()
	w := &Worker{
		store: db, models: models, tools: tools, hub: hub, options: options, log: options.Log,
		responses: db, uploads: db, indexer: newIndexer(db), linker: newLinker(db),
		scheduler: &scheduler{store: db, log: options.Log},
		runtimes:  map[string]runner.Runtime{},
		missed:    &missed{},
		toolsets:  newToolsets(),
		pauses:    &pauses{},
		cacheKeys: &cacheKeys{},
		answers:   inflight.NewBytes(answersBytes, 0),
		results:   newResults(),
		prompts:   newPrompts(),
		weights:   &weights{},
		ratios:    &prompt.Ratios{},
		compactor: newCompactor(),
		documents: options.Documents,
		claimNow:  make(chan struct{}, 1),
		outboxNow: make(chan struct{}, 1),
		keptNow:   make(chan struct{}, 1),
		stopping:  make(chan struct{}),
		ended:     make(chan struct{}),
		places:    store.Occupancy{Slots: options.Slots, Reserve: store.ReservedSlots(options.Slots)},
		runs:      map[parley.ID]*run{},
		idle:      make(chan struct{}),
	}
	if w.documents == nil {
		w.documents = artifact.NewPlaces()
	}
	if options.Webhooks != nil {
		w.postman = newPostman(db, &w.options)
	}
	w.observe(options.Observer)
	w.flusher = newFlusher(w)
	hub.FlushWith(w.flusher.want)
	w.runtimes[parley.StandardRuntime] = standard.Runtime{}
	for _, runtime := range options.Runtimes {
		w.runtimes[runtime.Name()] = runtime
	}
	return w
}

// Start registers the process, takes over from dead processes and starts the worker's goroutines, which Stop ends. ctx
// bounds only registration and takeover. The sweeper repeats a takeover that fails.
func (w *Worker) Start(ctx context.Context) error {
	w.mu.Lock()
	again := w.started
	w.started = true
	w.mu.Unlock()
	if again {
		return parley.Errorf(parley.CodeConflict, "this worker has already been started")
	}
	if err := model.ValidateMiddleware(w.options.Middleware); err != nil {
		return err
	}
	if err := parley.ValidateRedact("redact", w.options.Redact); err != nil {
		return err
	}
	first, err := w.register(ctx)
	if err != nil {
		return err
	}
	swept := time.Now()
	if _, err := w.store.Sweep(ctx); err != nil { // one session may prevent it; the turns of others can run
		w.log.Warn("not everything could be taken over from dead processes; trying again", "error", err)
		swept = time.Time{}
	}
	w.claimers.Go(w.claimLoop)
	if w.options.KeepVersions > 0 {
		w.claimers.Go(
			func() { w.expire(w.versions()) },
		) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	}
	w.claimers.Go(
		func() { w.expire(w.clients()) },
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	w.claimers.Go(w.compactLoop)
	w.claimers.Go(
		w.indexLoop,
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	w.claimers.Go(
		w.linkLoop,
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	w.claimers.Go(
		func() { w.sweepLoop(swept) },
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	if len(w.options.Runtimes) > 0 {
		w.claimers.Go(w.keptLoop) //nolint:contextcheck // as above
	}
	w.claimers.Go(
		w.scheduleLoop,
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	if w.postman != nil {
		w.claimers.Go(
			w.webhookLoop,
		) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	}
	for range outboxLoops {
		w.claimers.Go(w.outboxLoop)
	}
	w.keepers.Go(
		func() { w.leaseLoop(first) },
	) //nolint:contextcheck // it outlives ctx, which bounds the registration alone
	w.keepers.Go(w.flusher.loop)
	poke(w.claimNow)
	poke(w.outboxNow)
	poke(w.compactor.now)
	return nil
}

// Stop drains the worker: it claims nothing more, lets running turns finish for Options.Drain (or until ctx ends),
// gives the others back unfinished and releases the process. It returns when every goroutine is gone; it waits until
// ctx ends for a tool that ignores its context, and reports it.
func (w *Worker) Stop(ctx context.Context) error {
	w.mu.Lock()
	if !w.started || w.draining {
		w.mu.Unlock()
		return nil
	}
	w.draining = true
	w.noteIdle()
	w.mu.Unlock()

	close(w.stopping)
	patience, enough := context.WithTimeout(ctx, w.options.Drain)
	defer enough()
	var err error
	select {
	case <-w.idle:
	case <-patience.Done():
		err = w.evict()
	}
	w.claimers.Wait()
	w.stopCompactions(patience)
	close(w.ended)
	w.keepers.Wait()
	if last := w.currentLease(); last != nil {
		last.end(ErrStopped)
		if err == nil {
			err = w.store.ReleaseProcess(context.WithoutCancel(ctx), last.id)
		}
	}
	gone := make(chan struct{})
	go func() { // ends with the last tool
		w.toolCalls.Wait()
		close(gone)
	}()
	grace := time.NewTimer(toolGrace) // also when ctx has ended
	defer grace.Stop()
	select {
	case <-gone:
		return err
	case <-grace.C:
	}
	select {
	case <-gone:
	case <-ctx.Done():
		err = errors.Join(err, errors.New("worker: a tool still runs: it ignores the end of its context"))
	}
	return err
}

// evict makes the remaining runs give their turns back. A run that does not keeps its claim until the lease expires.
func (w *Worker) evict() error {
	w.abort(ErrStopped)
	timer := time.NewTimer(evictPatience)
	defer timer.Stop()
	select {
	case <-w.idle:
		return nil
	case <-timer.C:
		return errors.New("worker: a turn did not end; it is resumed when the lease has expired")
	}
}

// Committed implements store.Hints.
func (w *Worker) Committed(commit store.Commit) {
	if commit.Ready {
		poke(w.claimNow)
	}
	if commit.Compaction {
		poke(w.compactor.now)
	}
	if commit.Outbox {
		poke(w.outboxNow)
	}
	if !commit.SessionID.IsZero() {
		if commit.Remote {
			if w.keeps(commit.SessionID) {
				poke(w.keptNow)
			}
			w.indexer.noteOther(commit.SessionID)
			if w.postman != nil {
				w.postman.noteOther(commit.WorkspaceID, commit.SessionID)
			}
		} else {
			if w.postman != nil && len(commit.Events) > 0 {
				w.postman.note(commit.WorkspaceID, commit.SessionID)
			}
			w.indexer.note(commit.SessionID)
		}
		w.linker.note(commit.SessionID)
	}
	if !commit.Cancel.IsZero() && w.Cancel(commit.Cancel) == nil {
		w.cancelEarly(commit.Cancel)
		for _, runtime := range w.runtimes { // what it keeps for a waiting turn
			runtime.Cancel(commit.Cancel)
		}
	}
	for _, feed := range commit.Feed {
		if feed.Type == parley.FeedSessionDeleted {
			w.abortSession(feed.SessionID)
			w.abortCompactions(ErrLeaseLost, feed.SessionID)
			poke(w.outboxNow)
			for _, runtime := range w.runtimes {
				runtime.Close(feed.SessionID)
			}
		}
	}
}

// Cancel implements runner.Worker.
func (w *Worker) Cancel(turnID parley.ID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	running := w.runs[turnID]
	if running == nil {
		return nil
	}
	running.cancel(ErrCancelled)
	return running.done
}

// cancelEarly remembers a cancel that may have overtaken the start of its run.
func (w *Worker) cancelEarly(turnID parley.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[turnID]; running != nil {
		running.cancel(ErrCancelled)
		return
	}
	w.early[w.earlyNext] = turnID
	w.earlyNext = (w.earlyNext + 1) % len(w.early)
}

// Runtimes implements runner.Worker. It returns sorted names.
func (w *Worker) Runtimes() []string {
	names := make([]string, 0, len(w.runtimes))
	for name := range w.runtimes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// abort ends every run, including those about to start.
func (w *Worker) abort(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aborted = cause
	for _, running := range w.runs {
		running.cancel(cause)
	}
}

// abortSession ends the runs of a deleted session.
func (w *Worker) abortSession(sessionID parley.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, running := range w.runs {
		if running.claim.Fence.SessionID == sessionID {
			running.cancel(ErrLeaseLost)
		}
	}
}

// abortClaim ends the run of a lost claim, and only that: the session's next turn may already run here too.
func (w *Worker) abortClaim(fence store.Fence) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if running := w.runs[fence.TurnID]; running != nil && running.claim.Fence == fence {
		running.cancel(ErrLeaseLost)
	}
}

// poke wakes a loop that waits on a channel of capacity 1; a second poke merges with the first.
func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
