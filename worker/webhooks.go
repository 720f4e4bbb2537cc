package worker

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/webhook"
	"example.org/parley/store"
)

// How events are sent to webhooks. Nothing is written when an event happens: commits are hints, and what they miss is
// found by the lanes that are behind.
const (
	webhookLook      = time.Second      // between looks at subscriptions and due lanes
	webhookPass      = time.Minute      // between passes over the sessions that were active lately
	webhookOverlap   = 10 * time.Minute // how far a pass reaches back beyond the last: clocks of processes differ
	webhookHold      = 20 * time.Second // how long others leave a lane alone
	webhookRun       = 5 * time.Second  // after which a run begins no further request; a hold outlasts it by a request
	webhookBatch     = 32               // events read at once
	webhookDue       = 256              // due lanes read at once
	webhookBehind    = 512              // lanes of a pass read at once
	maxSubscribed    = 10_000           // webhooks that a process serves
	maxLanesWaiting  = 4096             // of one webhook; passes find those beyond
	maxLaneRuns      = 256              // of endpoints that work, in this process
	maxLaneRunsOfOne = 16               // of one of them
	maxFailingRuns   = 32               // of endpoints that fail, in this process
	webhookJitter    = 10               // a retry waits up to a tenth longer
)

// postman sends events to webhooks.
type postman struct {
	store   laneStore
	events  eventSource
	sender  *webhook.Sender
	options *Options
	runs    sync.WaitGroup
	ctx     context.Context //nolint:containedctx // of all runs: end cancels it
	cancel  context.CancelFunc

	mu       sync.Mutex // guards what follows
	stopped  bool
	hooks    map[parley.ID]*endpoint   // by webhook
	of       map[parley.ID][]*endpoint // by workspace
	queued   map[store.Lane]bool       // waiting lanes, and running ones: then, whether to run again
	working  int                       // runs of endpoints that work
	failing  int                       // and of those that fail
	turn     []*endpoint               // endpoints with waiting lanes, in their turn
	others   map[parley.ID]parley.ID   // sessions in which other processes committed something, with their workspace
	overflow bool                      // a lane was not remembered: a pass must find it
	anew     bool                      // a pass must look at every session
	missed   bool                      // so must the next one, in its time
	full     bool                      // there are more webhooks than a process serves, as the log says
	due      map[store.Lane]bool       // what the latest look found due
}

// laneStore is what the postman writes.
type laneStore interface {
	store.WebhookLanes
	DeleteWebhook(ctx context.Context, workspaceID, id parley.ID) error
}

// eventSource is what the postman reads.
type eventSource interface {
	Session(ctx context.Context, scope store.Scope, id parley.ID) (parley.Session, error)
	Events(ctx context.Context, scope store.Scope, sessionID parley.ID, after int64, limit int) ([]parley.Event, error)
}

// endpoint is a webhook with the lanes that wait for it.
type endpoint struct {
	hook    *store.SubscribedWebhook
	waiting []parley.ID // sessions, oldest first
	runs    int
	width   int  // most runs at once
	fails   bool // by the latest attempt
	skipped bool // lanes were not remembered while it failed
	inTurn  bool
	gone    bool
}

func newPostman(db Store, options *Options) *postman {
	ctx, cancel := context.WithCancel(context.Background())
	return &postman{
		store: db, events: db, sender: options.Webhooks, options: options, ctx: ctx, cancel: cancel,
		hooks: map[parley.ID]*endpoint{}, of: map[parley.ID][]*endpoint{}, queued: map[store.Lane]bool{},
		others: map[parley.ID]parley.ID{},
	}
}

// webhookLoop keeps the subscriptions up to date and finds lanes that no commit told of. Stop ends it, and with it
// requests under way: their events are sent again later.
func (w *Worker) webhookLoop() {
	ctx := w.postman.ctx
	defer w.postman.end()
	look := time.NewTimer(0)
	defer look.Stop()
	var round webhookRound
	for {
		select {
		case <-w.stopping:
			return
		case <-look.C:
		}
		w.postman.lookAtOthers()
		err := w.postman.subscribe(ctx)
		if err == nil {
			err = w.postman.resume(ctx)
		}
		if err == nil {
			err = w.postman.look(ctx, &round, w.options.now())
		}
		if err != nil && ctx.Err() == nil {
			w.log.Warn("webhooks could not be served; trying again", "error", err)
		}
		look.Reset(webhookLook + w.options.jitter(webhookLook/10)) // so that processes do not coincide
	}
}

// end stops every run and waits for it.
func (p *postman) end() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.cancel()
	p.runs.Wait()
	p.sender.Close()
}

// subscribe reads the subscriptions. A webhook that was not known has every session looked at.
func (p *postman) subscribe(ctx context.Context) error {
	active, err := p.store.SubscribedWebhooks(ctx, maxSubscribed)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if full := len(active) >= maxSubscribed; full != p.full {
		if p.full = full; full {
			p.options.Log.Warn("there are more active webhooks than a process serves; the latest get nothing",
				"most", maxSubscribed)
		}
	}
	hooks := make(map[parley.ID]*endpoint, len(active))
	clear(p.of)
	for i := range active {
		hook := &active[i]
		one := p.hooks[hook.ID]
		fresh := one == nil || one.hook.Revision != hook.Revision
		if one == nil {
			one = &endpoint{width: 1, fails: hook.FailingSince != 0}
		}
		one.hook = hook // a run sends nothing more if it differs from the one that it began with
		switch {
		case !fresh:
		case hook.SessionID.IsZero():
			p.anew = true
		default:
			p.offer(one, hook.SessionID)
		}
		hooks[hook.ID] = one
		p.of[hook.WorkspaceID] = append(p.of[hook.WorkspaceID], one)
	}
	for id, one := range p.hooks {
		if hooks[id] == nil {
			p.drop(one)
		}
	}
	p.hooks = hooks
	p.start()
	return nil
}

// drop forgets the waiting lanes of a webhook that is active no more. mu is held.
func (p *postman) drop(one *endpoint) {
	one.gone = true
	for _, session := range one.waiting {
		delete(p.queued, one.lane(session))
	}
	one.waiting = nil
}

func (e *endpoint) lane(session parley.ID) store.Lane {
	return store.Lane{WorkspaceID: e.hook.WorkspaceID, WebhookID: e.hook.ID, SessionID: session}
}

// resume queues the lanes that are due.
func (p *postman) resume(ctx context.Context) error {
	due, err := p.store.DueLanes(ctx, webhookDue)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.due = make(map[store.Lane]bool, len(due))
	for _, lane := range due {
		p.due[lane] = true
	}
	p.mu.Unlock()
	p.queue(due)
	return nil
}

// wasDue reports whether the latest look found a lane due.
func (p *postman) wasDue(lane store.Lane) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.due[lane]
}

// webhookRound is a pass over the sessions with events that were not sent.
type webhookRound struct {
	since parley.Time // of the sessions' last activity; 0: every session
	after store.Lane  // where it goes on
	began time.Time   // zero: none is under way
	next  time.Time
}

// look begins a pass if one is due, and goes on with it as far as there is room.
func (p *postman) look(ctx context.Context, round *webhookRound, now time.Time) error {
	p.mu.Lock()
	serves, anew, soon := len(p.hooks) > 0, p.anew, p.overflow
	p.anew, p.overflow = false, false
	p.mu.Unlock()
	switch {
	case !serves:
		return nil
	case anew:
		*round = webhookRound{began: now}
	case round.began.IsZero() && (soon || !now.Before(round.next)):
		round.began, round.after = now, store.Lane{}
		p.mu.Lock()
		if p.missed {
			round.since, p.missed = 0, false
		}
		p.mu.Unlock()
	case round.began.IsZero():
		return nil
	}
	for {
		behind, err := p.store.LanesBehind(ctx, round.since, round.after, webhookBehind)
		if err != nil {
			return err
		}
		for _, lane := range behind {
			if fits, err := p.addBehind(ctx, lane); err != nil || !fits {
				return err
			}
			round.after = lane
		}
		if len(behind) < webhookBehind {
			*round = webhookRound{
				since: parley.Time(round.began.Add(-webhookOverlap).UnixMilli()), next: now.Add(webhookPass),
			}
			return nil
		}
	}
}

// addBehind queues a lane that is behind, if its webhook wants the session. It returns false if there is no room. For
// an endpoint that fails it makes none: all its sessions are looked at once it works again.
func (p *postman) addBehind(ctx context.Context, lane store.Lane) (fits bool, err error) {
	p.mu.Lock()
	one := p.hooks[lane.WebhookID]
	var hook *store.SubscribedWebhook
	if one != nil {
		hook = one.hook
	}
	p.mu.Unlock()
	if one == nil {
		return true, nil
	}
	if wanted, err := p.wants(ctx, hook, lane.SessionID); err != nil || !wanted {
		return true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if fits = p.add(one, lane.SessionID); !fits && one.fails {
		one.skipped, fits = true, true
	}
	p.start()
	return fits, nil
}

// note queues the lanes of a session in which something was committed. It never blocks.
func (p *postman) note(workspace, session parley.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.of[workspace] {
		p.offer(one, session)
	}
	p.start()
}

func (p *postman) queue(lanes []store.Lane) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lane := range lanes {
		if one := p.hooks[lane.WebhookID]; one != nil {
			p.offer(one, lane.SessionID)
		}
	}
	p.start()
}

// offer queues a lane, and has a pass find it later if there is no room. mu is held.
func (p *postman) offer(one *endpoint, session parley.ID) {
	switch fits := !one.hook.Serves(session) || p.add(one, session); {
	case fits:
	case one.fails:
		one.skipped = true
	default:
		p.overflow = true
	}
}

// add queues a lane, or notes that it must run again. It returns false if there is no room. mu is held.
func (p *postman) add(one *endpoint, session parley.ID) bool {
	lane := one.lane(session)
	if _, known := p.queued[lane]; known {
		p.queued[lane] = true
		return true
	}
	if len(one.waiting) >= maxLanesWaiting {
		return false
	}
	p.queued[lane] = false
	one.waiting = append(one.waiting, session)
	p.line(one)
	return true
}

// line puts an endpoint with waiting lanes at the end of those whose turn comes. mu is held.
func (p *postman) line(one *endpoint) {
	if !one.inTurn && len(one.waiting) > 0 {
		one.inTurn = true
		p.turn = append(p.turn, one)
	}
}

// start begins as many runs as there is room for: endpoints take turns, and those that fail have a room apart, so that
// they delay no others. mu is held.
func (p *postman) start() {
	for blocked := 0; blocked < len(p.turn) && !p.stopped; {
		one := p.turn[0]
		p.turn, one.inTurn = p.turn[1:], false
		if len(one.waiting) == 0 || one.runs >= one.width { // the end of a run puts it back
			continue
		}
		room, size := &p.working, maxLaneRuns
		if one.fails {
			room, size = &p.failing, maxFailingRuns
		}
		if *room >= size {
			blocked++
			p.line(one)
			continue
		}
		blocked = 0
		session := one.waiting[0]
		one.waiting = one.waiting[1:]
		p.queued[one.lane(session)] = false
		*room++
		one.runs++
		p.line(one)
		hook, lane := one.hook, one.lane(session)
		p.runs.Go(func() { // ends after webhookRun and a request; end waits for it
			again := p.run(hook, one, lane)
			p.finish(one, session, room, again)
		})
	}
}

// finish makes room after a run.
func (p *postman) finish(one *endpoint, session parley.ID, room *int, again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*room--
	one.runs--
	lane := one.lane(session)
	again = (again || p.queued[lane]) && !one.gone
	delete(p.queued, lane)
	if again {
		p.offer(one, session)
	}
	p.line(one)
	p.start()
}

// noteOutcome adapts how many runs an endpoint has: from one on, twice as many with each success, and one after a
// failure. It reports whether the attempt before failed.
func (p *postman) noteOutcome(one *endpoint, ok bool) (failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed, one.fails = one.fails, !ok
	if one.width = min(2*one.width, maxLaneRunsOfOne); !ok {
		one.width = 1
	}
	if ok && one.skipped {
		one.skipped, p.anew = false, true
	}
	return failed
}

// noteOther remembers a session in which another process committed something. That process sends the events itself
// unless it runs no worker, so this one looks a little later.
func (p *postman) noteOther(workspace, session parley.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of[workspace]) == 0 {
		return
	}
	if len(p.others) >= maxLanesWaiting {
		p.overflow = true
		return
	}
	p.others[session] = workspace
}

// lookAtOthers queues what noteOther remembered.
func (p *postman) lookAtOthers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for session, workspace := range p.others {
		for _, one := range p.of[workspace] {
			p.offer(one, session)
		}
	}
	clear(p.others)
	p.start()
}

// run sends events of a session until there are no more, one fails, or webhookRun is over. It reports whether the lane
// has more to send at once.
func (p *postman) run(hook *store.SubscribedWebhook, one *endpoint, lane store.Lane) (again bool) {
	ctx := p.ctx
	wanted, err := p.wants(ctx, hook, lane.SessionID)
	if err != nil || !wanted && !p.wasDue(lane) {
		return p.failed(ctx, err)
	}
	held, ok, err := p.store.HoldLane(ctx, lane, webhookHold)
	if err != nil || !ok {
		return p.failed(ctx, err)
	}
	if !wanted { // else it would stay due, before all others
		_, err := p.store.MoveLane(ctx, store.LaneMove{HeldLane: held, Seen: math.MaxInt64})
		return p.failed(ctx, err)
	}
	move := store.LaneMove{HeldLane: held, Seen: held.Through}
	switch err = p.send(ctx, hook, one, &move); {
	case errors.Is(err, errTurnOver):
		err := p.store.DeleteWebhook(context.WithoutCancel(ctx), hook.WorkspaceID, hook.ID)
		return p.failed(ctx, err)
	case parley.ErrorCode(err) == parley.CodeNotFound:
		move.Seen = math.MaxInt64 // the session is gone: nothing is left to send
	case err != nil:
		move.Seen = move.Through
	}
	// also when the process is stopping: what was sent is done with
	again, moveErr := p.store.MoveLane(context.WithoutCancel(ctx), move)
	if moveErr != nil {
		err = moveErr
	}
	return again && err == nil || p.failed(ctx, err)
}

// failed logs an error of the store. The next pass looks at every session, and so finds the lane again.
func (p *postman) failed(ctx context.Context, err error) bool {
	if code := parley.ErrorCode(err); err != nil && ctx.Err() == nil &&
		code != parley.CodeNotFound && code != parley.CodeFenced {
		p.options.Log.Warn("events could not be sent to a webhook; trying again", "error", err)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.missed = true
	}
	return false
}

// sees returns what the owner of a webhook may read.
func sees(hook *store.SubscribedWebhook) store.Scope {
	scope := store.Scope{WorkspaceID: hook.WorkspaceID}
	if hook.OwnerRole != parley.RoleAdmin {
		scope.ViewerID = hook.Owner.ID
	}
	return scope
}

// wants reports whether a webhook's filter selects a session, and its owner may read it.
func (p *postman) wants(ctx context.Context, hook *store.SubscribedWebhook, id parley.ID) (bool, error) {
	scope := sees(hook)
	if hook.Filter.Empty() && scope.ViewerID.IsZero() {
		return true, nil
	}
	session, err := p.events.Session(ctx, scope, id)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return false, nil
	}
	return err == nil && hook.Filter.Selects(&session), err
}

// changed reports whether a webhook is another than a run began with, or serves nobody any more. The subscriptions are
// read every webhookLook.
func (p *postman) changed(hook *store.SubscribedWebhook, one *endpoint) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return one.gone || one.hook.Revision != hook.Revision
}

// send sends the events after a lane's last one, and writes into the move what came of it.
func (p *postman) send(
	ctx context.Context,
	hook *store.SubscribedWebhook,
	one *endpoint,
	move *store.LaneMove,
) error {
	for began := time.Now(); ; {
		events, err := p.events.Events(ctx, sees(hook), move.SessionID, move.Through, webhookBatch)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			move.Seen = max(move.Seen, e.Sequence)
			if body := p.bodyOf(hook, e); body != nil {
				if time.Since(began) > webhookRun || p.changed(hook, one) {
					move.Seen = move.Through // there is more to send
					return nil
				}
				if !p.sendOne(ctx, hook, one, e, body, move) {
					return nil
				}
				if hook.Push != nil && e.Type.EndsTurn() {
					return errTurnOver
				}
			}
			move.Through, move.Attempts = e.Sequence, 0
		}
		if len(events) == 0 {
			return nil
		}
	}
}

// errTurnOver says that a push notification has done all that it is for, because its turn is over.
var errTurnOver = errors.New("worker: the turn of a push notification is over")

// bodyOf returns what is posted about an event; nil for nothing.
func (p *postman) bodyOf(hook *store.SubscribedWebhook, e *parley.Event) []byte {
	if !hook.Wants(e.Type) {
		return nil
	}
	return p.sender.Body(&hook.Webhook, e)
}

// sendOne sends an event, and reports whether the lane moves past it.
func (p *postman) sendOne(
	ctx context.Context,
	hook *store.SubscribedWebhook,
	one *endpoint,
	e *parley.Event,
	body []byte,
	move *store.LaneMove,
) (past bool) {
	id := parley.WebhookDeliveryID(hook.ID, e)
	outcome := p.sender.Send(ctx, &hook.Webhook, webhook.MessageID(id), body)
	if ctx.Err() != nil && !outcome.OK() { // the process stops: somebody sends it again
		move.Wait = time.Millisecond
		return false
	}
	failed := p.noteOutcome(one, outcome.OK())
	noted := parley.WebhookDelivery{
		ID: id, WorkspaceID: hook.WorkspaceID, WebhookID: hook.ID, SessionID: e.SessionID, EventSequence: e.Sequence,
		EventType: e.Type, Status: parley.DeliveryDelivered, Attempts: move.Attempts + 1, Error: outcome.Error,
	}
	if outcome.Status != 0 {
		noted.ResponseStatus = &outcome.Status
	}
	if outcome.OK() {
		if failed || hook.FailingSince != 0 {
			move.Failing = store.FailingNoMore
		}
		if move.Attempts > 0 {
			move.Noted = append(move.Noted, noted)
		}
		return true
	}
	if move.Failing == store.FailingUnknown { // else the next attempt says so
		move.Failing = store.FailingNow
	}
	move.Attempts++
	wait := parley.WebhookBackoff(move.Attempts)
	if noted.Status = parley.DeliveryRetrying; wait == 0 {
		noted.Status, move.Died = parley.DeliveryDead, true
		move.Noted = append(move.Noted, noted)
		return true
	}
	move.Wait = wait + p.options.jitter(wait/webhookJitter)
	move.Noted = append(move.Noted, noted)
	return false
}
